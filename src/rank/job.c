/* The tree's job: one sharp_coll context per process, from MPI_COMM_WORLD's first moment to the binding's last. It
 * exists only if the user wants the tree and MPI_COMM_WORLD spans enough hosts, because no other communicator can
 * span more. */
#include "rank/job.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "client/tree/tree.h"
#include "rank/say.h"
#include "sharp/api/sumac_ext.h"

/* In MPI_Finalize a member may be late, but not for long, because it has nothing left to compute. */
#define LEAVE_WAIT_MS 30000
#define LEAVE_SAY_MS 5000
/* A process that nobody needs waits only until its own Leave has reached the node. */
#define LEAVE_GO_MS 1000

struct leaving {
  struct sharp_coll_comm* group;
  void* request;
  struct leaving* next;
};

static struct {
  struct sharp_coll_context* context;
  struct sumac_communicator world; /* libsharp_coll may call through it until the job has ended */
  void (*progress)(void* context);
  void* progress_context;
  void (*watch_leaves)(bool any);
  bool can_go;
  void (*waits_long)(void* context);
  bool (*gives_up)(void* context);
  void* waits_context;
  int refused_with; /* libsharp_coll's status of the latest job that was refused */
  uint64_t id;
  bool closing; /* MPI is being shut down, so it must not be called any more */
  struct leaving* leaving;
} job;
static pthread_mutex_t leaving_lock = PTHREAD_MUTEX_INITIALIZER;

bool sumac_job_stands(void) { return NULL != job.context; }
const char* sumac_job_why_refused(void) { return sharp_coll_strerror(job.refused_with); }
struct sharp_coll_context* sumac_job_context(void) {
  return job.context;
}
uint64_t sumac_job_id(void) { return job.id; }

const char* sumac_job_refusal(const struct hcoll_settings* settings, int hosts) {
  if (HCOLL_OFF == settings->level) {
    return "HCOLL_ENABLE_SHARP=0";
  }
  return hosts < settings->hosts_min ? "fewer hosts than HCOLL_SHARP_NP asks for" : NULL;
}

bool sumac_job_serves(const struct hcoll_settings* settings, int hosts) {
  return hosts >= settings->hosts_min && sumac_job_stands();
}

/* libsharp_coll calls this while it waits, so that messages of MPI advance whatever the collective waits for. Only
 * blocking calls wait, and a progress thread makes none. */
static int drive_mpi(void) {
  job.progress(job.progress_context);
  return 0;
}

/* The job ends while MPI is being shut down: an exchange that is asked for then returns an error. */
static int oob_bcast(void* context, void* buffer, int bytes, int root) {
  const struct sumac_communicator* comm = context;
  return !job.closing && 0 == comm->bcast(comm->context, buffer, bytes, root) ? 0 : -1;
}

static int oob_barrier(void* context) {
  const struct sumac_communicator* comm = context;
  return !job.closing && 0 == comm->barrier(comm->context) ? 0 : -1;
}

static int oob_gather(void* context, int root, void* in, void* out, int bytes) {
  const struct sumac_communicator* comm = context;
  return !job.closing && 0 == comm->gather(comm->context, root, in, out, bytes) ? 0 : -1;
}

static const struct sharp_coll_out_of_band_colls oob_colls = {
    .bcast = oob_bcast,
    .barrier = oob_barrier,
    .gather = oob_gather,
};

uint64_t sumac_job_draw_id(void) {
  uint64_t id = 0;
  if (sizeof(id) != getrandom(&id, sizeof(id), 0)) {
    return 0;
  }
  return id >> 1 | 1; /* positive however it is printed, and never 0 */
}

/* Returns this process's index among its host's leaders, if it is or may be one: the number of its domain, or of
 * itself, on the host. */
static int find_channel(const struct sumac_job_spec* spec) {
  int channel = 0, leaders = sumac_team_options_leaders(spec->options), me = spec->world.rank;
  if (SUMAC_LEADERS_OF_DOMAINS == leaders) {
    (void)sumac_team_domains(spec->places, spec->world.size, me, &channel);
  } else if (SUMAC_LEADERS_ALL == leaders) {
    for (int rank = 0; rank < me; ++rank) {
      channel += spec->places[rank].host == spec->places[me].host;
    }
  }
  return channel;
}

static int begin(const struct sumac_job_spec* given) {
  struct sharp_coll_init_spec spec;
  memset(&spec, 0, sizeof(spec));
  spec.job_id = job.id;
  spec.world_rank = given->world.rank;
  spec.world_size = given->world.size;
  spec.progress_func = drive_mpi;
  spec.config.ib_dev_list = given->settings->devices;
  spec.config.user_progress_num_polls = given->settings->polls;
  spec.config.coll_timeout = -1;
  spec.oob_colls = oob_colls;
  spec.oob_ctx = &job.world;
  spec.group_channel_idx = find_channel(given);
  spec.world_local_rank = given->local_rank;
  spec.enable_thread_support = given->threads;
  sumac_tree_has_team();
  return sharp_coll_init(&spec, &job.context);
}

static void say_refused(const struct hcoll_settings* settings, int status) {
  bool first = 0 == job.world.rank;
  if (first) {
    SUMAC_SAY("Failed to initialize SHArP collectives:%s(%d)  job ID:%" PRIu64, sharp_coll_strerror(status), status,
              job.id);
  }
  if (settings->level >= HCOLL_FORCE) {
    if (NULL == job.world.abort) {
      return; /* the caller sees that there is no job, and ends by its own means */
    }
    sumac_communicator_abort(&job.world);
  }
  if (first) {
    SUMAC_SAY("SHArP: continuing without sharp (HCOLL_ENABLE_SHARP=1: use it if it is there)");
  }
}

int sumac_job_begin(const struct sumac_job_spec* spec) {
  job.world = spec->world;
  job.closing = false; /* an earlier job of this process may have ended */
  job.progress = spec->progress;
  job.progress_context = spec->progress_context;
  job.watch_leaves = spec->watch_leaves;
  job.can_go = spec->can_go;
  job.waits_long = spec->waits_long;
  job.gives_up = spec->gives_up;
  job.waits_context = spec->waits_context;
  job.id = spec->id;
  if (0 == job.id) {
    return -1;
  }
  int status = begin(spec);
  if (status < 0) {
    job.context = NULL;
    job.refused_with = status;
    say_refused(spec->settings, status);
  }
  return 0;
}

int sumac_group_make(const struct sumac_communicator* leaders, struct sharp_coll_comm** group_p) {
  struct sharp_coll_comm_init_spec spec;
  memset(&spec, 0, sizeof(spec));
  spec.rank = leaders->rank;
  spec.size = leaders->size;
  spec.oob_ctx = (void*)leaders; /* the functions above only read it */
  int status = sharp_coll_comm_init(job.context, &spec, group_p);
  if (status < 0) {
    *group_p = NULL;
  }
  return status;
}

void sumac_group_limits(const struct hcoll_settings* settings, struct sharp_coll_comm* group, int64_t* limits) {
  sumac_tree_limits(group, limits, SUMAC_COLLS);
  for (int coll = 0; HCOLL_FORCE_ALL == settings->level && coll < SUMAC_COLLS; ++coll) {
    limits[coll] = limits[coll] < 0 ? limits[coll] : INT64_MAX;
  }
  if (HCOLL_FORCE_ALL != settings->level && settings->allreduce_bytes_max >= 0) {
    limits[SUMAC_COLL_ALLREDUCE] = settings->allreduce_bytes_max;
  }
}

/* Unlinks and frees the groups that have left. Called with the lock held. */
static int reap(void) {
  int done = 0;
  for (struct leaving** at = &job.leaving; NULL != *at;) {
    struct leaving* one = *at;
    if (NULL != one->request && 0 == sumac_req_status(one->request, NULL, 0)) {
      at = &one->next;
      continue;
    }
    if (NULL != one->request) {
      sharp_coll_req_free(one->request);
    }
    sharp_coll_comm_destroy(one->group);
    *at = one->next;
    free(one);
    ++done;
  }
  return done;
}

/* Called with the lock held, or by the only thread left. */
static void watch_leaves(bool any) {
  if (NULL != job.watch_leaves) {
    job.watch_leaves(any);
  }
}

int sumac_job_reap(void) {
  if (0 != pthread_mutex_trylock(&leaving_lock)) {
    return 0;
  }
  int done = reap();
  if (NULL == job.leaving) {
    watch_leaves(false);
  }
  pthread_mutex_unlock(&leaving_lock);
  return done;
}

void sumac_group_leave(struct sharp_coll_comm* group) {
  struct leaving* one = calloc(1, sizeof(*one));
  if (NULL == one) {
    SUMAC_SAY("SHArP: out of memory: a group is not left");
    return;
  }
  one->group = group;
  int status = sumac_comm_leave_nb(group, &one->request);
  if (status < 0) {
    one->request = NULL; /* there is nothing to wait for: the tree is gone, or the group never existed */
  }
  pthread_mutex_lock(&leaving_lock);
  one->next = job.leaving;
  job.leaving = one;
  if (!job.closing) {
    watch_leaves(true);
  }
  pthread_mutex_unlock(&leaving_lock);
}

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void sleep_until_something_happens(int ms) {
  struct pollfd fd = {.fd = sumac_coll_wait_fd(job.context), .events = POLLIN};
  if (1 == sumac_coll_arm(job.context)) {
    (void)poll(&fd, 1, ms); /* the caller looks again in any case */
  }
}

static void wait_for_leaves(void) {
  int64_t began = now_ms();
  bool has_said = NULL == job.waits_long;
  for (;;) {
    pthread_mutex_lock(&leaving_lock);
    reap();
    bool all = NULL == job.leaving;
    pthread_mutex_unlock(&leaving_lock);
    if (all) {
      return;
    }
    int64_t waited = now_ms() - began;
    if (job.can_go && waited > LEAVE_GO_MS) {
      return;
    }
    if (!has_said && waited > LEAVE_SAY_MS) {
      job.waits_long(job.waits_context);
      has_said = true;
    }
    if (NULL != job.gives_up && job.gives_up(job.waits_context)) {
      return;
    }
    if (waited > LEAVE_WAIT_MS) {
      SUMAC_SAY("SHArP: a group was not left by all its members in %d s: ending the job all the same",
                LEAVE_WAIT_MS / 1000);
      return;
    }
    sleep_until_something_happens(10);
  }
}

/* Groups that not all members have left end with the job: the next one must not ask for them. */
static void forget_leaves(void) {
  pthread_mutex_lock(&leaving_lock);
  while (NULL != job.leaving) {
    struct leaving* one = job.leaving;
    job.leaving = one->next;
    free(one);
  }
  pthread_mutex_unlock(&leaving_lock);
}

void sumac_job_end(void) {
  job.closing = true;
  if (NULL == job.context) {
    return;
  }
  watch_leaves(false);
  wait_for_leaves();
  forget_leaves();
  sharp_coll_finalize(job.context);
  job.context = NULL;
}
