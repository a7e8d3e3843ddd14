/* Moves posted operations: by a callback in MPI's progress, registered only while something is posted, and on
 * request (SUMAC_PROGRESS_THREAD=1) by a thread of our own, so that a rank that computes outside MPI does not delay
 * the others.
 *
 * The thread only moves teams. It calls no function of MPI, so it leaves alone teams that use MPI's collectives
 * between hosts, and the callback informs MPI of operations that the thread has finished. While nothing is posted it
 * sleeps. */
#define _GNU_SOURCE /* SCHED_BATCH */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "requests.h"

#include "opal/runtime/opal_progress.h"

/* The number of calls without work before the callback leaves MPI's progress: to enter and leave it costs more than
 * to be called. */
#define IDLE_CALLS_MAX 10000

static struct {
  pthread_mutex_t lock; /* guards all members below */
  hcoll_lane_t* active; /* lanes with a posted request */
  unsigned changes;     /* counts the times that a lane left that list */
  bool in_mpi;          /* the callback is in MPI's progress */
  bool inside;          /* a call of it is running */
  int idle_calls;
  bool thread_runs, thread_ends, thread_failed;
  pthread_t thread;
  unsigned posts;      /* counts the requests that were posted */
  pthread_cond_t work; /* a request was posted, or the thread is to end */
  pthread_cond_t left; /* the thread has left a team */
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER, .left = PTHREAD_COND_INITIALIZER};

/* Finished operations that MPI does not know of yet: a stack that any thread pushes to. */
static _Atomic(hcoll_request_t*) done_stack;
static atomic_bool mpi_is_gone;

/* The caller waits in a loop of its own, which sleeps or yields between calls, so MPI need not yield too
 * (mpi_yield_when_idle). That switch holds for the whole process, so it is not touched while other threads may be in
 * MPI. */
void hcoll_drive_mpi(void* context) {
  (void)context;
  if (atomic_load_explicit(&mpi_is_gone, memory_order_relaxed)) { /* set by this very thread, in MPI_Finalize */
    return;
  }
  if (hcoll_threads) {
    opal_progress();
    return;
  }
  bool yields = opal_progress_set_yield_when_idle(false);
  opal_progress();
  opal_progress_set_yield_when_idle(yields);
}
void hcoll_drive_mpi_never_again(void) { atomic_store(&mpi_is_gone, true); }

void hcoll_progress_done(hcoll_request_t* request) {
  hcoll_request_t* top = atomic_load(&done_stack);
  do {
    request->next_done = top;
  } while (!atomic_compare_exchange_weak(&done_stack, &top, request));
}

/* Informs MPI, in the order in which the operations ended. */
static int finish_done(void) {
  hcoll_request_t *stack = atomic_exchange(&done_stack, NULL), *in_order = NULL;
  while (NULL != stack) {
    hcoll_request_t* next = stack->next_done;
    stack->next_done = in_order;
    in_order = stack;
    stack = next;
  }
  int finished = 0;
  while (NULL != in_order) {
    hcoll_request_t* next = in_order->next_done; /* once MPI knows, the request may be freed or posted again */
    hcoll_request_finish(in_order);
    in_order = next;
    ++finished;
  }
  return finished;
}

static int callback(void);

/* Called with the lock held. */
static void leave_mpi_when_idle(void) {
  if (NULL != progress.active) {
    progress.idle_calls = 0;
  } else if (++progress.idle_calls > IDLE_CALLS_MAX && progress.in_mpi) {
    opal_progress_unregister(callback);
    progress.in_mpi = false;
  }
}

/* Moves all teams. A thread that finds the lock taken has nothing to do here: another thread moves them, or this
 * thread does so further up its stack.
 *
 * With our progress thread there are usually more threads than cores, and MPI waits without releasing its core. So a
 * call that moved nothing yields, because the threads it waits for may need the core. */
static int callback(void) {
  const bool shares_cores = mca_coll_hcoll_component.settings.progress_thread;
  if (hcoll_threads ? 0 != pthread_mutex_trylock(&progress.lock) : progress.inside) {
    if (shares_cores) {
      sched_yield();
    }
    return 0;
  }
  progress.inside = true;
  int moved = 0;
  for (hcoll_lane_t* lane = progress.active; NULL != lane; lane = lane->active_next) {
    moved += sumac_team_progress(lane->team);
  }
  const bool waits = NULL != progress.active && 0 == moved;
  leave_mpi_when_idle();
  progress.inside = false;
  hcoll_unlock(&progress.lock);
  if (NULL != atomic_load(&done_stack)) {
    return finish_done();
  }
  if (waits && shares_cores) {
    sched_yield();
  }
  return 0;
}

static int64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* One round of the thread over the active teams, which looks `looks` times at each; called with the lock held, which
 * is released while the thread is inside a team. Returns whether a team has anything to move, and sets `*moved_p` if
 * an operation ended or made progress. */
static bool visit_all(int looks, bool* moved_p) {
  bool anything = false;
  unsigned changes = progress.changes;
  for (hcoll_lane_t* lane = progress.active; NULL != lane; lane = lane->active_next) {
    if (lane->by_thread && sumac_team_active(lane->team) > 0) {
      anything = true;
      ++lane->visitors;
      pthread_mutex_unlock(&progress.lock);
      unsigned before = sumac_team_moves(lane->team);
      int moved = 0;
      for (int i = 0; i < looks && 0 == moved; ++i) {
        moved = sumac_team_progress(lane->team);
      }
      pthread_mutex_lock(&progress.lock);
      *moved_p = *moved_p || moved > 0 || before != sumac_team_moves(lane->team);
      if (0 == --lane->visitors) {
        pthread_cond_broadcast(&progress.left);
      }
      if (changes != progress.changes) {
        return true; /* the rest of the list may be gone */
      }
    }
  }
  return anything;
}

/* Rests between two rounds without progress; called with the lock held, which is released meanwhile. A new post ends a
 * sleep. */
static void rest(const sumac_rest_t* plan) {
  if (plan->sleep_us > 0) {
    int64_t until_us = now_us() + plan->sleep_us;
    struct timespec until = {until_us / 1000000, until_us % 1000000 * 1000};
    (void)pthread_cond_timedwait(&progress.work, &progress.lock, &until);
    return;
  }
  pthread_mutex_unlock(&progress.lock);
  if (plan->yields) {
    sched_yield();
  }
  pthread_mutex_lock(&progress.lock);
}

static void* thread_main(void* argument) {
  (void)argument;
  /* This thread may share its core with the rank's own thread, which it must not preempt in the middle of a post
   * when it wakes up. If the system refuses, posting takes longer now and then. */
  const struct sched_param none = {0};
  (void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
  pthread_mutex_lock(&progress.lock);
  int64_t last_moved = now_us();
  sumac_rest_t plan = sumac_thread_rest(0);
  unsigned posts = progress.posts;
  while (!progress.thread_ends) {
    bool moved = false, anything = visit_all(plan.looks, &moved);
    if (!anything && posts == progress.posts) {
      pthread_cond_wait(&progress.work, &progress.lock);
    }
    /* An operation that the program's own thread has finished counts as well: more may be posted at any moment. */
    if (!anything || moved || posts != progress.posts) {
      last_moved = now_us();
      posts = progress.posts;
      continue;
    }
    plan = sumac_thread_rest(now_us() - last_moved);
    rest(&plan);
  }
  pthread_mutex_unlock(&progress.lock);
  return NULL;
}

/* Called with the lock held. Signals belong to the program, so none is delivered to this thread. */
static void start_thread(void) {
  if (progress.thread_runs || progress.thread_failed || !mca_coll_hcoll_component.settings.progress_thread) {
    return;
  }
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&progress.work, &monotonic);
  pthread_condattr_destroy(&monotonic);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int rc = pthread_create(&progress.thread, NULL, thread_main, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  progress.thread_runs = 0 == rc;
  if (0 != rc) {
    progress.thread_failed = true;
    SUMAC_SAY("SUMAC_PROGRESS_THREAD: no thread (%s): nonblocking collectives move inside MPI calls only",
              strerror(rc));
  }
}

void hcoll_progress_enter(hcoll_lane_t* lane) {
  hcoll_lock(&progress.lock);
  if (1 == ++lane->posted) {
    lane->active_next = progress.active;
    progress.active = lane;
  }
  progress.idle_calls = 0;
  if (!progress.in_mpi) {
    progress.in_mpi = OPAL_SUCCESS == opal_progress_register(callback);
  }
  start_thread();
  hcoll_unlock(&progress.lock);
}

/* Called with the lock held. */
static void unlist(hcoll_lane_t* lane) {
  for (hcoll_lane_t** at = &progress.active; NULL != *at; at = &(*at)->active_next) {
    if (*at == lane) {
      *at = lane->active_next;
      ++progress.changes;
      return;
    }
  }
}

void hcoll_progress_leave(hcoll_lane_t* lane) {
  hcoll_lock(&progress.lock);
  if (0 == --lane->posted) {
    unlist(lane);
  }
  hcoll_unlock(&progress.lock);
}

void hcoll_progress_kick(hcoll_lane_t* lane) {
  if (!mca_coll_hcoll_component.settings.progress_thread || !lane->by_thread) {
    return;
  }
  hcoll_lock(&progress.lock);
  ++progress.posts;
  hcoll_unlock(&progress.lock);
  pthread_cond_signal(&progress.work); /* without the lock, or the thread would wake up only to wait for it */
}

void hcoll_progress_forget(hcoll_lane_t* lane) {
  hcoll_lock(&progress.lock);
  if (lane->posted > 0) {
    lane->posted = 0;
    unlist(lane);
  }
  while (lane->visitors > 0) {
    pthread_cond_wait(&progress.left, &progress.lock);
  }
  hcoll_unlock(&progress.lock);
}

void hcoll_progress_end(void) {
  hcoll_lock(&progress.lock);
  bool runs = progress.thread_runs;
  progress.thread_ends = true;
  progress.thread_runs = false;
  if (runs) {
    pthread_cond_broadcast(&progress.work);
  }
  if (progress.in_mpi) {
    opal_progress_unregister(callback);
    progress.in_mpi = false;
  }
  hcoll_unlock(&progress.lock);
  if (runs) {
    pthread_join(progress.thread, NULL);
  }
  hcoll_requests_end();
}
