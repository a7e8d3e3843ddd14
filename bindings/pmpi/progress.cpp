#include "bindings/pmpi/progress.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "bindings/common/say.h"
#include "bindings/pmpi/job.hpp"
#include "bindings/pmpi/lane.hpp"
#include "bindings/pmpi/library.hpp"
#include "bindings/pmpi/requests.hpp"

namespace sumac::pmpi {
namespace {

using Clock = std::chrono::steady_clock;

/// Without SUMAC_PROGRESS_THREAD the thread is the last resort: it moves a team only if the program's own thread did
/// not come by for so long.
constexpr std::chrono::microseconds kLastResort{1000};
/// It wakes up so often after the last operation before it sleeps until the next one: to be woken up costs the program
/// more than that.
constexpr int kLingers = 100;

struct State {
  std::mutex lock;         ///< Guards all members.
  Lane* active = nullptr;  ///< Lanes with a posted operation.
  unsigned changes = 0;    ///< Counts the times that a lane left that list.
  bool sleeps = false;     ///< The thread waits for the next post, for as long as it takes.
  bool ends = false;
  bool failed = false;
  unsigned posts = 0;
  std::condition_variable work, left;
  std::thread thread;
};
/// Never destroyed: a program may end without MPI_Finalize, with the thread still there.
State& state = *new State;

std::atomic<int> posted{0};
std::atomic<unsigned> visits{0};  ///< Times that the program's own threads moved the lanes.
std::atomic<Request*> done_stack{nullptr};
MPI_Comm probed{};  ///< A communicator without any message: a probe there drives the MPI.

void unlist(Lane& lane) {
  for (Lane** at = &state.active; *at != nullptr; at = &(*at)->next_active)
    if (*at == &lane) {
      *at = lane.next_active;
      ++state.changes;
      return;
    }
}

/// Tells the MPI, in the order in which the operations ended.
void report_to_mpi() {
  Request *stack = done_stack.exchange(nullptr), *in_order = nullptr;
  while (stack != nullptr) {
    Request* next = stack->next_done;
    stack->next_done = in_order;
    in_order = stack;
    stack = next;
  }
  while (in_order != nullptr) {
    Request* next = in_order->next_done;  // Once the MPI knows, the request may be gone.
    finish(*in_order);
    in_order = next;
  }
}

/// One round over the active lanes. Called with the lock held, which is released while the thread is inside a team.
/// Returns whether an operation ended or made progress.
bool visit_all(std::unique_lock<std::mutex>& guard, int looks) {
  bool moved = false;
  const unsigned changes = state.changes;
  for (Lane* lane = state.active; lane != nullptr; lane = lane->next_active) {
    ++lane->visitors;
    guard.unlock();
    const unsigned before = sumac_team_moves(lane->team);
    for (int i = 0; i < looks && !moved; ++i) moved = sumac_team_progress(lane->team) > 0;
    moved = moved || before != sumac_team_moves(lane->team);
    guard.lock();
    if (--lane->visitors == 0) state.left.notify_all();
    if (changes != state.changes) break;  // The rest of the list may be gone.
  }
  return moved;
}

void wait_for_work(std::unique_lock<std::mutex>& guard, int& lingered) {
  if (lingered++ < kLingers) {
    state.work.wait_for(guard, kLastResort);
    return;
  }
  state.sleeps = true;
  state.work.wait(guard, [] { return state.ends || state.active != nullptr; });
  state.sleeps = false;
}

void rest(std::unique_lock<std::mutex>& guard, const sumac_rest_t& plan) {
  if (plan.sleep_us > 0) {
    state.work.wait_for(guard, std::chrono::microseconds(plan.sleep_us));
    return;
  }
  guard.unlock();
  if (plan.yields) ::sched_yield();
  guard.lock();
}

/// SUMAC_PROGRESS_THREAD=1: the thread moves the teams at once.
void be_eager(std::unique_lock<std::mutex>& guard) {
  auto last = Clock::now();
  unsigned posts = state.posts;
  sumac_rest_t plan = sumac_thread_rest(0);
  while (!state.ends && state.active != nullptr) {
    if (visit_all(guard, plan.looks) || posts != state.posts) {
      last = Clock::now();
      posts = state.posts;
      plan = sumac_thread_rest(0);
      continue;
    }
    plan = sumac_thread_rest(std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - last).count());
    rest(guard, plan);
  }
}

void be_last_resort(std::unique_lock<std::mutex>& guard) {
  while (!state.ends && state.active != nullptr) {
    const unsigned before = visits.load();
    state.work.wait_for(guard, kLastResort);
    if (state.active == nullptr || before != visits.load()) continue;
    (void)visit_all(guard, 1);
  }
}

void run_thread() {
  // The thread may share its core with the program's own, which it must not interrupt in the middle of a post.
  const sched_param none{};
  (void)::pthread_setschedparam(::pthread_self(), SCHED_BATCH, &none);
  std::unique_lock guard(state.lock);
  int lingered = 0;
  while (!state.ends) {
    if (state.active == nullptr) {
      wait_for_work(guard, lingered);
      continue;
    }
    lingered = 0;
    if (library.settings.progress_thread != 0)
      be_eager(guard);
    else
      be_last_resort(guard);
  }
}

/// Called with the lock held. Signals belong to the program, so none is delivered to this thread.
void start_thread() {
  if (state.thread.joinable() || state.failed) return;
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    state.thread = std::thread(run_thread);
  } catch (const std::system_error& error) {
    state.failed = true;
    SUMAC_SAY("no thread for nonblocking collectives (%s): they move inside MPI calls that complete requests only",
              error.what());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

bool anything_posted() noexcept { return posted.load(std::memory_order_relaxed) > 0; }

void enter_progress(Lane& lane) {
  const std::lock_guard guard(state.lock);
  ++posted;
  if (++lane.posted == 1) {
    lane.next_active = state.active;
    state.active = &lane;
  }
  ++state.posts;
  start_thread();
}

void leave_progress_once(Lane& lane) {
  const std::lock_guard guard(state.lock);
  --posted;
  if (lane.posted > 0 && --lane.posted == 0) unlist(lane);
}

void leave_progress(Lane& lane) {
  std::unique_lock guard(state.lock);
  if (lane.posted > 0) {
    posted -= lane.posted;
    lane.posted = 0;
    unlist(lane);
  }
  state.left.wait(guard, [&] { return lane.visitors == 0; });
}

void kick_progress() {
  bool wake = false;
  {
    const std::lock_guard guard(state.lock);
    wake = state.sleeps || library.settings.progress_thread != 0;
  }
  if (wake) state.work.notify_one();  // Without the lock, or the thread would wake up only to wait for it.
}

void report_done(Request& request) {
  Request* top = done_stack.load();
  do {
    request.next_done = top;
  } while (!done_stack.compare_exchange_weak(top, &request));
}

void advance() {
  if (posted.load(std::memory_order_relaxed) == 0) return;
  {
    // Whoever finds the lock taken leaves the work to the one who holds it.
    const std::unique_lock guard(state.lock, std::try_to_lock);
    if (guard.owns_lock()) {
      visits.fetch_add(1, std::memory_order_relaxed);
      for (Lane* lane = state.active; lane != nullptr; lane = lane->next_active) (void)sumac_team_progress(lane->team);
    }
  }
  if (done_stack.load(std::memory_order_relaxed) != nullptr) report_to_mpi();
}

void pause(unsigned looks) {
  constexpr unsigned kSpins = 200;
  if (looks > kSpins || library.yields) ::sched_yield();
}

void drive(void*) {
  if (!library.on) return;
  int flag = 0;
  (void)mpi.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, probed, &flag, MPI_STATUS_IGNORE);
  advance();
  reap_job();
}

bool begin_progress() { return mpi.Comm_dup(MPI_COMM_SELF, &probed) == MPI_SUCCESS; }

void end_progress() {
  {
    const std::lock_guard guard(state.lock);
    state.ends = true;
  }
  state.work.notify_all();
  if (state.thread.joinable()) state.thread.join();
  (void)mpi.Comm_free(&probed);
}

}  // namespace sumac::pmpi
