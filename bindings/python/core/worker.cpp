#include "bindings/python/core/worker.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>

#include "base/clock.hpp"
#include "base/thread.hpp"
#include "base/wait_policy.hpp"
#include "bindings/python/core/team.hpp"

namespace sumac::python {
namespace {

/// A post of another team waits at most so long for a thread that sleeps for one.
constexpr Duration kSleepMost = Millis{2};
/// The time for more posts, or for a wait, behind a post; twice as long each time that another one has come.
constexpr Duration kGrace = Micros{250}, kGraceMost = Micros{500};

std::atomic<unsigned> forks_done{0};
std::atomic<Worker*> current{nullptr};

/// The child has the parent's memory and none of its threads: a lock may be held by a thread that is not there.
void in_child() {
  forks_done.fetch_add(1, std::memory_order_relaxed);  // The child has one thread.
  current.store(nullptr, std::memory_order_relaxed);   // It is not freed, for the same reason.
}

void watch_forks() {
  static const int watched = ::pthread_atfork(nullptr, nullptr, in_child);
  (void)watched;
}

}  // namespace

unsigned forks() noexcept {
  watch_forks();
  return forks_done.load(std::memory_order_relaxed);
}

// It is never destroyed: the thread may be inside it when the process ends.
Worker& Worker::own() {
  watch_forks();
  Worker* worker = current.load(std::memory_order_acquire);
  if (worker != nullptr) return *worker;
  auto* made = new Worker;
  // A release store pairs with the load above; of two threads one wins.
  if (current.compare_exchange_strong(worker, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *worker;
}

void Worker::move(const std::shared_ptr<Team>& team) {
  std::unique_lock guard(lock_);
  if (std::none_of(teams_.begin(), teams_.end(), [&](const auto& one) { return one.lock() == team; }))
    teams_.push_back(team);
  has_news_ = true;
  if (!is_started_ && !is_to_park_) {
    start_thread([this] { loop(); }).detach();
    is_started_ = true;
  }
  const bool wakes = !gives_grace_ || !team->is_over_hosts();
  guard.unlock();  // The thread that wakes up need not wait for it.
  if (wakes) changed_.notify_one();
}

void Worker::park() {
  Worker* const worker = current.load(std::memory_order_acquire);
  if (worker == nullptr) return;
  std::unique_lock guard(worker->lock_);
  worker->is_to_park_ = worker->has_news_ = true;
  worker->changed_.notify_one();
  worker->parked_.wait(guard, [worker] { return worker->is_parked_ || !worker->is_started_; });
}

void Worker::wake() {
  std::unique_lock guard(lock_);
  if (teams_.empty()) return;
  has_news_ = true;
  const bool wakes = !gives_grace_;
  guard.unlock();
  if (wakes) changed_.notify_one();
}

bool Worker::is_wanted_at_once() const {
  return is_to_park_ || std::any_of(teams_.begin(), teams_.end(), [](const auto& one) {
           const auto team = one.lock();
           return team && !team->is_over_hosts() && !team->has_waiters();
         });
}

void Worker::give_grace(std::unique_lock<std::mutex>& guard) {
  gives_grace_ = true;
  for (Duration grace = kGrace; grace <= kGraceMost; grace *= 2) {
    has_news_ = false;
    if (changed_.wait_for(guard, grace, [this] { return is_wanted_at_once(); }) || !has_news_) break;
  }
  gives_grace_ = has_news_ = false;
}

/// Moves each team once; returns true if one moved.
bool Worker::pass() {
  std::vector<std::shared_ptr<Team>> teams;
  {
    const std::lock_guard guard(lock_);
    for (const auto& one : teams_)
      if (auto team = one.lock()) teams.push_back(std::move(team));
  }
  bool has_moved = false;
  for (const auto& team : teams)
    if (!team->has_waiters()) has_moved |= team->progress();
  return has_moved;
}

/// Returns the team if there is one alone, and no caller of it waits: then the thread may sleep for it.
std::shared_ptr<Team> Worker::only_team() {
  const std::lock_guard guard(lock_);
  if (teams_.size() != 1 || has_news_ || is_to_park_) return nullptr;
  auto team = teams_.front().lock();
  return team && !team->has_waiters() ? team : nullptr;
}

void Worker::loop() {
  Time moved = monotonic_now();
  for (;;) {
    const auto idle = monotonic_now() - moved;
    const sumac_rest_t rest = sumac_thread_rest(std::chrono::duration_cast<Micros>(idle).count());
    if (rest.yields) ::sched_yield();
    const auto only = rest.sleep_us > 0 ? only_team() : nullptr;
    const bool has_slept = only != nullptr && only->sleep(kSleepMost);
    {
      std::unique_lock guard(lock_);
      if (is_to_park_) {
        is_parked_ = true;
        parked_.notify_all();
        return;
      }
      std::erase_if(teams_, [](const auto& one) {
        const auto team = one.lock();
        return !team || !team->is_busy();
      });
      const bool is_left_alone = std::all_of(teams_.begin(), teams_.end(), [](const auto& one) {
        const auto team = one.lock();
        return !team || team->has_waiters();
      });
      if (is_left_alone) {
        changed_.wait(guard, [this] { return has_news_; });
        give_grace(guard);
        moved = monotonic_now();
        continue;  // Somebody may wait by now.
      } else if (rest.sleep_us > 0 && !has_news_ && !has_slept) {
        changed_.wait_for(guard, std::max<Duration>(Micros{rest.sleep_us}, long_sleep(idle)));
      }
      if (has_news_) moved = monotonic_now();
      has_news_ = false;
    }
    for (int i = 0; i < std::max(1, rest.looks); ++i) {
      if (!pass()) continue;
      moved = monotonic_now();
      break;
    }
  }
}

}  // namespace sumac::python
