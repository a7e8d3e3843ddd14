/* The tree's job: one sharp_coll context per process, from MPI_COMM_WORLD's module to the component's close. It
 * exists only if the user wants the tree and MPI_COMM_WORLD spans enough hosts, because no other communicator can
 * span more. */
#include "job.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "client/tree/tree.h"
#include "hcoll.h"
#include "ompi/attribute/attribute.h"
#include "ompi/mca/rte/rte.h"
#include "ompi/runtime/mpiruntime.h"
#include "opal/runtime/opal_progress.h"
#include "sharp/api/sumac_ext.h"

/* In MPI_Finalize a member may be late, but not for long, because it has nothing left to compute. */
#define LEAVE_WAIT_MS 30000
#define ABORT_WAIT_MS 10000

struct leaving {
  struct sharp_coll_comm* group;
  void* request;
  struct leaving* next;
};

static struct {
  struct sharp_coll_context* context;
  struct hcoll_group_oob oob; /* libsharp_coll may call through it until the job has ended */
  uint64_t id;
  bool closing; /* MPI is being shut down, so it must not be called any more */
  struct leaving* leaving;
  bool progress_registered;
} job;
static pthread_mutex_t leaving_lock = PTHREAD_MUTEX_INITIALIZER;

bool hcoll_job_stands(void) { return NULL != job.context; }
struct sharp_coll_context* hcoll_job_context(void) {
  return job.context;
}

/* Rank 0 prints the reason and ends the job. The others wait to be ended with it and print nothing: they would
 * repeat the reason, or end the job before rank 0 has printed it. They go on only where rank 0 does not come here
 * because it lacks the component. */
void hcoll_abort(ompi_communicator_t* comm) {
  if (0 != ompi_comm_rank(comm)) {
    (void)poll(NULL, 0, ABORT_WAIT_MS);
  }
  HCOLL_SAY("SHArP: Fallback disabled, exiting..");
  ompi_mpi_abort(comm, 1);
  exit(1);
}

/* libsharp_coll calls this while it waits, so that messages of MPI advance whatever the collective waits for. Only
 * blocking calls wait, and the progress thread makes none. */
static int drive_mpi(void) {
  hcoll_drive_mpi(NULL);
  return 0;
}

/* The job ends while MPI is being shut down: an exchange that is asked for then returns an error. */
static int oob_bcast(void* context, void* buffer, int bytes, int root) {
  struct hcoll_group_oob* oob = context;
  if (job.closing) {
    return -1;
  }
  int rc = oob->bcast(buffer, bytes, &ompi_mpi_byte.dt, root, oob->comm, oob->bcast_module);
  return OMPI_SUCCESS == rc ? 0 : -1;
}

static int oob_barrier(void* context) {
  struct hcoll_group_oob* oob = context;
  return !job.closing && OMPI_SUCCESS == oob->barrier(oob->comm, oob->barrier_module) ? 0 : -1;
}

static int oob_gather(void* context, int root, void* sbuf, void* rbuf, int bytes) {
  struct hcoll_group_oob* oob = context;
  if (job.closing) {
    return -1;
  }
  int rc =
      oob->gather(sbuf, bytes, &ompi_mpi_byte.dt, rbuf, bytes, &ompi_mpi_byte.dt, root, oob->comm, oob->gather_module);
  return OMPI_SUCCESS == rc ? 0 : -1;
}

static const struct sharp_coll_out_of_band_colls oob_colls = {
    .bcast = oob_bcast,
    .barrier = oob_barrier,
    .gather = oob_gather,
};

/* MPI_Finalize deletes MPI_COMM_SELF's attributes before anything else: this is the last moment at which all of MPI
 * works. */
static int at_finalize(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)extra;
  hcoll_tally_print(value, job.id);
  return MPI_SUCCESS;
}

/* A duplicate of MPI_COMM_SELF does not get the attribute. */
static int not_copied(ompi_communicator_t* comm, int key, void* extra, void* in, void* out, int* flag,
                      ompi_communicator_t* made) {
  (void)comm, (void)key, (void)extra, (void)in, (void)out, (void)made;
  *flag = 0;
  return MPI_SUCCESS;
}

static int watch_finalize(hcoll_module_t* world) {
  ompi_attribute_fn_ptr_union_t copy = {.attr_communicator_copy_fn = not_copied};
  ompi_attribute_fn_ptr_union_t drop = {.attr_communicator_delete_fn = at_finalize};
  int key = MPI_KEYVAL_INVALID;
  int rc = ompi_attr_create_keyval(COMM_ATTR, copy, drop, &key, NULL, 0, NULL);
  if (OMPI_SUCCESS != rc) {
    return rc;
  }
  ompi_communicator_t* self = &ompi_mpi_comm_self.comm;
  rc = ompi_attr_set_c(COMM_ATTR, self, &self->c_keyhash, key, world, false);
  /* The attribute itself keeps the key alive. */
  int freed = ompi_attr_free_keyval(COMM_ATTR, &key, false);
  return OMPI_SUCCESS != rc ? rc : freed;
}

/* Rank 0 draws a random id, because MPI's own job numbers repeat from one launcher to the next. */
static int agree_on_id(struct hcoll_group_oob* oob) {
  uint64_t id = 0;
  if (0 == ompi_comm_rank(oob->comm)) {
    if (sizeof(id) != getrandom(&id, sizeof(id), 0)) {
      return OMPI_ERROR;
    }
    id = id >> 1 | 1; /* positive however it is printed, and never 0 */
  }
  int rc = oob_colls.bcast(oob, &id, sizeof(id), 0);
  job.id = id;
  return rc < 0 ? OMPI_ERROR : OMPI_SUCCESS;
}

/* Returns this process's index among its host's leaders, if it is or may be one: the index of its socket, or of
 * itself, on the host. */
static int find_channel(const hcoll_module_t* world, int* channel) {
  *channel = 0;
  int leaders = sumac_team_options_leaders(mca_coll_hcoll_component.options);
  if (SUMAC_LEADERS_OF_HOSTS == leaders) {
    return OMPI_SUCCESS;
  }
  sumac_place_t* places = malloc(sizeof(*places) * (size_t)world->size);
  int rc = NULL == places ? OMPI_ERR_OUT_OF_RESOURCE : hcoll_presence_places(world->comm, places);
  if (OMPI_SUCCESS != rc) {
    free(places);
    return rc;
  }
  const sumac_place_t* mine = &places[world->rank];
  for (int rank = 0; rank < world->size; ++rank) {
    if (places[rank].host != mine->host) {
      continue;
    }
    bool before_me = SUMAC_LEADERS_ALL == leaders ? rank < world->rank : places[rank].socket < mine->socket;
    for (int other = 0; before_me && SUMAC_LEADERS_OF_SOCKETS == leaders && other < rank; ++other) {
      before_me = places[other].host != mine->host || places[other].socket != places[rank].socket;
    }
    *channel += before_me;
  }
  free(places);
  return OMPI_SUCCESS;
}

static int begin(int channel, struct hcoll_group_oob* oob) {
  const struct hcoll_settings* settings = &mca_coll_hcoll_component.settings;
  struct sharp_coll_init_spec spec;
  memset(&spec, 0, sizeof(spec));
  spec.job_id = job.id;
  spec.world_rank = ompi_comm_rank(oob->comm);
  spec.world_size = ompi_comm_size(oob->comm);
  spec.progress_func = drive_mpi;
  spec.config.ib_dev_list = settings->devices;
  spec.config.user_progress_num_polls = settings->polls;
  spec.config.coll_timeout = -1;
  spec.oob_colls = oob_colls;
  spec.oob_ctx = oob;
  spec.group_channel_idx = channel;
  spec.world_local_rank = ompi_process_info.my_local_rank;
  spec.enable_thread_support = ompi_mpi_thread_multiple || settings->progress_thread;
  return sharp_coll_init(&spec, &job.context);
}

static void say_refused(hcoll_module_t* world, int status) {
  bool first = 0 == ompi_comm_rank(world->comm);
  if (first) {
    HCOLL_SAY("Failed to initialize SHArP collectives:%s(%d)  job ID:%" PRIu64, sharp_coll_strerror(status), status,
              job.id);
  }
  if (mca_coll_hcoll_component.settings.level >= HCOLL_FORCE) {
    hcoll_abort(world->comm);
  }
  if (first) {
    HCOLL_SAY("SHArP: continuing without sharp (HCOLL_ENABLE_SHARP=1: use it if it is there)");
  }
}

int hcoll_job_begin(hcoll_module_t* world) {
  int rc = watch_finalize(world);
  if (OMPI_SUCCESS != rc || !hcoll_tree_wanted() || world->hosts < mca_coll_hcoll_component.settings.hosts_min) {
    return rc;
  }
  job.oob = (struct hcoll_group_oob){
      world->comm,       world->next.bcast_module, world->next.barrier_module, world->next.gather_module,
      world->next.bcast, world->next.barrier,      world->next.gather};
  int channel;
  rc = find_channel(world, &channel);
  if (OMPI_SUCCESS == rc) {
    rc = agree_on_id(&job.oob);
  }
  if (OMPI_SUCCESS != rc) {
    return rc;
  }
  int status = begin(channel, &job.oob);
  if (status < 0) {
    job.context = NULL;
    say_refused(world, status);
  }
  return OMPI_SUCCESS;
}

int hcoll_group_make(struct hcoll_group_oob* oob, struct sharp_coll_comm** group_p) {
  struct sharp_coll_comm_init_spec spec;
  memset(&spec, 0, sizeof(spec));
  spec.rank = ompi_comm_rank(oob->comm);
  spec.size = ompi_comm_size(oob->comm);
  spec.oob_ctx = oob;
  return sharp_coll_comm_init(job.context, &spec, group_p);
}

void hcoll_group_limits(struct sharp_coll_comm* group, int64_t* limits) {
  const struct hcoll_settings* settings = &mca_coll_hcoll_component.settings;
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

/* Registered in MPI's progress only while a group is leaving, so that a program that frees no communicator has no
 * cost. */
static int progress_leaving(void) {
  if (0 != pthread_mutex_trylock(&leaving_lock)) {
    return 0;
  }
  int done = reap();
  if (NULL == job.leaving && job.progress_registered) {
    opal_progress_unregister(progress_leaving);
    job.progress_registered = false;
  }
  pthread_mutex_unlock(&leaving_lock);
  return done;
}

void hcoll_group_leave(struct sharp_coll_comm* group) {
  struct leaving* one = calloc(1, sizeof(*one));
  if (NULL == one) {
    HCOLL_SAY("SHArP: out of memory: a group is not left");
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
  if (!job.progress_registered && !job.closing) {
    job.progress_registered = OPAL_SUCCESS == opal_progress_register_lp(progress_leaving);
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
  int64_t deadline = now_ms() + LEAVE_WAIT_MS;
  for (;;) {
    pthread_mutex_lock(&leaving_lock);
    reap();
    bool all = NULL == job.leaving;
    pthread_mutex_unlock(&leaving_lock);
    if (all) {
      return;
    }
    if (now_ms() > deadline) {
      HCOLL_SAY("SHArP: a group was not left by all its members in %d s: ending the job all the same",
                LEAVE_WAIT_MS / 1000);
      return;
    }
    sleep_until_something_happens(10);
  }
}

void hcoll_job_end(void) {
  job.closing = true;
  hcoll_drive_mpi_never_again();
  if (NULL == job.context) {
    return;
  }
  if (job.progress_registered) {
    opal_progress_unregister(progress_leaving);
    job.progress_registered = false;
  }
  wait_for_leaves();
  sharp_coll_finalize(job.context);
  job.context = NULL;
}
