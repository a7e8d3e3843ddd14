/* Moves posted operations: by a callback in MPI's progress, registered only while something is posted, and on
 * request (SUMAC_PROGRESS_THREAD=1) by a thread of our own, so that a rank that computes outside MPI does not delay
 * the others.
 *
 * The thread only moves teams. It calls no function of MPI: an operation that goes by shared memory and by the tree is
 * moved to its end, and any other one stops in front of its first step by MPI, which the callback makes. The callback
 * also informs MPI of operations that the thread has finished.
 *
 * The thread sleeps on a descriptor of its own, the bell, which is rung for a new post and for a step by MPI after
 * which it can go on. While a message of the tree is awaited it also sleeps on the tree's descriptor. Only ranks of
 * this host ring no bell: where it waits for one it looks again and again, more and more rarely. */
#define _GNU_SOURCE /* SCHED_BATCH, ppoll */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "job.h"
#include "requests.h"
#include "sharp/api/sumac_ext.h"

#include "opal/runtime/opal_progress.h"

/* The number of calls without work before the callback leaves MPI's progress: to enter and leave it costs more than
 * to be called. */
#define IDLE_CALLS_MAX 10000

/* The longest sleep for a message. The client notices a silent node only when it is called, and no message wakes the
 * thread for that. */
#define MESSAGE_SLEEP_US 100000

static struct {
  pthread_mutex_t lock; /* guards all members below */
  sumac_lane_t* active; /* lanes with a posted request */
  unsigned changes;     /* counts the times that a lane left that list */
  bool in_mpi;          /* the callback is in MPI's progress */
  bool inside;          /* a call of it is running */
  int idle_calls;
  bool thread_runs, thread_ends, thread_failed;
  pthread_t thread;
  unsigned posts;      /* counts the requests that were posted */
  int bell;            /* an eventfd that wakes the thread */
  bool sleeps;         /* the thread sleeps on it, and nobody has rung it yet */
  unsigned wakes_for;  /* then it is rung if the teams await one of these events (enum sumac_awaits) */
  pthread_cond_t left; /* the thread has left a team */
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER, .bell = -1, .left = PTHREAD_COND_INITIALIZER};

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

/* Called with the lock held. Returns true if the caller is to ring the bell, without the lock, or the thread would wake
 * up only to wait for it. */
static bool wakes_thread(void) {
  bool sleeps = progress.sleeps;
  progress.sleeps = false;
  return sleeps;
}

static void ring_bell(void) {
  const uint64_t once = 1;
  while (-1 == write(progress.bell, &once, sizeof(once)) && EINTR == errno) {
  }
}

/* Called with the lock held: the events that the active teams wait for. */
static unsigned all_await(void) {
  unsigned awaits = 0;
  for (const sumac_lane_t* lane = progress.active; NULL != lane; lane = lane->next_active) {
    awaits |= sumac_team_awaits(lane->team);
  }
  return awaits;
}

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
  for (sumac_lane_t* lane = progress.active; NULL != lane; lane = lane->next_active) {
    moved += sumac_team_progress(lane->team);
  }
  const bool waits = NULL != progress.active && 0 == moved;
  /* A step by MPI is made, and the thread can go on. */
  const bool wakes = progress.sleeps && 0 != (all_await() & progress.wakes_for) && wakes_thread();
  leave_mpi_when_idle();
  progress.inside = false;
  hcoll_unlock(&progress.lock);
  if (wakes) {
    ring_bell();
  }
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

/* One round of the thread over the active teams, which looks at most `looks` times at each; called with the lock held,
 * which is released while the thread is inside a team. Returns whether an operation ended or made progress. */
static bool visit_all(int looks) {
  bool has_moved = false;
  unsigned changes = progress.changes;
  for (sumac_lane_t* lane = progress.active; NULL != lane; lane = lane->next_active) {
    if (0 == (sumac_team_awaits(lane->team) & ~(unsigned)SUMAC_AWAITS_MPI)) {
      continue;
    }
    ++lane->visitors;
    pthread_mutex_unlock(&progress.lock);
    unsigned before = sumac_team_moves(lane->team);
    int moved = sumac_team_progress_apart(lane->team);
    for (int i = 1; i < looks && 0 == moved && 0 != (sumac_team_awaits(lane->team) & SUMAC_AWAITS_LOOK); ++i) {
      moved = sumac_team_progress_apart(lane->team);
    }
    pthread_mutex_lock(&progress.lock);
    has_moved = has_moved || moved > 0 || before != sumac_team_moves(lane->team);
    if (0 == --lane->visitors) {
      pthread_cond_broadcast(&progress.left);
    }
    if (changes != progress.changes) {
      return true; /* the rest of the list may be gone */
    }
  }
  return has_moved;
}

/* Sleeps until the bell is rung, a message of the tree arrives (if the teams await one), or the time is over; 0: until
 * then. Called with the lock held, which is released meanwhile. */
static void sleep_for(unsigned awaits, int64_t us) {
  struct pollfd on[2] = {{.fd = progress.bell, .events = POLLIN}};
  nfds_t count = 1;
  if (0 != (awaits & SUMAC_AWAITS_TREE)) {
    if (1 != sumac_coll_arm(sumac_job_context())) {
      return; /* a message is there */
    }
    on[count++] = (struct pollfd){.fd = sumac_coll_wait_fd(sumac_job_context()), .events = POLLIN};
    us = 0 == us ? MESSAGE_SLEEP_US : us;
  }
  const struct timespec time = {us / 1000000, us % 1000000 * 1000};
  progress.sleeps = true;
  /* A thread that looks again soon finds the rest by itself. */
  progress.wakes_for = 0 != (awaits & SUMAC_AWAITS_LOOK) ? 0 : ~(awaits | SUMAC_AWAITS_MPI);
  pthread_mutex_unlock(&progress.lock);
  (void)ppoll(on, count, 0 == us ? NULL : &time, NULL);
  uint64_t rings;
  while (0 != (on[0].revents & POLLIN) && -1 == read(progress.bell, &rings, sizeof(rings)) && EINTR == errno) {
  }
  pthread_mutex_lock(&progress.lock);
  progress.sleeps = false;
}

/* Rests after a round without progress, in which no team had moved for `idle_us`; called with the lock held, which is
 * released meanwhile. Returns the looks of the next round. */
static int rest(int64_t idle_us) {
  const unsigned awaits = all_await();
  const sumac_rest_t plan = sumac_thread_rest(idle_us);
  if (0 == (awaits & SUMAC_AWAITS_LOOK)) {
    sleep_for(awaits, 0);
  } else if (plan.sleep_us > 0) {
    sleep_for(awaits, plan.sleep_us);
  } else {
    pthread_mutex_unlock(&progress.lock);
    if (plan.yields) {
      sched_yield();
    }
    pthread_mutex_lock(&progress.lock);
  }
  return plan.looks;
}

static void* thread_main(void* argument) {
  (void)argument;
  /* This thread may share its core with the rank's own thread, which it must not preempt in the middle of a post
   * when it wakes up. If the system refuses, posting takes longer now and then. */
  const struct sched_param none = {0};
  (void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
  pthread_mutex_lock(&progress.lock);
  int64_t last_moved = now_us();
  int looks = sumac_thread_rest(0).looks;
  unsigned posts = progress.posts;
  while (!progress.thread_ends) {
    bool has_moved = visit_all(looks);
    /* An operation that the program's own thread has finished counts as well: more may be posted at any moment. */
    if (has_moved || posts != progress.posts || 0 == (all_await() & SUMAC_AWAITS_LOOK)) {
      last_moved = now_us();
    }
    if (has_moved || posts != progress.posts) {
      posts = progress.posts;
      continue;
    }
    looks = rest(now_us() - last_moved);
  }
  pthread_mutex_unlock(&progress.lock);
  return NULL;
}

/* Called with the lock held. Signals belong to the program, so none is delivered to this thread. */
static void start_thread(void) {
  if (progress.thread_runs || progress.thread_failed || !mca_coll_hcoll_component.settings.progress_thread) {
    return;
  }
  progress.bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  int rc = progress.bell < 0 ? errno : 0;
  if (0 == rc && sumac_job_stands()) {
    (void)sumac_coll_set_bell(sumac_job_context(), progress.bell);
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  if (0 == rc) {
    rc = pthread_create(&progress.thread, NULL, thread_main, NULL);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  progress.thread_runs = 0 == rc;
  if (0 != rc) {
    progress.thread_failed = true;
    SUMAC_SAY("SUMAC_PROGRESS_THREAD: no thread (%s): nonblocking collectives move inside MPI calls only",
              strerror(rc));
  }
}

void hcoll_progress_enter(sumac_lane_t* lane) {
  hcoll_lock(&progress.lock);
  if (1 == ++lane->posted) {
    lane->next_active = progress.active;
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
static void unlist(sumac_lane_t* lane) {
  for (sumac_lane_t** at = &progress.active; NULL != *at; at = &(*at)->next_active) {
    if (*at == lane) {
      *at = lane->next_active;
      ++progress.changes;
      return;
    }
  }
}

void hcoll_progress_leave(sumac_lane_t* lane) {
  hcoll_lock(&progress.lock);
  if (0 == --lane->posted) {
    unlist(lane);
  }
  hcoll_unlock(&progress.lock);
}

void hcoll_progress_kick(void) {
  if (!mca_coll_hcoll_component.settings.progress_thread) {
    return;
  }
  hcoll_lock(&progress.lock);
  ++progress.posts;
  bool wakes = wakes_thread();
  hcoll_unlock(&progress.lock);
  if (wakes) {
    ring_bell();
  }
}

void hcoll_progress_forget(sumac_lane_t* lane) {
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
    ring_bell();
  }
  if (progress.in_mpi) {
    opal_progress_unregister(callback);
    progress.in_mpi = false;
  }
  hcoll_unlock(&progress.lock);
  if (runs) {
    pthread_join(progress.thread, NULL);
  }
  if (progress.bell >= 0) {
    if (sumac_job_stands()) {
      (void)sumac_coll_set_bell(sumac_job_context(), -1);
    }
    close(progress.bell);
    progress.bell = -1;
  }
  hcoll_requests_end();
}
