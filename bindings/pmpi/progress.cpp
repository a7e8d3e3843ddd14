#include "bindings/pmpi/progress.hpp"

#include <sched.h>

#include <atomic>
#include <mutex>

#include "bindings/pmpi/active.hpp"
#include "bindings/pmpi/job.hpp"
#include "bindings/pmpi/library.hpp"
#include "bindings/pmpi/requests.hpp"
#include "bindings/pmpi/thread.hpp"

namespace sumac::pmpi {

Active& active = *new Active;

namespace {

std::atomic<int> posted{0};
std::atomic<Request*> done_stack{nullptr};
MPI_Comm probed{};  ///< A communicator of all ranks without any message: a probe there drives the MPI.

void unlist(Lane& lane) {
  for (Lane** at = &active.first; *at != nullptr; at = &(*at)->next_active)
    if (*at == &lane) {
      *at = lane.next_active;
      ++active.changes;
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

}  // namespace

bool anything_posted() noexcept { return posted.load(std::memory_order_relaxed) > 0; }

void enter_progress(Lane& lane) {
  const std::lock_guard guard(active.lock);
  ++posted;
  if (++lane.posted == 1) {
    lane.next_active = active.first;
    active.first = &lane;
  }
  ++active.posts;
  start_thread();
}

void leave_progress_once(Lane& lane) {
  const std::lock_guard guard(active.lock);
  --posted;
  if (lane.posted > 0 && --lane.posted == 0) unlist(lane);
}

void leave_progress(Lane& lane) {
  std::unique_lock guard(active.lock);
  if (lane.posted > 0) {
    posted -= lane.posted;
    lane.posted = 0;
    unlist(lane);
  }
  active.left.wait(guard, [&] { return lane.visitors == 0; });
}

void kick_progress() {
  bool wakes = false;
  {
    const std::lock_guard guard(active.lock);
    wakes = wakes_for_post();
  }
  if (wakes) wake_thread();
}

void report_done(Request& request) {
  Request* top = done_stack.load();
  do {
    request.next_done = top;
  } while (!done_stack.compare_exchange_weak(top, &request));
}

void advance() {
  if (posted.load(std::memory_order_relaxed) == 0) return;
  bool wakes = false;
  {
    // Whoever finds the lock taken leaves the work to the one who holds it.
    const std::unique_lock guard(active.lock, std::try_to_lock);
    if (guard.owns_lock()) {
      active.visits.fetch_add(1, std::memory_order_relaxed);
      for (Lane* lane = active.first; lane != nullptr; lane = lane->next_active) (void)sumac_team_progress(lane->team);
      wakes = wakes_for_move();
    }
  }
  if (wakes) wake_thread();
  if (done_stack.load(std::memory_order_relaxed) != nullptr) report_to_mpi();
}

void pause(unsigned looks) {
  constexpr unsigned kSpins = 200;
  if (looks > kSpins || library.yields) ::sched_yield();
}

void settle(const Communicator& communicator) {
  const auto is_posted = [&] {
    const std::lock_guard guard(active.lock);
    for (const Lane* lane = active.first; lane != nullptr; lane = lane->next_active)
      if (lane->record == &communicator) return true;
    return false;
  };
  for (unsigned looks = 0; is_posted(); ++looks) {
    drive(nullptr);
    pause(looks);
  }
}

void drive(void*) {
  if (!library.on) return;
  int flag = 0;
  (void)mpi.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, probed, &flag, MPI_STATUS_IGNORE);
  advance();
  reap_job();
}

/// Not MPI_COMM_SELF: a probe there moves nothing in MPICH 4.0, and a rank that waits for a collective of ours must move its
/// messages.
bool begin_progress() { return mpi.Comm_dup(MPI_COMM_WORLD, &probed) == MPI_SUCCESS; }

void end_progress() {
  end_thread();
  (void)mpi.Comm_free(&probed);
}

}  // namespace sumac::pmpi
