#include "bindings/ucc/oob.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <memory>

namespace sumac::ucc {
namespace {

using rank::Bytes;

constexpr Duration kLookEvery = Millis{100};

struct Head {
  std::uint64_t bytes;
  std::uint32_t code;  ///< An Errc: the value is a reason to give up.
  std::uint32_t zero;
};

}  // namespace

OobExchange::OobExchange(const ucc_oob_coll_t& oob, bool is_direct, Duration within)
    : oob_(oob), is_direct_(is_direct), deadline_(deadline_after(monotonic_now(), within)) {}

const char* OobExchange::flaw(const ucc_oob_coll_t& oob) noexcept {
  const bool is_sound =
      oob.allgather != nullptr && oob.req_test != nullptr && oob.req_free != nullptr && oob.oob_ep < oob.n_oob_eps;
  return is_sound ? nullptr : "the OOB lacks a function, or its rank is not below its number of processes";
}

Duration OobExchange::left() const {
  return deadline_ == Time::max() ? Duration::max() : std::max(Duration{0}, deadline_ - monotonic_now());
}

void OobExchange::step() {
  const std::lock_guard guard(lock_);
  if (stage_ == Stage::asked) {
    status_ = oob_.allgather(const_cast<void*>(in_), out_, bytes_, oob_.coll_info, &request_);
    stage_ = status_ < 0 ? Stage::done : Stage::posted;
  }
  if (stage_ == Stage::posted) {
    status_ = oob_.req_test(request_);
    if (status_ > 0) return;
    const ucc_status_t freed = oob_.req_free(request_);
    if (status_ == UCC_OK && freed < 0) status_ = freed;
    stage_ = Stage::done;
  }
  if (stage_ == Stage::done) changed_.notify_all();
}

/// After Errc::timeout the program may still write to `out`.
Result<> OobExchange::run(const void* in, void* out, std::size_t bytes) {
  std::unique_lock guard(lock_);
  in_ = in;
  out_ = out;
  bytes_ = bytes;
  stage_ = Stage::asked;
  while (stage_ != Stage::done) {
    if (left() <= Duration{0}) return fail(Errc::timeout, "the OOB's allgather has not ended within SUMAC_TIMEOUT");
    if (!is_direct_) {
      changed_.wait_for(guard, kLookEvery);
      continue;
    }
    guard.unlock();
    step();
    ::sched_yield();
    guard.lock();
  }
  stage_ = Stage::idle;
  if (status_ < 0) return fail(Errc::lost, "the OOB's allgather failed: {}", ucc_status_string(status_));
  return {};
}

Result<std::vector<Bytes>> OobExchange::use(const Bytes& own, std::uint32_t code) {
  if (failed_ && code == 0) return tl::unexpected(*failed_);
  const auto count = static_cast<std::size_t>(size());
  const auto ends = [this](Error why) {
    failed_ = why;
    return tl::unexpected<Error>(std::move(why));
  };
  struct Memory {
    Head mine;
    std::vector<Head> heads;
    Bytes padded, gathered;
  };
  auto memory = std::make_unique<Memory>(Memory{{own.size(), code, 0}, std::vector<Head>(count), own, {}});
  const auto runs = [&](const void* in, void* out, std::size_t bytes) {
    auto done = run(in, out, bytes);
    if (!done && done.error().code == Errc::timeout) static_cast<void>(memory.release());
    return done;
  };
  auto& heads = memory->heads;
  if (auto done = runs(&memory->mine, heads.data(), sizeof(Head)); !done) return ends(done.error());
  const auto longest =
      static_cast<std::size_t>(std::max_element(heads.begin(), heads.end(), [](const Head& a, const Head& b) {
                                 return a.bytes < b.bytes;
                               })->bytes);
  constexpr std::size_t kMost = std::size_t{1} << 30;
  if (longest > kMost) return ends({Errc::invalid, fmt::format("{} B of one rank: {}", longest, other_job())});
  std::vector<Bytes> all(count);
  if (longest > 0) {
    memory->padded.resize(longest);
    memory->gathered.resize(count * longest);
    if (auto done = runs(memory->padded.data(), memory->gathered.data(), longest); !done) return ends(done.error());
    for (std::size_t i = 0; i < count; ++i) {
      const auto* at = memory->gathered.data() + i * longest;
      all[i].assign(at, at + heads[i].bytes);
    }
  }
  for (std::size_t i = 0; i < count; ++i)
    if (heads[i].code != 0 && code == 0)
      return ends({static_cast<Errc>(heads[i].code), fmt::format("rank {}: {}", i, rank::text_of(all[i]))});
  return all;
}

Result<std::vector<Bytes>> OobExchange::gather(int root, const Bytes& own) {
  auto all = use(own, 0);
  if (all && rank() != root) all->clear();
  return all;
}

Result<Bytes> OobExchange::bcast(int root, const Bytes& own) {
  auto all = use(rank() == root ? own : Bytes(), 0);
  if (!all) return tl::unexpected(all.error());
  return std::move((*all)[static_cast<std::size_t>(root)]);
}

/// The others are in their next use, or come to it: this rank takes part in it with its reason.
Error OobExchange::give_up(const Error& why) {
  if (failed_) return *failed_;
  failed_ = why;
  (void)use(rank::bytes_of_text(why.context), static_cast<std::uint32_t>(why.code));
  failed_ = why;
  return why;
}

Result<> OobExchange::check() {
  if (failed_) return tl::unexpected(*failed_);
  if (left() > Duration{0}) return {};
  return fail(Errc::timeout, "it was not made within SUMAC_TIMEOUT");
}

}  // namespace sumac::ucc
