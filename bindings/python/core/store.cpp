#include "bindings/python/core/store.hpp"

#include <algorithm>

#include "base/group_key.hpp"
#include "base/hmac.hpp"
#include "base/host_name.hpp"
#include "base/listed.hpp"

namespace sumac::python {
namespace {

/// A rank that gives up writes its reason here. The others look between two waits for a value, which grow so that many ranks
/// do not keep the store busy while one is late.
constexpr const char* kGaveUp = "sumac/gave-up";
constexpr Duration kFirstWait = Millis{20}, kLongestWait = Millis{500};

/// The error's kind, in one byte, and its words.
Bytes packed(const Error& why) { return bytes_of_text(std::string(1, static_cast<char>(why.code)) + why.context); }

/// A Ctrl-C at another rank is none here.
Error unpacked(const Bytes& bytes) {
  if (bytes.empty()) return {Errc::invalid, std::string(kOtherJob)};
  const auto code = static_cast<Errc>(bytes.front());
  const bool is_kept = code == Errc::timeout || code == Errc::invalid;
  return {is_kept ? code : Errc::lost, printable(text_of(bytes).substr(1))};
}

/// The key of the value of this name, which is written once.
Result<SealKey> key_of(const SealKey& all, const std::string& name) {
  SealKey key{};
  if (!hmac_sha256(all, std::as_bytes(std::span(name)), key))
    return fail(Errc::unsupported, "libcrypto.so.3 made no key for a value of the store");
  return key;
}

/// A rank that gives what none of this job would give.
Error explained(Error why) {
  if (why.code == Errc::invalid) why.context += fmt::format("; {}", kOtherJob);
  return why;
}

}  // namespace

StoreExchange::StoreExchange(Store& store, int rank, int size, Duration within)
    : StoreExchange(std::make_shared<Shared>(store, rank, within, deadline_after(monotonic_now(), within)), rank, size,
                    "sumac") {}

std::string StoreExchange::next_use() { return fmt::format("{}/{}/", place_, uses_++); }

Duration StoreExchange::left() const {
  return shared_->within == Duration::max() ? Duration::max()
                                            : std::max(Duration{0}, shared_->deadline - monotonic_now());
}

Error StoreExchange::give_up(const Error& why) {
  if (shared_->failed) return *shared_->failed;
  shared_->failed = why;
  // An earlier reason stays. The store itself may be the reason, so its errors do not matter here.
  const auto earlier = shared_->store.get(kGaveUp, Duration{0});
  if (!earlier || *earlier) return why;
  (void)shared_->store.set(
      kGaveUp,
      packed({why.code, fmt::format("rank {} (host {}): {}", shared_->rank, printable(host_name()), why.context)}));
  return why;
}

/// Asks whether another rank has given up, or this one is to.
Result<> StoreExchange::check_others() {
  if (shared_->failed) return tl::unexpected(*shared_->failed);
  auto reason = shared_->store.get(kGaveUp, Duration{0});
  if (!reason) return tl::unexpected(give_up(reason.error()));
  if (*reason) {
    shared_->failed = unpacked(**reason);
    return tl::unexpected(*shared_->failed);
  }
  if (is_interrupted()) return tl::unexpected(give_up({Errc::interrupted, "it was interrupted"}));
  return {};
}

Result<> StoreExchange::check() {
  if (auto others = check_others(); !others) return others;
  if (left() > Duration{0}) return {};
  return tl::unexpected(
      give_up({Errc::timeout, fmt::format("the group was not made within {}", milliseconds(shared_->within))}));
}

/// Names the ranks whose values are not there.
Error StoreExchange::too_late(const std::string& use) {
  std::vector<std::string> names;
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_) continue;
    const auto got = shared_->store.get(use + std::to_string(rank), Duration{0});
    if (got && !*got) names.push_back(std::to_string(rank));
  }
  return {Errc::timeout,
          fmt::format("waiting for {} {} to join: not there within {}", names.size() == 1 ? "rank" : "ranks",
                      listed(names), milliseconds(shared_->within))};
}

Result<> StoreExchange::put(const std::string& use, const Bytes& own) {
  if (shared_->failed) return tl::unexpected(*shared_->failed);
  const std::string name = use + std::to_string(rank_);
  Result<Bytes> value = own;
  if (shared_->key) {
    auto key = key_of(*shared_->key, name);
    value = key ? seal(*key, own) : tl::unexpected(key.error());
    if (key) wipe(*key);
  }
  if (!value) return tl::unexpected(give_up(value.error()));
  if (auto done = shared_->store.set(name, *value); !done) return tl::unexpected(give_up(done.error()));
  return {};
}

Result<Bytes> StoreExchange::opened(const std::string& name, int rank, Bytes value) {
  if (!shared_->key) return value;
  auto key = key_of(*shared_->key, name);
  if (!key) return tl::unexpected(give_up(key.error()));
  auto opened = open_sealed(*key, value);
  wipe(*key);
  if (!opened)
    return tl::unexpected(give_up(
        fail(Errc::invalid, "the store's value of rank {} is not what that rank wrote; {}", rank, kOtherJob).value()));
  return *std::move(opened);
}

Result<Bytes> StoreExchange::take(const std::string& use, int rank) {
  if (shared_->failed) return tl::unexpected(*shared_->failed);
  const std::string name = use + std::to_string(rank);
  for (Duration wait = kFirstWait;; wait = std::min(2 * wait, kLongestWait)) {
    auto got = shared_->store.get(name, std::min(wait, std::max<Duration>(left(), Millis{1})));
    if (!got)
      return tl::unexpected(give_up(within(fmt::format("waiting for rank {} to join", rank), got.error()).value()));
    if (*got) return opened(name, rank, std::move(**got));
    if (auto others = check_others(); !others) return tl::unexpected(others.error());
    if (left() <= Duration{0}) return tl::unexpected(give_up(too_late(use)));
  }
}

Result<std::vector<Bytes>> StoreExchange::take_all(const std::string& use, const Bytes& own) {
  std::vector<Bytes> all(static_cast<std::size_t>(size_));
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_) {
      all[static_cast<std::size_t>(rank)] = own;
      continue;
    }
    auto got = take(use, rank);
    if (!got) return tl::unexpected(got.error());
    all[static_cast<std::size_t>(rank)] = std::move(*got);
  }
  return all;
}

std::unique_ptr<Exchange> StoreExchange::among(const std::vector<int>& ranks) {
  const auto own = std::find(ranks.begin(), ranks.end(), rank_);
  const int my_index = own == ranks.end() ? -1 : static_cast<int>(own - ranks.begin());
  return std::unique_ptr<Exchange>(
      new StoreExchange(shared_, my_index, static_cast<int>(ranks.size()), next_use() + "among"));
}

Result<> StoreExchange::agree_on_key() {
  if (shared_->failed) return tl::unexpected(*shared_->failed);
  const auto own = OwnKeys::draw();
  if (!own) return tl::unexpected(give_up(own.error()));
  const auto shown = allgather({own->shown().begin(), own->shown().end()});
  if (!shown) return tl::unexpected(shown.error());
  auto key = rank_ == 0 ? draw_seal_key() : Result<SealKey>();
  Result<Bytes> sealed;
  if (rank_ == 0) {
    sealed = key ? sealed_for_each(*key, *own, *shown) : tl::unexpected(key.error());
    if (!sealed) return tl::unexpected(give_up(explained(sealed.error())));
  }
  const auto told = bcast(0, *sealed);
  if (!told) return tl::unexpected(told.error());
  if (rank_ != 0) key = opened_for(static_cast<std::size_t>(rank_), *told, *own, *shown);
  if (!key) return tl::unexpected(give_up(explained(key.error())));
  shared_->key = *key;
  wipe(*key);
  return {};
}

Result<std::vector<Bytes>> StoreExchange::allgather(const Bytes& own) {
  const std::string use = next_use();
  if (auto done = put(use, own); !done) return tl::unexpected(done.error());
  return take_all(use, own);
}

Result<std::vector<Bytes>> StoreExchange::gather(int root, const Bytes& own) {
  const std::string use = next_use();
  if (rank_ == root) return take_all(use, own);
  if (auto done = put(use, own); !done) return tl::unexpected(done.error());
  return std::vector<Bytes>();
}

Result<Bytes> StoreExchange::bcast(int root, const Bytes& own) {
  const std::string use = next_use();
  if (rank_ != root) return take(use, root);
  if (auto done = put(use, own); !done) return tl::unexpected(done.error());
  return own;
}

}  // namespace sumac::python
