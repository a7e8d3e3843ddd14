#include "rank/allgather_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace sumac::rank {
namespace {

struct Head {
  std::uint64_t bytes;
  std::uint32_t code;  ///< An Errc: the value is a reason to give up.
  std::uint32_t zero;
};

}  // namespace

Duration AllgatherExchange::left() const {
  return deadline_ == Time::max() ? Duration::max() : std::max(Duration{0}, deadline_ - monotonic_now());
}

Result<std::vector<Bytes>> AllgatherExchange::use(const Bytes& own, std::uint32_t code) {
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
      return ends({static_cast<Errc>(heads[i].code), fmt::format("rank {}: {}", i, text_of(all[i]))});
  return all;
}

Result<std::vector<Bytes>> AllgatherExchange::gather(int root, const Bytes& own) {
  auto all = use(own, 0);
  if (all && rank() != root) all->clear();
  return all;
}

Result<Bytes> AllgatherExchange::bcast(int root, const Bytes& own) {
  auto all = use(rank() == root ? own : Bytes(), 0);
  if (!all) return tl::unexpected(all.error());
  return std::move((*all)[static_cast<std::size_t>(root)]);
}

/// The others are in their next use, or come to it: this rank takes part in it with its reason.
Error AllgatherExchange::give_up(const Error& why) {
  if (failed_) return *failed_;
  failed_ = why;
  (void)use(bytes_of_text(why.context), static_cast<std::uint32_t>(why.code));
  failed_ = why;
  return why;
}

Result<> AllgatherExchange::check() {
  if (failed_) return tl::unexpected(*failed_);
  if (left() > Duration{0}) return {};
  return fail(Errc::timeout, "it was not made within SUMAC_TIMEOUT");
}

}  // namespace sumac::rank
