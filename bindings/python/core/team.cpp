#include "bindings/python/core/team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "base/wait_policy.hpp"
#include "bindings/python/core/worker.hpp"
#include "coll/terms.hpp"
#include "machine/cpu_share.hpp"
#include "p2p/group.hpp"
#include "rank/alone.hpp"
#include "rank/way_across.hpp"
#include "rank/words.hpp"
#include "shm/group.hpp"
#include "shm/waiting.hpp"
#include "team/c_types.hpp"

namespace sumac::python {
namespace {

constexpr Duration kInterruptsEvery = Millis{50};
/// An operation that has waited so long looks for reports of ranks of other hosts.
constexpr Duration kReportsAfter = Millis{100};
/// The reason of a rank of another host comes so soon behind the failure that it has caused.
constexpr Duration kReasonWithin = Millis{200};
/// The sleeps of a thread that waits for another host, whose message ends them.
constexpr Duration kSleepMost = Millis{5};
/// So many operations are given to the team behind the oldest one, where they may travel together. So no rank of the host is
/// further ahead in the call log (team/call_log.hpp) than its ring is long.
constexpr std::size_t kHandedOverMax = 32;
/// The text on how two ranks differ.
constexpr std::size_t kWhyBytes = 512;

/// A look at something that a rank waits for.
struct Look {
  bool is_over, has_moved;
};

/// Waits as a rank of this host waits. `look` is called until it is over. `rest(waited)` may sleep in its own way, and then
/// returns true. It is called after so many looks in vain, and behind a sleep after one look.
template <class Looks, class Now, class Rest>
void wait_until(int ranks_here, std::uint32_t looks_before_rest, Looks look, Now now_and_then, Rest rest) {
  static const double cpus = [] {
    const machine::CpuShare own = machine::own_cpu_share();
    return machine::together({&own, 1});
  }();
  shm::WaitSettings settings;
  settings.ranks_on_host = ranks_here;
  settings.cpus = cpus;
  settings.sleeps_long = true;
  shm::RankWait waiting(settings);
  const std::uint32_t looks = waits::schedule_looks(settings.yields_first());
  const Time began = monotonic_now();
  Time looked = began;
  for (std::uint32_t in_vain = 0;;) {
    bool has_asked = false, has_slept = false;
    for (std::uint32_t i = 0; i < looks && !has_slept; ++i) {
      const Look found = look();
      if (found.is_over) return;
      if (found.has_moved) waiting.moved();
      if (++in_vain < looks_before_rest || std::exchange(has_asked, true)) continue;
      has_slept = rest(monotonic_now() - began);
    }
    if (has_slept)
      in_vain = 0, looks_before_rest = 1;
    else
      (void)waiting.pause();
    const Time now = monotonic_now();
    if (now - looked < kLookEvery) continue;
    looked = now;
    if (!now_and_then(now)) return;
  }
}

}  // namespace

std::vector<std::int64_t> describe(sumac_blocks_t& blocks, const std::vector<std::int64_t>& counts, std::size_t unit) {
  std::vector<std::int64_t> at(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), at.begin(), std::int64_t{0});
  if (!counts.empty()) blocks = {counts.data(), at.data(), unit, 1};
  return at;
}

Team::~Team() {
  close();
  // The memory of a fork's child may be that of a team in mid-operation, and its locks may be held.
  if (team_ != nullptr && forks_ == forks()) sumac_team_destroy(team_);
}

// ---- words

void Team::say(const std::string& line) const {
  if (settings_.say != nullptr) return settings_.say(line);
  std::fprintf(stderr, "sumac: %s\n", line.c_str());
}

std::string Team::words(const sumac_call_t& call) const {
  return to_string(coll::terms_of(team::operation_of(call), size()));
}

std::string Team::named(const sumac_call_t& call, std::uint64_t number) const {
  std::string text = fmt::format("{} (operation {}", words(call), number);
  if (!settings_.name.empty()) text += fmt::format(" of group {}", settings_.name);
  return text + ")";
}

std::vector<int> Team::missing(std::uint64_t number) const {
  std::vector<int> found;
  for (int other = 0; other < size(); ++other) {
    const bool has_come =
        members_.is_here(other) ? sumac_team_has_begun(team_, other, number) : between_->has_come(other, number);
    if (!has_come) found.push_back(other);
  }
  return found;
}

/// The rank that gave up knows why; the text does not.
bool Team::is_hearsay(std::string_view found) {
  return found.find(shm::kGaveUp) != found.npos || found.find(p2p::kGaveUp) != found.npos;
}

Error Team::failure(const Request& request, std::uint64_t number, int status) {
  const std::string what = fmt::format("rank {}: {}", rank(), named(request.call, number));
  if (status == SUMAC_TEAM_PASS)
    return {Errc::unsupported, what + ": it is switched off by a variable HCOLL_ML_DISABLE_*"};
  if (status == SUMAC_TEAM_NO_MEMORY) return {Errc::no_memory, what + ": no memory"};
  if (status == SUMAC_TEAM_INVALID) return {Errc::invalid, what + ": the arguments do not fit together"};
  has_told_.store(true);
  std::unique_lock guard(failure_lock_);
  const char* const found = sumac_team_error(team_);
  if (between_ && found[0] != '\0' && !failed_) {
    guard.unlock();
    // A rank that gave up has sent its reason to all by the other way, and before.
    auto why = has_tree_ || is_hearsay(found) ? between_->await_failure(kReasonWithin) : std::nullopt;
    // Inside the host the team has reported it by itself, perhaps for a rank that died.
    if (!why) between_->break_because({Errc::lost, found});
    guard.lock();
    if (!failed_) failed_ = std::move(why);
  }
  if (failed_) return {failed_->code, what + ": " + failed_->context};
  // Inside the host only the text of the rank that found a difference arrives.
  const std::string_view text = sumac_team_error(team_);
  const bool differ = text.find("the ranks differ: ") != text.npos;
  return {differ ? Errc::invalid : Errc::lost, fmt::format("{}: {}", what, text)};
}

Result<> Team::check_usable() const {
  if (forks_ != forks()) return fail(Errc::invalid, "the process group was made before a fork: make a new one here");
  if (is_closed_.load(std::memory_order_acquire)) return fail(Errc::invalid, "the process group was closed");
  return {};
}

void Team::break_because(Error why) {
  {
    const std::lock_guard guard(failure_lock_);
    if (!failed_) failed_ = why;
  }
  // In this order: what others hear of the team is that this rank gave up.
  if (between_) between_->break_because(why);
  sumac_team_break(team_, why.context.c_str());
}

// ---- who is there, and whether they agree

/// Compares what this rank has begun lately with what the others have begun since.
Result<> Team::check_latest() const {
  if (team_ == nullptr || forks_ != forks() || is_closed_.load() || has_told_.load()) return {};
  char how[kWhyBytes];
  if (sumac_team_differ(team_, 1, number(), how, sizeof how) != SUMAC_TEAM_OK) return fail(Errc::invalid, "{}", how);
  if (!between_) return {};
  (void)between_->step();
  if (auto why = between_->failure(); why && why->code == Errc::invalid) return tl::unexpected(*std::move(why));
  return {};
}

/// Called by the holder of the turn: a rank of another host may have given up.
void Team::check_other_hosts() {
  if (between_ && between_->has_failed()) break_because(*between_->failure());
}

/// The team has done an operation, or has refused it, with this status. `why` is how two ranks differ, for SUMAC_TEAM_DIFFER: a
/// small operation has added up different things then.
Result<> Team::conclude(const Request& request, std::uint64_t number, int status, const char* why) {
  if (status == SUMAC_TEAM_DIFFER) {
    break_because({Errc::invalid, why});
    status = SUMAC_TEAM_BROKEN;
  } else if (status == SUMAC_TEAM_OK && between_ && between_->has_failed()) {
    // A rank of another host may have given up on this operation after it had sent its part.
    if (const Error theirs = *between_->failure(); theirs.code != Errc::lost) {
      break_because(theirs);
      status = SUMAC_TEAM_BROKEN;
    }
  }
  if (status == SUMAC_TEAM_OK) return {};
  return tl::unexpected(failure(request, number, status));
}

/// Called by the holder of the turn, about once a millisecond, while an operation waits.
void Team::look(const Request& request, std::uint64_t number, Watch& watch) {
  if (sumac_team_error(team_)[0] != '\0') return;
  char how[kWhyBytes];
  if (sumac_team_differ(team_, number, number, how, sizeof how) != SUMAC_TEAM_OK)
    return break_because({Errc::invalid, how});
  const Duration waited = monotonic_now() - watch.began;
  if (between_ && waited >= kReportsAfter) {
    (void)between_->step();
    if (const auto why = between_->failure()) return break_because(*why);
    if (waited >= std::min(request.limit, settings_.slow_after) / 2 && !std::exchange(watch.has_asked, true))
      between_->ask(number);
  }
  const auto who = [&] {
    const auto late = missing(number);
    return late.empty() ? std::string("all ranks have begun it")
                        : fmt::format("{} {} not begun it", members_.named(late), late.size() == 1 ? "has" : "have");
  };
  if (waited > request.limit)
    return break_because(
        {Errc::timeout, fmt::format("timed out after {} at rank {}: {}", milliseconds(request.limit), rank(), who())});
  if (waited < settings_.slow_after || std::exchange(watch.has_said, true)) return;
  say(fmt::format("{} has waited {} s in {}: {}", members_.name(rank()),
                  std::chrono::duration_cast<Seconds>(waited).count(), named(request.call, number), who()));
}

void Team::look_in_run(void* self) {
  auto& team = *static_cast<Team*>(self);
  Running& running = team.running_;
  if (running.request == nullptr) return;
  const Time now = monotonic_now();
  if (now - running.looked < kLookEvery) return;
  const Time began = running.watch.began;
  const bool asks = (now - began) / kInterruptsEvery != (running.looked - began) / kInterruptsEvery;
  running.looked = now;
  sumac_team_waits(team.team_, now.time_since_epoch().count());
  team.look(*running.request, running.number, running.watch);
  if (asks && is_interrupted())
    team.break_because({Errc::interrupted, fmt::format("rank {} was interrupted", team.rank())});
}

// ---- blocking

/// Ends an operation that its caller no longer waits for, since the caller's memory is behind it.
void Team::abandon(Ticket& ticket, const Error& why) {
  {
    const std::lock_guard turn(turn_);
    break_because(why);
  }
  wait_until(
      static_cast<int>(members_.here.size()), 1,
      [&] {
        const bool has_moved = progress();
        return Look{ticket.is_done(), has_moved};
      },
      [](Time) { return true; }, [](Duration) { return false; });
}

/// Numbers a blocking operation; 0 if others are queued before it.
std::uint64_t Team::take_number() {
  const std::lock_guard guard(queue_lock_);
  return queue_.empty() ? numbers_.fetch_add(1, std::memory_order_relaxed) + 1 : 0;
}

/// A team of one gives what it gets.
Result<> Team::run_alone(const sumac_call_t& call) const {
  const coll::Operation& operation = team::operation_of(call);
  if (has_counts(operation))
    if (const auto sent = block_bytes(operation, 0, 0, true), expected = block_bytes(operation, 0, 0, false);
        sent != expected)
      return fail(Errc::invalid, "{}: rank 0 sends {} B to itself, and expects {} B", words(call), sent, expected);
  rank::run_alone(call);
  return {};
}

Result<> Team::run(const Request& request) {
  if (auto usable = check_usable(); !usable) return usable;
  if (team_ == nullptr) return run_alone(request.call);
  std::unique_lock turn(turn_, std::try_to_lock);
  // Another thread may have closed it before this one had the turn.
  if (auto usable = check_usable(); !usable) return usable;
  const std::uint64_t number = turn ? take_number() : 0;
  if (number == 0) {
    // Others were posted before, or another thread moves the team.
    if (turn) turn.unlock();
    const auto ticket = post(request, nullptr);
    auto waited = wait(*ticket, Duration::max());
    if (!ticket->is_done()) abandon(*ticket, waited.error());
    return waited;
  }
  check_other_hosts();
  const Time began = monotonic_now();
  running_ = {&request, number, began, {began}};
  char why[kWhyBytes];
  const int status = sumac_team_run_agreed(team_, &request.call, number, why, sizeof why);
  running_.request = nullptr;
  return conclude(request, number, status, why);
}

// ---- posted

std::shared_ptr<Ticket> Team::post(const Request& request, std::function<void(const Error*)> then) {
  auto posted = std::make_shared<Posted>();
  posted->then = std::move(then);
  posted->request = request;
  posted->watch.began = monotonic_now();
  if (auto usable = check_usable(); !usable) {
    posted->end(usable.error());
    return posted;
  }
  if (team_ == nullptr) {
    const auto ran = run_alone(request.call);
    posted->end(ran ? std::nullopt : std::optional(ran.error()));
    return posted;
  }
  bool is_first = false;
  {
    const std::lock_guard guard(queue_lock_);
    is_first = queue_.empty();
    posted->number = numbers_.fetch_add(1, std::memory_order_relaxed) + 1;
    queue_.push_back(posted);
    queued_.fetch_add(1, std::memory_order_relaxed);  // A hint: the queue is behind its lock.
  }
  // One behind others goes to the other hosts together with those that follow it: when the caller waits, or after the worker's
  // grace.
  if (is_first || between_ == nullptr) progress();
  if (!posted->is_done()) Worker::own().move(shared_from_this());
  return posted;
}

Result<bool> Team::hand_over(Posted& posted, std::uint64_t oldest) {
  const sumac_call_t& call = posted.request.call;
  if (posted.refusal) return tl::unexpected(*posted.refusal);
  check_other_hosts();
  char why[kWhyBytes];
  int status = sumac_team_error(team_)[0] != '\0' ? SUMAC_TEAM_BROKEN : SUMAC_TEAM_OK;
  if (status == SUMAC_TEAM_OK) {
    if (!std::exchange(posted.has_begun, true)) sumac_team_begin(team_, &call, posted.number);
    status = sumac_team_meet(team_, &call, posted.number, oldest, why, sizeof why);
  }
  if (status == SUMAC_TEAM_PENDING) return false;
  if (status == SUMAC_TEAM_OK) status = sumac_team_post(team_, &call, nullptr, nullptr, &posted.op);
  if (status == SUMAC_TEAM_OK) return true;
  posted.refusal = conclude(posted.request, posted.number, status, why).error();
  return tl::unexpected(*posted.refusal);
}

/// The team has the oldest operation, and gets those behind it, so that they may travel together. One that fails here ends with the
/// team, when it is the oldest. One with counts is not begun before: the table of its sizes (team/call_log.hpp) is one of two.
void Team::hand_over_next(std::uint64_t oldest) {
  waits_for_here_ = false;
  for (std::size_t i = 1; i < kHandedOverMax; ++i) {
    std::shared_ptr<Posted> next;
    {
      const std::lock_guard guard(queue_lock_);
      if (i >= queue_.size()) return;
      next = queue_[i];
    }
    if (next->op != nullptr || next->refusal) continue;
    if (has_counts(team::operation_of(next->request.call))) return;
    const auto is_given = hand_over(*next, oldest);
    waits_for_here_ = is_given && !*is_given;
    if (!is_given || !*is_given) return;
  }
}

/// Advances the oldest operation. Returns nothing while it is not done, else how it ended.
std::optional<std::optional<Error>> Team::step_head(Posted& head) {
  if (auto usable = check_usable(); !usable) return std::optional<Error>(usable.error());
  const Time now = monotonic_now();
  if (now - looked_ >= kLookEvery) {
    looked_ = now;
    look(head.request, head.number, head.watch);
    if (head.op == nullptr) (void)sumac_team_check(team_);
  }
  if (head.op == nullptr) {
    const auto is_given = hand_over(head, head.number);
    if (!is_given) return std::optional<Error>(is_given.error());
    if (!*is_given) return std::nullopt;
  }
  hand_over_next(head.number);
  int status = sumac_op_test(head.op);
  if (status == SUMAC_TEAM_PENDING) return std::nullopt;
  sumac_op_free(std::exchange(head.op, nullptr));
  char why[kWhyBytes];
  if (status == SUMAC_TEAM_OK) status = sumac_team_differ(team_, head.number, head.number, why, sizeof why);
  const auto ended = conclude(head.request, head.number, status, why);
  return ended ? std::optional<Error>() : std::optional(ended.error());
}

bool Team::progress() {
  bool has_moved = false;
  if (peers_.is_busy()) {
    has_moved = peers_.progress();
    look_at_messages(monotonic_now());
  }
  while (queued_.load(std::memory_order_relaxed) > 0) {
    std::shared_ptr<Posted> head;
    std::optional<std::optional<Error>> ended;
    {
      const std::unique_lock turn(turn_, std::try_to_lock);
      if (!turn) return has_moved;
      {
        const std::lock_guard guard(queue_lock_);
        if (queue_.empty()) return has_moved;
        head = queue_.front();
      }
      const unsigned moves = sumac_team_moves(team_);
      ended = step_head(*head);
      has_moved |= moves != sumac_team_moves(team_);
      if (!ended) return has_moved;
      const std::lock_guard guard(queue_lock_);
      queue_.pop_front();
      queued_.fetch_sub(1, std::memory_order_relaxed);
    }
    has_moved = true;
    head->end(std::move(*ended));
  }
  return has_moved;
}

bool Team::sleep(Duration at_most) {
  if (peers_.is_busy() || queued_.load(std::memory_order_relaxed) == 0) return false;
  std::unique_lock turn(turn_, std::try_to_lock);
  if (!turn) {
    // This thread waits for the same message as the sleeping holder of the turn.
    if (!is_asleep_.load(std::memory_order_relaxed)) return false;
    turn.lock();
    return true;
  }
  if (waits_for_here_) return false;
  is_asleep_.store(true, std::memory_order_relaxed);  // A hint: the turn itself is waited for.
  const bool has_slept = sumac_team_sleep(team_, static_cast<int>(std::chrono::duration_cast<Micros>(at_most).count()));
  is_asleep_.store(false, std::memory_order_relaxed);
  return has_slept;
}

Result<> Team::wait(Ticket& ticket, Duration limit) {
  const auto result = [&]() -> Result<> {
    if (const Error* why = ticket.error()) return tl::unexpected(*why);
    return {};
  };
  if (ticket.is_done()) return result();
  const Time began = monotonic_now();
  Time asked = began;
  Result<> early;
  // The worker may see it late, which costs a step by it. A thread that waits alone owns `looking_`, and the next such thread
  // sees its changes.
  const bool is_alone = waiters_.fetch_add(1, std::memory_order_acq_rel) == 0;
  const bool looks = is_alone && between_ != nullptr && looking_.looks();
  bool has_slept = false;
  wait_until(
      static_cast<int>(members_.here.size()), looks ? waits::kLeader.looks : 1,
      [&] {
        const bool has_moved = progress();
        return Look{ticket.is_done(), has_moved};
      },
      [&](Time now) {
        if (now - began > limit) {
          early = fail(Errc::timeout, "rank {}: wait() timed out after {}", rank(), milliseconds(limit));
          return false;
        }
        if (now - asked < kInterruptsEvery) return true;
        asked = now;
        if (!is_interrupted()) return true;
        early = fail(Errc::interrupted, "rank {} was interrupted", rank());
        return false;
      },
      [&](Duration waited) {
        const Duration most = std::min<Duration>(kSleepMost, limit);
        if (!only_waits_for(ticket)) return has_slept |= sleep(most);
        return between_->await_message(std::min(std::clamp<Duration>(long_sleep(waited), Millis{1}, kSleepMost), most));
      });
  if (is_alone) has_slept ? looking_.missed() : looking_.paid();
  waiters_.fetch_sub(1, std::memory_order_acq_rel);
  if (is_busy()) Worker::own().wake();
  return ticket.is_done() ? result() : early;
}

// ---- the end

Result<> Team::destroy() {
  auto checked = check_latest();
  close(true);
  return checked;
}

void Team::close(bool ends_at_ctrl_c) {
  if (forks_ != forks() || is_closed_.exchange(true)) return;
  const Error why{Errc::interrupted, "the process group was destroyed before this was done"};
  peers_.close(why);
  std::deque<std::shared_ptr<Posted>> left;
  std::shared_ptr<rank::Job> job;  // Its end, which may wait for other ranks, comes behind the locks.
  {
    const std::lock_guard turn(turn_);
    const std::lock_guard guard(queue_lock_);
    const bool is_under_way = !queue_.empty() && queue_.front()->op != nullptr;
    if (ways_ != nullptr && !is_under_way) job = rank::leave_tree(*ways_);
    if (!queue_.empty()) {
      sumac_team_break(team_, fmt::format("rank {} destroyed its process group in mid-operation", rank()).c_str());
      (void)sumac_team_progress(team_);  // It lets go of the memory of all that are under way.
    }
    left.swap(queue_);
    messages_.clear();
    queued_.store(0, std::memory_order_relaxed);
  }
  for (const auto& posted : left) posted->end(why);
  if (job && ends_at_ctrl_c) job->end_at_ctrl_c();
}

}  // namespace sumac::python
