/* Which communicators get a module, and what was there before it. */
#include "hcoll.h"

#include <stdlib.h>

static void construct(hcoll_module_t* module) {
  module->comm = NULL;
  memset(&module->next, 0, sizeof(module->next));
  module->state = HCOLL_FRESH;
  module->world = module->internal = module->leader = module->broken = false;
  module->hosts = 0;
  module->host_comm = module->leaders_comm = NULL;
  module->group = NULL;
  module->bytes_max = 0;
  memset(&module->tally, 0, sizeof(module->tally));
}

static void release(mca_coll_base_module_t** module) {
  if (NULL != *module) {
    OBJ_RELEASE(*module);
    *module = NULL;
  }
}

static void destruct(hcoll_module_t* module) {
  /* Local: Leave is only posted, nobody is waited for. */
  if (NULL != module->group) {
    hcoll_job_leave(module->group);
    module->group = NULL;
  }
  if (NULL != module->comm) {
    hcoll_tally_delist(module);
  }
  if (NULL != module->host_comm) {
    ompi_comm_free(&module->host_comm);
  }
  if (NULL != module->leaders_comm) {
    ompi_comm_free(&module->leaders_comm);
  }
  release(&module->next.allreduce_module);
  release(&module->next.barrier_module);
  release(&module->next.bcast_module);
  release(&module->next.gather_module);
}

OBJ_CLASS_INSTANCE(hcoll_module_t, mca_coll_base_module_t, construct, destruct);

static int enable(mca_coll_base_module_t* base, struct ompi_communicator_t* comm) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  mca_coll_base_comm_coll_t* coll = comm->c_coll;
  if (NULL == coll->coll_allreduce || NULL == coll->coll_barrier || NULL == coll->coll_bcast ||
      NULL == coll->coll_gather) {
    return OMPI_ERR_NOT_FOUND;
  }
#define SAVE(name)                                           \
  do {                                                       \
    module->next.name = coll->coll_##name;                   \
    module->next.name##_module = coll->coll_##name##_module; \
    OBJ_RETAIN(module->next.name##_module);                  \
  } while (0)
  SAVE(allreduce);
  SAVE(barrier);
  SAVE(bcast);
  SAVE(gather);
#undef SAVE
  module->comm = comm;
  if (module->world) {
    int rc = hcoll_job_begin(module);
    if (OMPI_SUCCESS != rc) {
      return rc; /* at all ranks alike: MPI_COMM_WORLD and all that follow keep the next module */
    }
  }
  hcoll_tally_enlist(module);
  return OMPI_SUCCESS;
}

/* MPI_COMM_WORLD is where "must be there" is decided; a later communicator can only lack us with processes that came later. */
static void refuse_world(ompi_communicator_t* comm, const struct hcoll_shape* shape) {
  /* Rank 0 tells people; if it is the one that lacks the component, its neighbour does. */
  if ((0 == shape->absent_rank ? 1 : 0) == ompi_comm_rank(comm)) {
    HCOLL_SAY(
        "SHArP: rank %d %s: every rank needs the component (--mca mca_base_component_path) and the same HCOLL_* "
        "variables",
        shape->absent_rank, shape->why);
  }
  if (mca_coll_hcoll_component.settings.level >= HCOLL_FORCE) {
    hcoll_abort(comm);
  }
}

mca_coll_base_module_t* hcoll_comm_query(struct ompi_communicator_t* comm, int* priority) {
  bool world = comm == &ompi_mpi_comm_world.comm;
  if (!hcoll_on() || OMPI_COMM_IS_INTER(comm) || ompi_comm_size(comm) < mca_coll_hcoll_component.np) {
    return NULL;
  }
  if (world ? hcoll_job_failed() : NULL == hcoll_job_context()) {
    return NULL;
  }
  if (ompi_comm_size(comm) < 2 && !world) {
    return NULL; /* nobody to talk to */
  }
  struct hcoll_shape shape;
  if (OMPI_SUCCESS != hcoll_presence_of(comm, &shape)) {
    return NULL;
  }
  if (!shape.all_present) {
    if (world) {
      refuse_world(comm, &shape);
    }
    return NULL;
  }
  if (shape.hosts < mca_coll_hcoll_component.settings.hosts_min && !world) {
    return NULL;
  }
  hcoll_module_t* module = OBJ_NEW(hcoll_module_t);
  if (NULL == module) {
    return NULL;
  }
  module->world = world;
  module->hosts = shape.hosts;
  if (shape.hosts < mca_coll_hcoll_component.settings.hosts_min) {
    module->state = HCOLL_PASS; /* MPI_COMM_WORLD only: it still holds the job for the others */
    module->internal = true;
  }
  module->super.coll_module_enable = enable;
  module->super.coll_barrier = hcoll_barrier;
  module->super.coll_allreduce = hcoll_allreduce;
  *priority = mca_coll_hcoll_component.priority;
  return &module->super;
}
