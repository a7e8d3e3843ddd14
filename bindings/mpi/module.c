/* Decides which communicators get a module, and keeps the modules that were selected before. */
#include "hcoll.h"

#include <stdio.h>
#include <stdlib.h>

#include "callers.h"
#include "job.h"
#include "rank/worth.h"

static void construct(hcoll_module_t* module) {
  char* own = (char*)module + sizeof(module->super);
  memset(own, 0, sizeof(*module) - sizeof(module->super));
  module->record.runtime = &hcoll_runtime;
  module->record.life = SUMAC_LIFE_FRESH;
}

static void release(mca_coll_base_module_t** module) {
  if (NULL != *module) {
    OBJ_RELEASE(*module);
    *module = NULL;
  }
}

/* Ends what this communicator has in the process. It is local: it waits for no other rank. */
static void end(hcoll_module_t* module) {
  if (NULL == module->comm || module->ended) {
    return;
  }
  module->ended = true;
  sumac_record_delist(&module->record);
  sumac_record_end(&module->record);
}

/* Open MPI calls this when the communicator ends, once for each function that it had from us. The team ends here and not
 * with the module, because another component may hold the module for ever. Components that are disabled after this one may
 * still call us: such a call is the next module's. */
static int disable(mca_coll_base_module_t* base, struct ompi_communicator_t* comm) {
  (void)comm;
  end((hcoll_module_t*)base);
  return OMPI_SUCCESS;
}

static void destruct(hcoll_module_t* module) {
  end(module); /* an Open MPI that disables no module comes here alone */
#define RELEASE(name)                      \
  release(&module->next.name##_module);    \
  release(&module->next.i##name##_module); \
  release(&module->next.name##_init_module);
  HCOLL_EACH_COLL(RELEASE)
  HCOLL_EACH_LEFT(RELEASE)
#undef RELEASE
}

OBJ_CLASS_INSTANCE(hcoll_module_t, mca_coll_base_module_t, construct, destruct);

/* A function that no module offered before us is not offered either: a call could not be passed on. */
#define SAVE_ONE(name)                                         \
  do {                                                         \
    if (NULL != coll->coll_##name) {                           \
      module->next.name = coll->coll_##name;                   \
      module->next.name##_module = coll->coll_##name##_module; \
      OBJ_RETAIN(module->next.name##_module);                  \
    } else {                                                   \
      module->super.coll_##name = NULL;                        \
    }                                                          \
  } while (0);
#define SAVE(name)  \
  SAVE_ONE(name)    \
  SAVE_ONE(i##name) \
  SAVE_ONE(name##_init)

static int begin_world(hcoll_module_t* world) {
  const struct hcoll_reporting reporting = hcoll_presence_reporting();
  hcoll_runtime.asked = reporting.asked;
  const bool may_have_job = !world->watches_only && hcoll_tree_wanted();
  int rc = reporting.last_line || hcoll_watches() || may_have_job ? hcoll_finalize_watch(world) : OMPI_SUCCESS;
  if (OMPI_SUCCESS == rc && !world->watches_only) {
    rc = hcoll_job_begin(world); /* without the tree we go on: shared memory needs no daemon */
    /* MPI_Init may block, so this team also serves programs that never block. A program that did not ask for us has it at
     * its first blocking collective, because it may have none: then MPI_Init must cost it nothing. */
    if (OMPI_SUCCESS == rc && reporting.asked && 1 == world->record.hosts && !sumac_job_stands()) {
      rc = hcoll_attach_first(world);
    }
  }
  if (OMPI_SUCCESS == rc && hcoll_watches()) {
    hcoll_watch_begin(world);
  }
  return rc;
}

static int enable(mca_coll_base_module_t* base, struct ompi_communicator_t* comm) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  mca_coll_base_comm_coll_t* coll = comm->c_coll;
  if (NULL == coll->coll_allreduce || NULL == coll->coll_barrier || NULL == coll->coll_bcast ||
      NULL == coll->coll_allgather || NULL == coll->coll_gather) {
    return OMPI_ERR_NOT_FOUND; /* making a team needs these */
  }
  HCOLL_EACH_COLL(SAVE)
  if (hcoll_watches()) {
    HCOLL_EACH_LEFT(SAVE)
  }
  module->comm = comm;
  module->record.rank = ompi_comm_rank(comm);
  module->record.size = ompi_comm_size(comm);
  int rc = module->world ? begin_world(module) : OMPI_SUCCESS;
  module->record.spared = sumac_calls_before_team(&hcoll.process.settings, module->record.hosts, module->world);
  if (OMPI_SUCCESS == rc) {
    module->record.is_counted = 0 == module->record.rank && !module->internal && !module->watches_only;
    sumac_record_enlist(&module->record);
  }
  return rc;
}

/* HCOLL_ENABLE_SHARP's "must be there" is decided at MPI_COMM_WORLD; in a later communicator only processes that
 * came later can lack us. */
static void refuse_world(ompi_communicator_t* comm, const struct hcoll_shape* shape) {
  /* Rank 0 tells the user; if rank 0 lacks the component, rank 1 does. */
  if ((0 == shape->absent_rank ? 1 : 0) == ompi_comm_rank(comm) && sumac_say_warns()) {
    SUMAC_SAY(
        "SHArP: rank %d %s: every rank needs the component (--mca mca_base_component_path) and the same HCOLL_* "
        "variables",
        shape->absent_rank, shape->why);
  }
  if (hcoll.process.settings.level >= HCOLL_FORCE) {
    hcoll_abort(comm);
  }
}

/* Chooses the rank that prints for a communicator: rank 0. For an intercommunicator it is rank 0 of the group with
 * the lower name. For MPI_COMM_SELF, of which each process has one, it is MPI_COMM_WORLD's rank 0. */
static bool speaks_for(ompi_communicator_t* comm) {
  if (0 != ompi_comm_rank(comm)) {
    return false;
  }
  if (comm == &ompi_mpi_comm_self.comm) {
    return 0 == OMPI_PROC_MY_NAME->vpid;
  }
  if (!OMPI_COMM_IS_INTER(comm)) {
    return true;
  }
  const opal_process_name_t *mine = OMPI_PROC_MY_NAME, *theirs = &ompi_comm_peer_lookup(comm, 0)->super.proc_name;
  return mine->jobid != theirs->jobid ? mine->jobid < theirs->jobid : mine->vpid < theirs->vpid;
}

/* Its calls are the next module's, and nobody counts them. */
static void leave_alone(hcoll_module_t* module) {
  module->internal = true;
  module->record.is_counted = false;
  module->record.life = SUMAC_LIFE_PASS;
}

static hcoll_module_t* new_module(ompi_communicator_t* comm, int hosts) {
  hcoll_module_t* module = OBJ_NEW(hcoll_module_t);
  if (NULL == module) {
    return NULL;
  }
  module->world = comm == &ompi_mpi_comm_world.comm;
  module->record.hosts = hosts;
  if (hcoll_making_ours) {
    leave_alone(module);
  }
  module->super.coll_module_enable = enable;
  module->super.coll_module_disable = disable;
  hcoll_offer(&module->super);
  return module;
}

/* Leaves the communicator to the modules that were selected before; then it has a module of ours only if its calls are to
 * be counted. Each rank may decide this for itself, because such a module sends nothing. */
static mca_coll_base_module_t* watch_only(ompi_communicator_t* comm, int hosts, int* priority) {
  hcoll_module_t* module = hcoll_watches() && !hcoll_making_ours ? new_module(comm, hosts) : NULL;
  if (NULL == module) {
    return NULL;
  }
  module->watches_only = true;
  module->record.life = SUMAC_LIFE_PASS;
  *priority = hcoll.priority;
  return &module->super;
}

static void explain_leaving(ompi_communicator_t* comm, const char* why) {
  if (!hcoll_making_ours && speaks_for(comm)) {
    hcoll_explain_none(comm, why);
  }
}

static void refuse_absent(ompi_communicator_t* comm, const struct hcoll_shape* shape) {
  if (comm == &ompi_mpi_comm_world.comm) {
    refuse_world(comm, shape);
  }
  int speaker = 0 == shape->absent_rank && shape->is_mute ? 1 : 0;
  if (speaker == ompi_comm_rank(comm)) {
    char why[160];
    snprintf(why, sizeof(why), "rank %d %s", shape->absent_rank, shape->why);
    hcoll_explain_none(comm, why);
  }
}

static void leave_group_alone(ompi_communicator_t* comm) {
  mca_coll_base_module_t* base = comm->c_coll->coll_barrier_module;
  if (OBJ_CLASS(hcoll_module_t) == base->super.obj_class) {
    leave_alone((hcoll_module_t*)base);
  }
}

mca_coll_base_module_t* hcoll_comm_query(struct ompi_communicator_t* comm, int* priority) {
  if (!hcoll_on()) {
    return NULL;
  }
  bool world = comm == &ompi_mpi_comm_world.comm;
  int size = ompi_comm_size(comm), np = hcoll.np;
  if (OMPI_COMM_IS_INTER(comm)) {
    /* Open MPI 4.1 duplicates an intercommunicator by nonblocking collectives of its local group, started from
     * inside progress. Two at once start them in an order that differs from rank to rank. Open MPI's own collectives
     * mostly tolerate that; a team cannot. */
    leave_group_alone(comm->c_local_comm);
    explain_leaving(comm, "it is an intercommunicator");
    return watch_only(comm, 0, priority);
  }
  if (size < 2 && (size < np || !(world && hcoll_tree_wanted()))) {
    explain_leaving(comm, "nobody to talk to");
    return NULL;
  }
  if (size < np) {
    explain_leaving(comm, "fewer ranks than coll_hcoll_np asks for");
    if (!hcoll_watches()) {
      return NULL; /* without looking anybody up */
    }
  }
  struct hcoll_shape shape;
  if (OMPI_SUCCESS != hcoll_presence_of(comm, &shape)) {
    return NULL;
  }
  if (size < np) {
    return shape.hosts > 0 ? watch_only(comm, shape.hosts, priority) : NULL;
  }
  if (0 == shape.hosts) {
    refuse_absent(comm, &shape);
    return world ? NULL : watch_only(comm, 0, priority);
  }
  hcoll_module_t* module = new_module(comm, shape.hosts);
  if (NULL == module) {
    return NULL;
  }
  *priority = hcoll.priority;
  return &module->super;
}
