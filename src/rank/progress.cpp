// The thread sleeps on a descriptor of its own, the bell, which is rung for a new post and for a step by the MPI after which
// it can go on. While a message of the tree is awaited it also sleeps on the tree's descriptor. Only ranks of this host ring
// no bell: where it waits for one it looks again and again, more and more rarely.
#include "rank/progress.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/thread.hpp"
#include "rank/job.h"
#include "rank/limits.hpp"
#include "sharp/api/sumac_ext.h"

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

/// As a last resort the thread moves a team only if the program's own thread did not come by for so long.
constexpr microseconds kLastResort{1000};
/// It wakes up so often after the last operation before it sleeps until the next one: to be woken up costs the program
/// more than that.
constexpr int kLingers = 100;
/// The longest sleep for a message of the tree. The client notices a silent node only when it is called, and no message
/// wakes the thread for that.
constexpr microseconds kMessageSleep{100'000};
constexpr microseconds kForEver{0};
/// A program that waits comes by so often that a look at the clock each time would show.
constexpr unsigned kVisitsPerLook = 64;

/// `lock` guards all members but the atomic ones.
struct State {
  std::atomic<const sumac_runtime*> runtime = nullptr;  ///< Set before the first operation is posted.
  std::mutex lock;
  sumac_lane* first = nullptr;       ///< The lanes with posted operations.
  unsigned changes = 0;              ///< Counts the times that a lane left the list.
  unsigned posts = 0;                ///< Counts posted operations.
  bool is_inside = false;            ///< sumac_progress_move() is running; only looked at where nothing is locked.
  std::condition_variable left;      ///< The thread has left a team.
  std::atomic<unsigned> visits = 0;  ///< Counts the times that the program's own threads moved the lanes.
  std::atomic<int> posted = 0;
  std::atomic<sumac_done*> done = nullptr;

  std::thread thread;
  bool ends = false, failed = false;
  int bell = -1;           ///< An eventfd that wakes the thread.
  bool sleeps = false;     ///< A post is to ring the bell.
  unsigned wakes_for = 0;  ///< So is a move after which the teams wait for one of these events (enum sumac_awaits).
};
/// Never destroyed: a program may end without MPI_Finalize, with the thread still there.
State& state = *new State;

const sumac_runtime& runtime() { return *state.runtime.load(std::memory_order_relaxed); }

/// The locks that each nonblocking collective would take cost more than the rest of it, so a program with one thread takes
/// none.
class Guard {
 public:
  explicit Guard(const sumac_runtime& of) : locks_(of.threads) {
    if (locks_) state.lock.lock();
  }
  ~Guard() {
    if (locks_) state.lock.unlock();
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  bool locks_;
};

bool is_eager() { return runtime().settings->progress_thread != 0; }

/// Returns the events that the teams of the list wait for. Called with the lock held.
unsigned awaits_all() {
  unsigned all = 0;
  for (const sumac_lane* lane = state.first; lane != nullptr; lane = lane->next_active)
    all |= sumac_team_awaits(lane->team);
  return all;
}

void unlist(sumac_lane& lane) {
  for (sumac_lane** at = &state.first; *at != nullptr; at = &(*at)->next_active)
    if (*at == &lane) {
      *at = lane.next_active;
      ++state.changes;
      return;
    }
}

void ring_bell() {
  const std::uint64_t once = 1;
  while (::write(state.bell, &once, sizeof once) == -1 && errno == EINTR) {
  }
}

// ---- the thread ----

using Lock = std::unique_lock<std::mutex>;

/// One round over the active lanes, which looks at most `looks` times at each. Called with the lock held, which is released
/// while the thread is inside a team. Returns whether an operation ended or made progress.
bool visit_all(Lock& guard, int looks) {
  bool moved = false;
  const unsigned changes = state.changes;
  for (sumac_lane* lane = state.first; lane != nullptr; lane = lane->next_active) {
    if ((sumac_team_awaits(lane->team) & ~unsigned{SUMAC_AWAITS_MPI}) == 0) continue;
    ++lane->visitors;
    guard.unlock();
    const unsigned before = sumac_team_moves(lane->team);
    bool ended = sumac_team_progress_apart(lane->team) > 0;
    for (int i = 1; i < looks && !ended && (sumac_team_awaits(lane->team) & SUMAC_AWAITS_LOOK) != 0; ++i)
      ended = sumac_team_progress_apart(lane->team) > 0;
    moved = moved || ended || before != sumac_team_moves(lane->team);
    guard.lock();
    if (--lane->visitors == 0) state.left.notify_all();
    if (changes != state.changes) return true;  // The rest of the list may be gone.
  }
  return moved;
}

enum class Posts : bool { ring_no_bell, ring };

/// Sleeps until the bell is rung, a message of the tree arrives (if the teams await one), or the time is over. Called with
/// the lock held, which is released meanwhile.
void sleep_for(Lock& guard, unsigned awaits, microseconds time, Posts posts) {
  pollfd on[2] = {{state.bell, POLLIN, 0}, {-1, POLLIN, 0}};
  if ((awaits & SUMAC_AWAITS_TREE) != 0) {
    if (sumac_coll_arm(sumac_job_context()) != 1) return;  // A message is there.
    on[1].fd = sumac_coll_wait_fd(sumac_job_context());
    if (time == kForEver) time = kMessageSleep;
  }
  const timespec exactly{time.count() / 1'000'000, time.count() % 1'000'000 * 1000};
  state.sleeps = posts == Posts::ring;
  // A thread that looks again soon finds the rest by itself.
  state.wakes_for = (awaits & SUMAC_AWAITS_LOOK) != 0 ? 0 : ~(awaits | SUMAC_AWAITS_MPI);
  guard.unlock();
  (void)::ppoll(on, 2, time == kForEver ? nullptr : &exactly, nullptr);
  std::uint64_t rings = 0;
  while ((on[0].revents & POLLIN) != 0 && ::read(state.bell, &rings, sizeof rings) == -1 && errno == EINTR) {
  }
  guard.lock();
  state.sleeps = false;
}

/// Rests after a round without progress, in which no team had moved for `idle`. Returns the looks of the next round.
int rest(Lock& guard, Clock::duration idle) {
  const unsigned awaits = awaits_all();
  const sumac_rest_t plan = sumac_thread_rest(std::chrono::duration_cast<microseconds>(idle).count());
  if ((awaits & SUMAC_AWAITS_LOOK) == 0) {
    sleep_for(guard, awaits, kForEver, Posts::ring);
  } else if (plan.sleep_us > 0) {
    sleep_for(guard, awaits, microseconds(plan.sleep_us), Posts::ring);
  } else {
    guard.unlock();
    if (plan.yields) ::sched_yield();
    guard.lock();
  }
  return plan.looks;
}

/// SUMAC_PROGRESS_THREAD=1: the thread moves the teams at once.
void be_eager(Lock& guard) {
  auto last = Clock::now();
  unsigned posts = state.posts;
  int looks = sumac_thread_rest(0).looks;
  while (!state.ends) {
    const bool moved = visit_all(guard, looks);
    // An operation that the program's own thread has finished counts as well: more may be posted at any moment.
    if (moved || posts != state.posts || (awaits_all() & SUMAC_AWAITS_LOOK) == 0) last = Clock::now();
    if (moved || posts != state.posts)
      posts = state.posts;
    else
      looks = rest(guard, Clock::now() - last);
  }
}

void be_last_resort(Lock& guard) {
  for (int lingered = 0; !state.ends;) {
    if (state.first == nullptr) {
      const bool lingers = lingered++ < kLingers;
      sleep_for(guard, 0, lingers ? kLastResort : kForEver, lingers ? Posts::ring_no_bell : Posts::ring);
      continue;
    }
    lingered = 0;
    const unsigned before = state.visits.load();
    sleep_for(guard, 0, kLastResort, Posts::ring_no_bell);
    if (state.first != nullptr && before == state.visits.load()) (void)visit_all(guard, 1);
  }
}

void run_thread() {
  // The thread may share its core with the program's own, which it must not interrupt in the middle of a post. If the system
  // refuses, posting takes longer now and then.
  const sched_param none{};
  (void)::pthread_setschedparam(::pthread_self(), SCHED_BATCH, &none);
  Lock guard(state.lock);
  is_eager() ? be_eager(guard) : be_last_resort(guard);
}

void fail(int error) {
  state.failed = true;
  runtime().no_thread(std::generic_category().message(error).c_str());
}

/// Called with the lock held.
void start_thread() {
  if (state.thread.joinable() || state.failed || !(is_eager() || runtime().last_resort)) return;
  state.bell = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (state.bell < 0) return fail(errno);
  if (is_eager() && sumac_job_stands()) (void)sumac_coll_set_bell(sumac_job_context(), state.bell);
  try {
    state.thread = sumac::start_thread(run_thread);
  } catch (const std::system_error& error) {
    fail(error.code().value());
  }
}

}  // namespace

void sumac_progress_end() {
  if (state.runtime.load() == nullptr) return;  // Nothing was ever posted.
  {
    const Guard guard(runtime());
    state.ends = true;
  }
  if (state.thread.joinable()) {
    ring_bell();
    state.thread.join();
  }
  if (state.bell < 0) return;
  if (sumac_job_stands()) (void)sumac_coll_set_bell(sumac_job_context(), -1);
  ::close(state.bell);
  state.bell = -1;
}

void sumac_progress_enter(sumac_lane_t* lane) {
  state.runtime.store(lane->record->runtime, std::memory_order_relaxed);
  const Guard guard(runtime());
  state.posted.fetch_add(1, std::memory_order_relaxed);
  if (++lane->posted == 1) {
    lane->next_active = state.first;
    state.first = lane;
  }
  if (runtime().entered != nullptr) runtime().entered();
  start_thread();
}

void sumac_progress_leave_once(sumac_lane_t* lane) {
  const Guard guard(*lane->record->runtime);
  state.posted.fetch_sub(1, std::memory_order_relaxed);
  if (lane->posted > 0 && --lane->posted == 0) unlist(*lane);
}

void sumac_progress_kick() {
  if (!is_eager() && !runtime().last_resort) return;
  bool wakes = false;
  {
    const Guard guard(runtime());
    ++state.posts;
    wakes = std::exchange(state.sleeps, false);
  }
  if (wakes) ring_bell();  // Without the lock, or the thread would wake up only to wait for it.
}

void sumac_progress_leave(sumac_lane_t* lane) {
  const Guard guard(*lane->record->runtime);
  if (lane->posted > 0) {
    state.posted.fetch_sub(lane->posted, std::memory_order_relaxed);
    lane->posted = 0;
    unlist(*lane);
  }
  if (lane->visitors == 0) return;
  Lock lock(state.lock, std::adopt_lock);  // There is a thread, so it was taken.
  state.left.wait(lock, [&] { return lane->visitors == 0; });
  (void)lock.release();
}

bool sumac_progress_is_posted() { return state.posted.load(std::memory_order_relaxed) > 0; }

bool sumac_progress_is_posted_on(const sumac_record* record) {
  const Guard guard(*record->runtime);
  for (const sumac_lane* lane = state.first; lane != nullptr; lane = lane->next_active)
    if (lane->record == record) return true;
  return false;
}

sumac_moved sumac_progress_move() {
  const bool locks = runtime().threads;
  if (locks ? !state.lock.try_lock() : state.is_inside) return SUMAC_MOVED_BY_OTHERS;
  state.is_inside = true;
  const unsigned visits = state.visits.fetch_add(1, std::memory_order_relaxed);
  const bool looks = visits % kVisitsPerLook == 0 && sumac_limits_on(&runtime());
  int ended = 0;
  for (sumac_lane* lane = state.first; lane != nullptr; lane = lane->next_active) {
    ended += sumac_team_progress(lane->team);
    if (looks) sumac_limits_look(lane);
  }
  const bool is_posted = state.first != nullptr;
  // After a step by the MPI the thread can go on.
  const bool wakes = state.sleeps && state.wakes_for != 0 && (awaits_all() & state.wakes_for) != 0 &&
                     std::exchange(state.sleeps, false);
  if (runtime().moved != nullptr) runtime().moved(is_posted);
  state.is_inside = false;
  if (locks) state.lock.unlock();
  if (wakes) ring_bell();
  return is_posted && ended == 0 ? SUMAC_MOVED_NOTHING : SUMAC_MOVED;
}

void sumac_progress_done(sumac_done* done) {
  done->next = state.done.load();
  while (!state.done.compare_exchange_weak(done->next, done)) {
  }
}

sumac_done* sumac_progress_take_done() {
  if (state.done.load(std::memory_order_relaxed) == nullptr) return nullptr;
  sumac_done *stack = state.done.exchange(nullptr), *in_order = nullptr;
  while (stack != nullptr) {
    sumac_done* next = stack->next;
    stack->next = in_order;
    in_order = stack;
    stack = next;
  }
  return in_order;
}
