#pragma once
// A process has this so that its communicators outlive their trees. It listens for the other
// processes of the job, carries their messages to the communicators, hears of deaths from sharpd, and has a thread that
// answers while the program computes (sleeper.hpp). The context's lock guards everything but start() and stop().
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/grant.hpp"
#include "client/oob.hpp"
#include "client/recovery/links.hpp"
#include "client/recovery/repeat_pause.hpp"
#include "client/recovery/sleeper.hpp"
#include "proto/recovery_codec.hpp"

namespace sumac::client {

/// A process gives a leaf node up that is silent for so long: where every group outlives its tree, a false alarm costs speed alone.
inline constexpr Millis kLeafSilentAfter{1000};

class Context;
class Comm;

class Recovery final : private MemberEvents, private Sleeper::Work {
 public:
  /// Listens at the address by which this process reaches its tree, `local` ("10.1.0.5:43210").
  static Result<std::unique_ptr<Recovery>> make(Context& context, const std::string& local);
  ~Recovery();

  /// Collective: the ranks learn each other's addresses. At a rank that cannot listen `mine` has the reason: then nobody has
  /// recovery, and all return the reason of the lowest such rank. Empty: all have it.
  static Outcome<std::string> meet(const Oob& world, const Result<std::unique_ptr<Recovery>>& mine);
  Result<> start();
  /// Ends the thread.
  void stop() noexcept {
    sleeper_.stop();
    looks_soon();
  }
  /// Sends what the others still wait for. The process ends its part in the job.
  void close() { links_->close(deaths_); }

  /// Called in each pass over the tree's connections; `tree_moved`: there were events.
  std::size_t progress(bool tree_moved) {
    const std::size_t events = is_idle() ? 0 : look_around();
    if (tree_moved || events > 0) run_groups();
    return events;
  }
  /// No message of another member, no word of sharpd and no timer waits to be looked at: descriptors tell of the next one.
  /// Relaxed: a thread that reads this without the lock, and sleeps then, is woken by poke_.
  bool is_idle() const noexcept { return is_idle_.load(std::memory_order_relaxed); }
  /// Returns whether the descriptor is one of this class's.
  bool on_readable(std::uint32_t token);
  bool arm() { return links_->arm(); }
  Time next_due() const { return links_->next_due(); }
  MemberLinks& links() {
    looks_soon();
    return *links_;
  }
  /// The datagram of an operation may be lost: the thread looks after it while no call does. `is_over`: the operation is.
  void await_datagrams(bool is_over) noexcept;
  /// Members that still ask are told so.
  void note_left(proto::recovery::GroupKey group) noexcept;
  /// World ranks that are dead.
  const std::vector<WorldRank>& deaths() const noexcept { return deaths_; }

  /// A call of the program waits, or polls: it handles what comes, and the thread need not.
  /// Relaxed and without the lock: each caller takes the lock after call_begins(), and again after each sleep. So who has the lock and
  /// reads 0 knows that no call sleeps in the transport.
  void call_begins() noexcept { waiting_.fetch_add(1, std::memory_order_relaxed); }
  void call_ends() noexcept {
    calls_.fetch_add(1, std::memory_order_relaxed);
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
  void call_looks() noexcept { calls_.fetch_add(1, std::memory_order_relaxed); }

 private:
  Recovery(Context& context) : context_(context) {}

  // MemberEvents
  void on_member_message(WorldRank from, std::span<const std::byte> frame) override;
  void on_member_note(WorldRank from, MemberWord word, std::uint32_t number, TreeId tree) override;
  void on_member_lost(WorldRank peer) override;
  void on_member_unreached(WorldRank peer) override;
  // Sleeper::Work
  Sleeper::Plan plan() override;
  void work(const Sleeper::Plan& plan) override;

  void looks_soon() noexcept { is_idle_.store(false, std::memory_order_relaxed); }
  std::size_t look_around();
  void run_groups();
  bool calls_come() const noexcept;
  Comm* comm_of(proto::recovery::GroupKey group) const noexcept;
  bool has_group_without_tree() const noexcept;
  void repeat_datagrams();
  void set_repeat_timer() noexcept;
  void hear_sharpd();
  void seek_sharpd();
  Result<> read_trees(const wire::HostMessage& message);
  void die(WorldRank dead);

  Context& context_;
  std::unique_ptr<MemberLinks> links_;
  std::atomic<bool> is_idle_ = false;
  bool has_come_ = false;  ///< The members' descriptor was readable.
  bool sharpd_has_come_ = false, sharpd_is_gone_ = false;
  Time sharpd_again_at_ = kNever;  ///< It may have been restarted: this process looks for it then.
  Millis sharpd_pause_{};
  std::uint32_t times_again_ = 0;     ///< The job's trees are those of that grant.
  std::optional<GrantReader> trees_;  ///< Reads trees that the job has again, as far as they have come.
  std::vector<WorldRank> deaths_;
  std::deque<proto::recovery::GroupKey> left_;
  std::atomic<std::uint64_t> calls_ = 0;
  std::uint64_t calls_seen_ = 0;
  std::atomic<std::uint32_t> waiting_ = 0;
  UniqueFd poke_;          ///< An eventfd that wakes calls which sleep on the tree's descriptor.
  bool is_poked_ = false;  ///< Such a call is to look at what came.
  UniqueFd again_;         ///< A timer, for datagrams of operations that are over.
  RepeatPause pause_;
  Sleeper sleeper_{*this};
};

}  // namespace sumac::client
