#include "bindings/hcoll/messages.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "rank/words.hpp"

namespace sumac::hcoll {
namespace {

using rank::Bytes;

constexpr std::size_t kFirstBytes = 512;
/// A wait looks so often before it yields its processor, and so often it looks at the clock.
constexpr int kLooks = 200;
constexpr Duration kCheckAfter = Millis{20};
/// A wait that takes so long says once for whom.
constexpr Duration kSlowAfter = Seconds{10};
/// Messages that a rank has sent leave it within that time, also if its exchange has failed.
constexpr Duration kSentWithin = Seconds{1};

}  // namespace

struct GroupExchange::Head {
  std::uint64_t bytes;
  std::uint32_t number;  ///< Counts the values from this rank to that one.
  std::uint32_t code;    ///< An Errc: the value is the rank's reason to give up.
};

struct GroupExchange::Message {
  Bytes memory;
  rte_request_handle_t request{};
};

/// An exchange shares this with those among some of its ranks.
struct GroupExchange::Shared {
  rte_grp_handle_t group;
  int rank, size;
  std::uint32_t tag;
  Duration within;
  Time deadline;
  struct Peer {
    rte_ec_handle_t handle{};
    std::uint32_t sent = 0, taken = 0;  ///< Values.
  };
  std::vector<Peer> peers;
  std::list<std::unique_ptr<Message>> sent;
  std::optional<Error> failed;

  Result<rte_ec_handle_t> handle(int which) {
    auto& found = peers[static_cast<std::size_t>(which)].handle;
    if (found.handle != nullptr) return found;
    const int status = hcoll_rte_functions.get_ec_handles_fn(1, &which, group, &found);
    if (status == HCOLL_SUCCESS && found.handle != nullptr) return found;
    found = {};
    return fail(Errc::lost, "get_ec_handles_fn of the client has no handle of rank {}, and returned {}", which, status);
  }

  Result<> send(int to, Bytes bytes) {
    const auto peer = handle(to);
    if (!peer) return tl::unexpected(peer.error());
    auto message = std::make_unique<Message>();
    message->memory = std::move(bytes);
    const int status = hcoll_rte_functions.send_fn(byte_dte, static_cast<std::uint32_t>(message->memory.size()),
                                                   message->memory.data(), *peer, group, tag, &message->request);
    if (status != HCOLL_SUCCESS) return fail(Errc::lost, "send_fn of the client returned {}", status);
    sent.push_back(std::move(message));
    return {};
  }

  Result<> send_value(int to, const Bytes& own, Errc code) {
    const Head head{own.size(), ++peers[static_cast<std::size_t>(to)].sent, static_cast<std::uint32_t>(code)};
    Bytes first(kFirstBytes);
    std::memcpy(first.data(), &head, sizeof head);
    const std::size_t here = std::min(own.size(), kFirstBytes - sizeof head);
    std::copy_n(own.begin(), here, first.begin() + sizeof head);
    if (auto done = send(to, std::move(first)); !done || here == own.size()) return done;
    return send(to, Bytes(own.begin() + static_cast<std::ptrdiff_t>(here), own.end()));
  }

  /// True once it has ended, or failed.
  static bool is_over(Message& message, int& status) {
    int is_done = 0;
    status = hcoll_rte_functions.test_fn(&message.request, &is_done);
    return status != HCOLL_SUCCESS || is_done != 0;
  }

  void forget_sent() {
    int status = 0;
    sent.remove_if([&](const auto& one) { return is_over(*one, status); });
  }
};

GroupExchange::GroupExchange(rte_grp_handle_t group, int rank, int size, std::uint32_t tag, Duration within)
    : shared_(std::make_shared<Shared>(
          Shared{group, rank, size, tag, within, deadline_after(monotonic_now(), within), {}, {}, {}})),
      rank_(rank) {
  shared_->peers.resize(static_cast<std::size_t>(size));
  for (int one = 0; one < size; ++one) ranks_.push_back(one);
}

GroupExchange::GroupExchange(std::shared_ptr<Shared> shared, std::vector<int> ranks, int rank)
    : shared_(std::move(shared)), ranks_(std::move(ranks)), rank_(rank) {}

/// The client may use the memory until a message has ended. What does not end is left to it.
GroupExchange::~GroupExchange() {
  if (shared_.use_count() > 1) return;
  const Time until = monotonic_now() + kSentWithin;
  for (shared_->forget_sent(); !shared_->sent.empty() && monotonic_now() < until; shared_->forget_sent()) {
    hcoll_rte_functions.rte_progress_fn();
    ::sched_yield();
  }
  for (auto& one : shared_->sent) (void)one.release();
}

Duration GroupExchange::left() const { return std::max(Duration{0}, shared_->deadline - monotonic_now()); }

std::unique_ptr<rank::Exchange> GroupExchange::among(const std::vector<int>& ranks) {
  const int index = static_cast<int>(std::find(ranks.begin(), ranks.end(), rank_) - ranks.begin());
  return std::unique_ptr<rank::Exchange>(new GroupExchange(shared_, ranks, index));
}

/// All ranks read it, wherever they are: each waits for one that has failed, or for one that waits.
Error GroupExchange::give_up(const Error& why) {
  Shared& shared = *shared_;
  if (shared.failed) return *shared.failed;
  shared.failed = why;
  const Bytes text = rank::bytes_of_text(fmt::format("rank {}: {}", shared.rank, why.context));
  for (int to = 0; to < shared.size; ++to)
    if (to != shared.rank) (void)shared.send_value(to, text, why.code);
  hcoll_rte_functions.rte_progress_fn();
  return why;
}

Result<> GroupExchange::check() {
  if (shared_->failed) return tl::unexpected(*shared_->failed);
  if (left() <= Duration{0})
    return tl::unexpected(give_up(
        {Errc::timeout, fmt::format("the context was not made within {}", rank::milliseconds(shared_->within))}));
  return {};
}

Result<> GroupExchange::put(int to, const Bytes& own) {
  if (shared_->failed) return tl::unexpected(*shared_->failed);
  auto done = shared_->send_value(ranks_[static_cast<std::size_t>(to)], own, Errc::ok);
  if (!done) return tl::unexpected(give_up(done.error()));
  shared_->forget_sent();
  return {};
}

Result<Bytes> GroupExchange::take(int index) {
  Shared& shared = *shared_;
  if (shared.failed) return tl::unexpected(*shared.failed);
  const int from = ranks_[static_cast<std::size_t>(index)];

  const auto receive = [&](std::size_t bytes) -> Result<Bytes> {
    const auto peer = shared.handle(from);
    if (!peer) return tl::unexpected(give_up(peer.error()));
    auto message = std::make_unique<Message>();
    message->memory.resize(bytes);
    int status = hcoll_rte_functions.recv_fn(byte_dte, static_cast<std::uint32_t>(bytes), message->memory.data(), *peer,
                                             shared.group, shared.tag, &message->request);
    if (status != HCOLL_SUCCESS)
      return tl::unexpected(give_up({Errc::lost, fmt::format("recv_fn of the client returned {}", status)}));
    const Time began = monotonic_now();
    Time looked = began;
    bool has_said = false;
    for (int vain = 0; !Shared::is_over(*message, status); ++vain) {
      hcoll_rte_functions.rte_progress_fn();
      if (vain < kLooks) continue;
      ::sched_yield();
      const Time now = monotonic_now();
      if (now - looked < kCheckAfter) continue;
      looked = now;
      if (auto may_wait = check(); !may_wait) {
        (void)message.release();  // The client may still write there.
        return tl::unexpected(may_wait.error());
      }
      if (now - began > kSlowAfter && !std::exchange(has_said, true))
        SUMAC_SAY("rank %d waits for rank %d to make a context: 10 s so far", shared.rank, from);
    }
    if (status != HCOLL_SUCCESS)
      return tl::unexpected(give_up({Errc::lost, fmt::format("test_fn of the client returned {}", status)}));
    return std::move(message->memory);
  };

  auto first = receive(kFirstBytes);
  if (!first) return first;
  Head head;
  std::memcpy(&head, first->data(), sizeof head);
  if (head.number != ++shared.peers[static_cast<std::size_t>(from)].taken || head.bytes > (std::uint64_t{1} << 30))
    return tl::unexpected(give_up({Errc::invalid, std::string(other_job())}));
  Bytes value(first->begin() + sizeof head, first->end());
  if (head.bytes > value.size()) {
    auto rest = receive(head.bytes - value.size());
    if (!rest) return rest;
    value.insert(value.end(), rest->begin(), rest->end());
  }
  value.resize(head.bytes);
  if (head.code == 0) return value;
  return tl::unexpected(give_up({static_cast<Errc>(head.code), rank::printable(rank::text_of(value))}));
}

}  // namespace sumac::hcoll
