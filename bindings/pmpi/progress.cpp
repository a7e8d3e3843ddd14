#include "bindings/pmpi/progress.hpp"

#include <sched.h>

#include <atomic>

#include "bindings/pmpi/library.hpp"
#include "bindings/pmpi/requests.hpp"
#include "rank/job.h"
#include "rank/progress.h"
#include "rank/say.h"

namespace sumac::pmpi {
namespace {

MPI_Comm probed{};  ///< A communicator of all ranks without any message: a probe there drives the MPI.
std::atomic<bool> any_leaves{false};

}  // namespace

void say_no_thread(const char* why) {
  SUMAC_SAY("no thread for nonblocking collectives (%s): they move inside MPI calls that complete requests only", why);
}

void watch_leaves(bool any) { any_leaves = any; }

void advance() {
  if (!sumac_progress_is_posted()) return;
  (void)sumac_progress_move();
  for (sumac_done* done = sumac_progress_take_done(); done != nullptr;) {
    sumac_done* next = done->next;  // Once the MPI knows, the request may be gone.
    finish(static_cast<Request&>(*reinterpret_cast<sumac_request*>(done)));  // Its first member.
    done = next;
  }
}

void pause(unsigned looks) {
  constexpr unsigned kSpins = 200;
  if (looks > kSpins || runtime.yields) ::sched_yield();
}

void settle(const Communicator& communicator) {
  for (unsigned looks = 0; sumac_progress_is_posted_on(&communicator); ++looks) {
    drive(nullptr);
    pause(looks);
  }
}

void drive(void*) {
  if (!library.on) return;
  int flag = 0;
  (void)mpi.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, probed, &flag, MPI_STATUS_IGNORE);
  advance();
  if (any_leaves.load(std::memory_order_relaxed)) (void)sumac_job_reap();
}

/// Not MPI_COMM_SELF: a probe there moves nothing in MPICH 4.0, and a rank that waits for a collective of ours must move its
/// messages.
bool begin_progress() { return mpi.Comm_dup(MPI_COMM_WORLD, &probed) == MPI_SUCCESS; }

void end_progress() {
  sumac_progress_end();
  (void)mpi.Comm_free(&probed);
}

}  // namespace sumac::pmpi
