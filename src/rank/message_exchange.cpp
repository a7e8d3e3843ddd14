#include "rank/message_exchange.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "base/fnv.hpp"
#include "rank/say.h"
#include "rank/words.hpp"

namespace sumac::rank {
namespace {

/// A wait looks so often in a row before it sleeps, and then so long.
constexpr int kLooks = 200;
constexpr Duration kSleep = Micros{50};
/// It looks so often whether the other rank is alive and the time is over.
constexpr Duration kCheckAfter = Millis{20};
/// A wait that takes so long says once for whom.
constexpr Duration kSlowAfter = Seconds{10};

std::uint64_t hash_of(const std::vector<int>& ranks) {
  return fnv1a({reinterpret_cast<const char*>(ranks.data()), ranks.size() * sizeof(int)});
}

}  // namespace

/// It comes before each value; with a code, the value is a rank's reason to give up.
struct MessageExchange::Head {
  std::uint64_t who;
  std::uint64_t bytes;
  std::uint32_t attempt;
  std::uint32_t code;
};

MessageExchange::MessageExchange(std::shared_ptr<Peers> peers, Settings settings)
    : peers_(std::move(peers)),
      settings_(std::move(settings)),
      who_(hash_of(settings_.ranks)),
      deadline_(deadline_after(monotonic_now(), settings_.within)) {}

const std::string& MessageExchange::name_of(int rank) const {
  return peers_->members().name(settings_.ranks[static_cast<std::size_t>(rank)]);
}

Duration MessageExchange::left() const {
  return settings_.within == Duration::max() ? Duration::max() : std::max(Duration{0}, deadline_ - monotonic_now());
}

MessageExchange::Head MessageExchange::head(std::uint32_t code, std::size_t bytes) const {
  return {who_, bytes, settings_.attempt, code};
}

/// All ranks read it, wherever they are: each waits for one that has failed, or for one that waits.
Error MessageExchange::give_up(const Error& why) {
  if (failed_) return *failed_;
  failed_ = why;
  const auto text = std::make_shared<Bytes>(bytes_of_text(fmt::format("{}: {}", name_of(settings_.rank), why.context)));
  const auto start = std::make_shared<Head>(head(static_cast<std::uint32_t>(why.code), text->size()));
  const std::uint32_t tag = kTagsOfExchanges | settings_.name;
  for (int rank = 0; rank < size(); ++rank) {
    if (rank == settings_.rank) continue;
    const int to = settings_.ranks[static_cast<std::size_t>(rank)];
    peers_->send(to, tag, start.get(), sizeof(Head), [start](const Error*) {});
    peers_->send(to, tag, text->data(), text->size(), [text](const Error*) {});
  }
  (void)peers_->progress();
  return why;
}

Result<> MessageExchange::check() {
  if (failed_) return tl::unexpected(*failed_);
  if (settings_.gives_up != nullptr && settings_.gives_up->load(std::memory_order_relaxed))
    return tl::unexpected(give_up({Errc::interrupted, "it has given up"}));
  if (left() <= Duration{0})
    return tl::unexpected(
        give_up({Errc::timeout, fmt::format("the team was not made within {}", milliseconds(settings_.within))}));
  return {};
}

Result<> MessageExchange::wait(const std::shared_ptr<p2p::Message>& message, const std::string& other) {
  const Time began = monotonic_now();
  Time looked = began;
  bool has_said = false;
  for (int vain = 0; !message->is_done();) {
    if (peers_->progress()) {
      vain = 0;
      continue;
    }
    if (++vain < kLooks) {
      ::sched_yield();
      continue;
    }
    std::this_thread::sleep_for(kSleep);
    if (const Time now = monotonic_now(); now - looked > kCheckAfter) {
      looked = now;
      auto may_wait = check();
      if (may_wait && peers_->is_dead(message->asked)) may_wait = fail(Errc::lost, "{} died", other);
      if (may_wait && now - began > kSlowAfter && !std::exchange(has_said, true))
        SUMAC_SAY("%s waits for %s to make a team: 10 s so far", name_of(settings_.rank).c_str(), other.c_str());
      if (may_wait) continue;
      peers_->withdraw(message, may_wait.error());
      return tl::unexpected(give_up(may_wait.error()));
    }
  }
  if (const Error* why = message->error()) return tl::unexpected(give_up(*why));
  return {};
}

Result<> MessageExchange::put(int to, const Bytes& own) {
  if (failed_) return tl::unexpected(*failed_);
  // The bytes must stay until they have left, which may be after this exchange.
  const auto value = std::make_shared<std::pair<Head, Bytes>>(head(0, own.size()), own);
  const int peer = settings_.ranks[static_cast<std::size_t>(to)];
  const std::uint32_t tag = kTagsOfExchanges | settings_.name;
  peers_->send(peer, tag, &value->first, sizeof(Head), [value](const Error*) {});
  if (!own.empty()) peers_->send(peer, tag, value->second.data(), own.size(), [value](const Error*) {});
  (void)peers_->progress();
  return {};
}

Result<> MessageExchange::receive(int from, void* data, std::size_t bytes) {
  return wait(
      peers_->receive(settings_.ranks[static_cast<std::size_t>(from)], kTagsOfExchanges | settings_.name, data, bytes),
      name_of(from));
}

Result<Bytes> MessageExchange::take(int from) {
  if (failed_) return tl::unexpected(*failed_);
  for (;;) {
    Head start{};
    if (auto got = receive(from, &start, sizeof start); !got) return tl::unexpected(got.error());
    Bytes value(start.bytes);
    if (start.bytes > 0)
      if (auto got = receive(from, value.data(), value.size()); !got) return tl::unexpected(got.error());
    const bool is_ours = start.who == who_;
    if (is_ours && start.attempt < settings_.attempt) continue;
    if (!is_ours && start.code == 0)
      return tl::unexpected(give_up({Errc::invalid, fmt::format("{} and {} differ on the ranks of the team",
                                                                name_of(settings_.rank), name_of(from))}));
    if (start.code == 0) return value;
    return tl::unexpected(give_up({static_cast<Errc>(start.code), printable(text_of(value))}));
  }
}

std::unique_ptr<Exchange> MessageExchange::among(const std::vector<int>& ranks) {
  Settings theirs = settings_;
  theirs.ranks.clear();
  for (const int rank : ranks) theirs.ranks.push_back(settings_.ranks[static_cast<std::size_t>(rank)]);
  theirs.rank = static_cast<int>(std::find(ranks.begin(), ranks.end(), settings_.rank) - ranks.begin());
  theirs.name ^= kExchangeNames + 1;
  theirs.within = left();
  return std::make_unique<MessageExchange>(peers_, std::move(theirs));
}

}  // namespace sumac::rank
