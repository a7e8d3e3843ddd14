#pragma once
// A team as the Python modules see it: src/team with time limits, with words for people, and with a queue that a thread
// beside the program's own moves. It knows neither Python nor PyTorch.
//
//   run()        one blocking collective in the caller: the hot path
//   post()       one that goes on while the caller computes; wait(), or the helper thread, moves it
//   send(), receive()   messages between two ranks
//
// Any thread may call it. Collectives are numbered as they are begun or posted, the same at every rank.
//
// Time: an operation that takes longer than its limit breaks the team at every rank of every host, with a text that
// names the ranks that have not come; so does a rank that dies, and ranks that differ on what they do.
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/ticket.hpp"
#include "base/wait_policy.hpp"
#include "bindings/python/core/store.hpp"
#include "rank/interrupt.hpp"
#include "rank/peers.hpp"
#include "team/team.h"

namespace sumac::rank {
struct Ways;
}

namespace sumac::python {

struct TeamSettings {
  std::string name;                                ///< For errors and for explain.
  Duration make_within = Duration::max();          ///< Making it takes no longer, or fails and names who is missing.
  Duration slow_after = Seconds{10};               ///< An operation that has waited so long says once who is missing.
  void (*say)(const std::string& line) = nullptr;  ///< Takes a line for people; none: stderr.
};

/// A rank that waits looks so often at limits, and at whether the others are alive.
constexpr Duration kLookEvery = Millis{1};

/// A collective. The memory behind its pointers stays until run() returns, or until the ticket is done.
struct Request {
  sumac_call_t call{};
  Duration limit = Duration::max();
};

/// Describes blocks that follow each other, with these counts in units of so many bytes; no counts: it describes none. Returns
/// their displacements, which must stay as long as the counts.
std::vector<std::int64_t> describe(sumac_blocks_t& blocks, const std::vector<std::int64_t>& counts, std::size_t unit);

class Team : public std::enable_shared_from_this<Team> {
 public:
  /// Collective over the ranks of the store.
  static Result<std::shared_ptr<Team>> make(Store& store, int rank, int size, TeamSettings settings);
  ~Team();
  Team(const Team&) = delete;

  int rank() const noexcept { return members_.rank; }
  int size() const noexcept { return members_.size(); }
  const Members& members() const noexcept { return members_; }

  Result<> run(const Request& request);
  std::shared_ptr<Ticket> post(const Request& request, std::function<void(const Error*)> then);
  /// `tag` is the caller's. Messages of `data` and `bytes` must stay until the ticket is done.
  std::shared_ptr<p2p::Message> send(int to, std::uint32_t tag, const void* data, std::size_t bytes, Duration limit,
                                     std::function<void(const Error*)> then);
  /// `from` may be p2p::Message::kAnyone; the message's `peer` says who it was.
  std::shared_ptr<p2p::Message> receive(int from, std::uint32_t tag, void* data, std::size_t bytes, Duration limit,
                                        std::function<void(const Error*)> then);
  /// Moves the team until the ticket is done, then returns its error. Errc::timeout after `limit`: it goes on.
  Result<> wait(Ticket& ticket, Duration limit);
  /// Ends a message with Errc::interrupted, unless it is done.
  void withdraw(const std::shared_ptr<p2p::Message>& message);

  /// Moves what was posted; returns false if nothing moved.
  bool progress();
  /// For a thread that has moved it in vain: sleeps until something may have arrived from other hosts for what was posted, but
  /// no longer than `at_most`. Returns false where nothing would end such a sleep.
  bool sleep(Duration at_most);
  bool is_busy() const noexcept { return queued_.load(std::memory_order_relaxed) > 0 || peers_.is_busy(); }
  bool is_over_hosts() const noexcept { return between_ != nullptr; }
  bool has_waiters() const noexcept { return waiters_.load(std::memory_order_relaxed) > 0; }
  /// Ends what is posted with an error; every later call fails as well.
  void close() { close(false); }
  /// The same for a call of Python's: Ctrl-C ends its wait for other ranks, and then leaves its exception behind. Returns an
  /// error if the ranks have differed and no call has returned that here: a broadcast's root goes on before the others come.
  Result<> destroy();
  /// The number of the latest collective.
  std::uint64_t number() const noexcept { return numbers_.load(std::memory_order_relaxed); }

 private:
  /// Keeps what an operation did while it waited.
  struct Watch {
    Time began{};
    bool has_asked = false, has_said = false;
  };
  struct Posted : Ticket {
    Request request;
    std::uint64_t number = 0;
    Watch watch;
    bool has_begun = false;        ///< The other ranks of this host know of it.
    sumac_op_t* op = nullptr;      ///< Set once the team has it.
    std::optional<Error> refusal;  ///< The team has not taken it, for this reason.
  };
  struct MessageLimit {
    std::shared_ptr<p2p::Message> message;
    Time began{};
    Duration limit;
    bool has_said = false;
  };

  Team(Members members, TeamSettings settings) : peers_(std::move(members)), settings_(std::move(settings)) {}
  Result<> create(Exchange& exchange);

  Result<> check_usable() const;
  Result<> run_alone(const sumac_call_t& call) const;
  Result<> check_latest() const;
  void check_other_hosts();
  Result<> conclude(const Request& request, std::uint64_t number, int status, const char* why);
  void look(const Request& request, std::uint64_t number, Watch& watch);
  void break_because(Error why);
  Error failure(const Request& request, std::uint64_t number, int status);
  static bool is_hearsay(std::string_view found);
  std::string words(const sumac_call_t& call) const;
  std::string named(const sumac_call_t& call, std::uint64_t number) const;
  std::vector<int> missing(std::uint64_t number) const;
  void say(const std::string& line) const;
  void abandon(Ticket& ticket, const Error& why);
  std::uint64_t take_number();
  std::optional<std::optional<Error>> step_head(Posted& head);
  /// Begins an operation and gives it to the team. Returns false while the others must come first; an error ends it.
  Result<bool> hand_over(Posted& posted, std::uint64_t oldest);
  void hand_over_next(std::uint64_t oldest);
  void look_at_messages(Time now);
  bool only_waits_for(const Ticket& ticket) const;
  bool is_peer(int other, int least) const;
  std::shared_ptr<p2p::Message> move_message(std::shared_ptr<p2p::Message> message, Duration limit);

  rank::Peers peers_;
  const Members& members_ = peers_.members();
  TeamSettings settings_;
  p2p::MessagesBetween* between_ = nullptr;  ///< Those of `peers_`; null where all ranks are on this host.
  rank::Ways* ways_ = nullptr;               ///< Owned by `team_`; null where all ranks are on this host.
  bool has_tree_ = false;                    ///< Some operations go by the tree.
  sumac_team_t* team_ = nullptr;             ///< nullptr: a team of one.
  unsigned forks_ = 0;                       ///< The forks of this process before the team was made.

  std::mutex turn_;  ///< Held by the thread that moves `team_`.
  /// The blocking call under way, for look_in_run(): set and read by the holder of the turn.
  struct Running {
    const Request* request = nullptr;
    std::uint64_t number = 0;
    Time looked{};
    Watch watch;
  } running_;
  static void look_in_run(void* self);

  std::mutex queue_lock_;  ///< Guards the two lists and the order of numbers.
  std::deque<std::shared_ptr<Posted>> queue_;
  std::deque<MessageLimit> messages_;
  std::atomic<int> queued_{0}, waiters_{0};
  std::atomic<bool> is_asleep_{false};  ///< The holder of the turn sleeps until something arrives from other hosts.
  PaidLately looking_;                  ///< Decides whether a wait looks before it sleeps.
  std::atomic<std::uint64_t>& numbers_ = peers_.numbers();
  Time looked_{};                ///< The last look of progress(), under the turn.
  bool waits_for_here_ = false;  ///< Under the turn: an operation waits for ranks of this host to begin it.
  std::atomic<std::int64_t> messages_looked_{0};

  mutable std::mutex failure_lock_;
  std::optional<Error> failed_;        ///< The first reason, if this rank found it.
  std::atomic<bool> has_told_{false};  ///< Some call has returned the failure.

  void close(bool ends_at_ctrl_c);
  std::atomic<bool> is_closed_{false};
};

}  // namespace sumac::python
