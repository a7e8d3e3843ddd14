#include "bindings/pmpi/thread.hpp"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <thread>
#include <utility>

#include "bindings/pmpi/active.hpp"
#include "bindings/pmpi/library.hpp"
#include "rank/job.h"
#include "rank/say.h"
#include "sharp/api/sumac_ext.h"

namespace sumac::pmpi {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

/// Without SUMAC_PROGRESS_THREAD the thread is the last resort: it moves a team only if the program's own thread did
/// not come by for so long.
constexpr microseconds kLastResort{1000};
/// It wakes up so often after the last operation before it sleeps until the next one: to be woken up costs the program
/// more than that.
constexpr int kLingers = 100;
/// The longest sleep for a message of the tree. The client notices a silent node only when it is called, and no message
/// wakes the thread for that.
constexpr microseconds kMessageSleep{100'000};
constexpr microseconds kForEver{0};

/// The lock of `active` guards all members.
struct Helper {
  std::thread thread;
  bool ends = false, failed = false;
  int bell = -1;           ///< An eventfd that wakes the thread.
  bool sleeps = false;     ///< A post is to ring the bell.
  unsigned wakes_for = 0;  ///< So is a move after which the teams wait for one of these events.
};
/// Never destroyed, as `active`.
Helper& helper = *new Helper;

bool is_eager() { return library.settings.progress_thread != 0; }

/// One round over the active lanes. Called with the lock held, which is released while the thread is inside a team.
/// Returns whether an operation ended or made progress.
bool visit_all(std::unique_lock<std::mutex>& guard, int looks) {
  bool moved = false;
  const unsigned changes = active.changes;
  for (Lane* lane = active.first; lane != nullptr; lane = lane->next_active) {
    if ((sumac_team_awaits(lane->team) & ~unsigned{SUMAC_AWAITS_MPI}) == 0) continue;
    ++lane->visitors;
    guard.unlock();
    const unsigned before = sumac_team_moves(lane->team);
    bool ended = sumac_team_progress_apart(lane->team) > 0;
    for (int i = 1; i < looks && !ended && (sumac_team_awaits(lane->team) & SUMAC_AWAITS_LOOK) != 0; ++i)
      ended = sumac_team_progress_apart(lane->team) > 0;
    moved = moved || ended || before != sumac_team_moves(lane->team);
    guard.lock();
    if (--lane->visitors == 0) active.left.notify_all();
    if (changes != active.changes) return true;  // The rest of the list may be gone.
  }
  return moved;
}

void wait_in_poll(pollfd* on, nfds_t count, microseconds time) {
  const timespec exactly{time.count() / 1'000'000, time.count() % 1'000'000 * 1000};
  (void)::ppoll(on, count, time == kForEver ? nullptr : &exactly, nullptr);
  std::uint64_t rings = 0;
  while ((on[0].revents & POLLIN) != 0 && ::read(helper.bell, &rings, sizeof rings) == -1 && errno == EINTR) {
  }
}

/// Sleeps until the bell rings or the time is over. Called with the lock held, which is released meanwhile.
void sleep_on_bell(std::unique_lock<std::mutex>& guard, microseconds time, bool post_rings) {
  pollfd on{helper.bell, POLLIN, 0};
  helper.sleeps = post_rings;
  helper.wakes_for = 0;
  guard.unlock();
  wait_in_poll(&on, 1, time);
  guard.lock();
  helper.sleeps = false;
}

/// The same while no team waits for a rank of this host: a message of the tree also ends the sleep.
void sleep_on_tree(std::unique_lock<std::mutex>& guard, unsigned awaits) {
  pollfd on[2] = {{helper.bell, POLLIN, 0}, {-1, POLLIN, 0}};
  if ((awaits & SUMAC_AWAITS_TREE) != 0) {
    if (sumac_coll_arm(sumac_job_context()) != 1) return;  // A message is there.
    on[1].fd = sumac_coll_wait_fd(sumac_job_context());
  }
  helper.sleeps = true;
  helper.wakes_for = ~(awaits | SUMAC_AWAITS_MPI);
  guard.unlock();
  wait_in_poll(on, 2, on[1].fd >= 0 ? kMessageSleep : kForEver);
  guard.lock();
  helper.sleeps = false;
}

/// SUMAC_PROGRESS_THREAD=1: the thread moves the teams at once. Ranks of this host wake nobody, so where it waits for
/// one it looks again and again, more and more rarely.
void be_eager(std::unique_lock<std::mutex>& guard) {
  auto last = Clock::now();
  unsigned posts = active.posts;
  int looks = sumac_thread_rest(0).looks;
  while (!helper.ends && active.first != nullptr) {
    const bool moved = visit_all(guard, looks);
    const unsigned awaits = active.awaits();
    if (moved || posts != active.posts || (awaits & SUMAC_AWAITS_LOOK) == 0) last = Clock::now();
    const auto rest = sumac_thread_rest(std::chrono::duration_cast<microseconds>(Clock::now() - last).count());
    looks = rest.looks;
    if (moved || posts != active.posts) {
      posts = active.posts;
      continue;
    }
    if ((awaits & SUMAC_AWAITS_LOOK) == 0) {
      sleep_on_tree(guard, awaits);
    } else if (rest.sleep_us > 0) {
      sleep_on_bell(guard, microseconds(rest.sleep_us), true);
    } else {
      guard.unlock();
      if (rest.yields) ::sched_yield();
      guard.lock();
    }
  }
}

void be_last_resort(std::unique_lock<std::mutex>& guard) {
  while (!helper.ends && active.first != nullptr) {
    const unsigned before = active.visits.load();
    sleep_on_bell(guard, kLastResort, false);
    if (active.first == nullptr || before != active.visits.load()) continue;
    (void)visit_all(guard, 1);
  }
}

void run_thread() {
  // The thread may share its core with the program's own, which it must not interrupt in the middle of a post.
  const sched_param none{};
  (void)::pthread_setschedparam(::pthread_self(), SCHED_BATCH, &none);
  std::unique_lock guard(active.lock);
  int lingered = 0;
  while (!helper.ends) {
    if (active.first == nullptr) {
      const bool lingers = lingered++ < kLingers;
      sleep_on_bell(guard, lingers ? kLastResort : kForEver, !lingers || is_eager());
      continue;
    }
    lingered = 0;
    if (is_eager())
      be_eager(guard);
    else
      be_last_resort(guard);
  }
}

/// Signals belong to the program, so none is delivered to the thread.
void start_without_signals() {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    helper.thread = std::thread(run_thread);
  } catch (const std::system_error& error) {
    helper.failed = true;
    SUMAC_SAY("no thread for nonblocking collectives (%s): they move inside MPI calls that complete requests only",
              error.what());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void start_thread() {
  if (helper.thread.joinable() || helper.failed) return;
  helper.bell = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (helper.bell < 0) {
    helper.failed = true;
    SUMAC_SAY("no thread for nonblocking collectives (%s): they move inside MPI calls that complete requests only",
              std::generic_category().message(errno).c_str());
    return;
  }
  if (is_eager() && sumac_job_stands()) (void)sumac_coll_set_bell(sumac_job_context(), helper.bell);
  start_without_signals();
}

bool wakes_for_post() { return std::exchange(helper.sleeps, false); }

bool wakes_for_move() {
  return helper.sleeps && helper.wakes_for != 0 && (active.awaits() & helper.wakes_for) != 0 && wakes_for_post();
}

void wake_thread() {
  const std::uint64_t once = 1;
  while (::write(helper.bell, &once, sizeof once) == -1 && errno == EINTR) {
  }
}

void end_thread() {
  {
    const std::lock_guard guard(active.lock);
    helper.ends = true;
  }
  if (helper.thread.joinable()) {
    wake_thread();
    helper.thread.join();
  }
  if (helper.bell < 0) return;
  if (sumac_job_stands()) (void)sumac_coll_set_bell(sumac_job_context(), -1);
  ::close(helper.bell);
  helper.bell = -1;
}

}  // namespace sumac::pmpi
