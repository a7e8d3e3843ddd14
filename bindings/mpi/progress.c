/* Open MPI's side of rank/progress.h: a callback in MPI's progress, registered only while something is posted, which also
 * informs MPI of finished operations, whichever thread finished them. */
#include <sched.h>
#include <stdatomic.h>

#include "job.h"
#include "requests.h"

#include "opal/runtime/opal_progress.h"

/* The number of calls without work before the callback leaves MPI's progress: to enter and leave it costs more than
 * to be called. */
#define IDLE_CALLS_MAX 10000

/* The lock of rank/progress.h guards both. */
static bool in_mpi; /* the callback is in MPI's progress */
static int idle_calls;

static atomic_bool mpi_is_gone;

/* The caller waits in a loop of its own, which sleeps or yields between calls, so MPI need not yield too
 * (mpi_yield_when_idle). That switch holds for the whole process, so it is not touched while other threads may be in
 * MPI. */
void hcoll_drive_mpi(void* context) {
  (void)context;
  if (atomic_load_explicit(&mpi_is_gone, memory_order_relaxed)) { /* set by this very thread, in MPI_Finalize */
    return;
  }
  if (hcoll_runtime.threads) {
    opal_progress();
    return;
  }
  bool yields = opal_progress_set_yield_when_idle(false);
  opal_progress();
  opal_progress_set_yield_when_idle(yields);
}
void hcoll_drive_mpi_never_again(void) { atomic_store(&mpi_is_gone, true); }

/* In the order in which the operations ended. */
static int inform_mpi(struct sumac_done* done) {
  int finished = 0;
  while (NULL != done) {
    struct sumac_done* next = done->next;              /* once MPI knows, the request may be freed or posted again */
    hcoll_request_finish((struct sumac_request*)done); /* its first member */
    done = next;
    ++finished;
  }
  return finished;
}

/* With our progress thread there are usually more threads than cores, and MPI waits without releasing its core. So a
 * call that moved nothing yields, because the threads it waits for may need the core. */
static int callback(void) {
  const enum sumac_moved moved = sumac_progress_move();
  struct sumac_done* done = SUMAC_MOVED_BY_OTHERS == moved ? NULL : sumac_progress_take_done();
  if (NULL != done) {
    return inform_mpi(done);
  }
  if (SUMAC_MOVED != moved && hcoll.process.settings.progress_thread) {
    sched_yield();
  }
  return 0;
}

static void leave_mpi(void) {
  if (in_mpi) {
    opal_progress_unregister(callback);
    in_mpi = false;
  }
}

void hcoll_progress_entered(void) {
  idle_calls = 0;
  if (!in_mpi) {
    in_mpi = OPAL_SUCCESS == opal_progress_register(callback);
  }
}

void hcoll_progress_moved(bool is_posted) {
  idle_calls = is_posted ? 0 : idle_calls + 1;
  if (idle_calls > IDLE_CALLS_MAX) {
    leave_mpi();
  }
}

void hcoll_progress_no_thread(const char* why) {
  SUMAC_SAY("SUMAC_PROGRESS_THREAD: no thread (%s): nonblocking collectives move inside MPI calls only", why);
}

void hcoll_progress_end(void) {
  sumac_progress_end();
  leave_mpi();
  hcoll_requests_end();
}
