/* Open MPI's side of the tree's job: its communicators as src/rank sees them, its progress, and the moment at
 * which MPI_Finalize begins. */
#include "job.h"

#include "callers.h"
#include "ompi/attribute/attribute.h"
#include "ompi/mca/coll/base/coll_tags.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/runtime/mpiruntime.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/runtime/opal_progress.h"
#include "rank/binomial.h"
#include "rank/making.h"

/* The functions of a module's communicator. */
static int next_bcast(void* context, void* buffer, int bytes, int root) {
  hcoll_module_t* module = context;
  return module->next.bcast(buffer, bytes, &ompi_mpi_byte.dt, root, module->comm, module->next.bcast_module);
}

static int next_barrier(void* context) {
  hcoll_module_t* module = context;
  return module->next.barrier(module->comm, module->next.barrier_module);
}

static int next_gather(void* context, int root, void* in, void* out, int bytes) {
  hcoll_module_t* module = context;
  return module->next.gather(in, bytes, &ompi_mpi_byte.dt, out, bytes, &ompi_mpi_byte.dt, root, module->comm,
                             module->next.gather_module);
}

static int next_allreduce(hcoll_module_t* module, int64_t* values, int count, ompi_op_t* op) {
  return module->next.allreduce(MPI_IN_PLACE, values, count, &ompi_mpi_int64_t.dt, op, module->comm,
                                module->next.allreduce_module);
}

static int next_min(void* context, int64_t* values, int count) {
  return next_allreduce(context, values, count, &ompi_mpi_op_min.op);
}

static int next_sum(void* context, int64_t* values, int count) {
  return next_allreduce(context, values, count, &ompi_mpi_op_sum.op);
}

/* MPI_COMM_WORLD's ranks meet along one tree. Of the tags that Open MPI reserves for components of our name, across.c has the
 * first. */
#define TAG_START (MCA_COLL_BASE_TAG_HCOLL_BASE - 1)

static int world_send(void* context, const void* buffer, int bytes, int peer) {
  const hcoll_module_t* module = context;
  return MCA_PML_CALL(
      send(buffer, (size_t)bytes, &ompi_mpi_byte.dt, peer, TAG_START, MCA_PML_BASE_SEND_STANDARD, module->comm));
}

static int world_receive(void* context, void* buffer, int bytes, int peer) {
  const hcoll_module_t* module = context;
  return MCA_PML_CALL(recv(buffer, (size_t)bytes, &ompi_mpi_byte.dt, peer, TAG_START, module->comm, MPI_STATUS_IGNORE));
}

static struct sumac_messages world_messages(hcoll_module_t* world) {
  return (struct sumac_messages){.context = world,
                                 .rank = world->record.rank,
                                 .size = world->record.size,
                                 .send = world_send,
                                 .receive = world_receive};
}

static int world_bcast(void* context, void* buffer, int bytes, int root) {
  const struct sumac_messages ranks = world_messages(context);
  return 0 == root ? sumac_binomial_bcast(&ranks, buffer, bytes) : next_bcast(context, buffer, bytes, root);
}

static int world_gather(void* context, int root, void* in, void* out, int bytes) {
  const struct sumac_messages ranks = world_messages(context);
  return 0 == root ? sumac_binomial_gather(&ranks, in, out, bytes) : next_gather(context, root, in, out, bytes);
}

static void abort_communicator(void* context) { ompi_mpi_abort(context, 1); }
static void abort_module(void* context) { abort_communicator(((hcoll_module_t*)context)->comm); }

struct sumac_communicator hcoll_communicator(hcoll_module_t* module) {
  return (struct sumac_communicator){.context = module,
                                     .rank = module->record.rank,
                                     .size = module->record.size,
                                     .name = module->comm->c_name,
                                     .bcast = module->world ? world_bcast : next_bcast,
                                     .barrier = next_barrier,
                                     .gather = module->world ? world_gather : next_gather,
                                     .min = next_min,
                                     .sum = next_sum,
                                     .abort = abort_module};
}

/* The functions of a communicator of our own. */
static int own_bcast(void* context, void* buffer, int bytes, int root) {
  ompi_communicator_t* comm = context;
  return comm->c_coll->coll_bcast(buffer, bytes, &ompi_mpi_byte.dt, root, comm, comm->c_coll->coll_bcast_module);
}

static int own_gather(void* context, int root, void* in, void* out, int bytes) {
  ompi_communicator_t* comm = context;
  return comm->c_coll->coll_gather(in, bytes, &ompi_mpi_byte.dt, out, bytes, &ompi_mpi_byte.dt, root, comm,
                                   comm->c_coll->coll_gather_module);
}

struct sumac_communicator hcoll_communicator_of_ours(ompi_communicator_t* comm) {
  return (struct sumac_communicator){.context = comm,
                                     .rank = ompi_comm_rank(comm),
                                     .size = ompi_comm_size(comm),
                                     .name = comm->c_name,
                                     .bcast = own_bcast,
                                     .gather = own_gather};
}

void hcoll_abort(ompi_communicator_t* comm) {
  const struct sumac_communicator ended = {.context = comm, .rank = ompi_comm_rank(comm), .abort = abort_communicator};
  sumac_communicator_abort(&ended);
}

/* MPI_Finalize deletes MPI_COMM_SELF's attributes before anything else: this is the last moment at which all of MPI
 * works. */
static int at_finalize(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)extra;
  hcoll_module_t* world = value;
  if (!world->watches_only && hcoll_presence_reporting().last_line) {
    const struct sumac_communicator ranks = hcoll_communicator(world);
    sumac_records_tally(&hcoll_runtime, &ranks, true);
  } else if (sumac_job_stands()) {
    (void)next_barrier(world); /* a rank that is not here yet may still need ours */
  }
  sumac_makings_end();
  if (hcoll_watches()) {
    sumac_profile_end();
  }
  return MPI_SUCCESS;
}

int hcoll_finalize_watch(hcoll_module_t* world) {
  ompi_attribute_fn_ptr_union_t copy = {.attr_communicator_copy_fn = hcoll_series_not_copied};
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

/* Registered in MPI's progress only while a group is leaving, so that a program that frees no communicator has no
 * cost. */
void hcoll_watch_leaves(bool any) {
  static bool registered;
  if (any && !registered) {
    registered = OPAL_SUCCESS == opal_progress_register_lp(sumac_job_reap);
  } else if (!any && registered) {
    opal_progress_unregister(sumac_job_reap);
    registered = false;
  }
}

/* mpirun sets the parameter where it knows of more ranks than slots. */
bool hcoll_mpi_yields(void) {
  const bool* value = NULL;
  int which = mca_base_var_find("ompi", "mpi", NULL, "yield_when_idle");
  return which >= 0 && OPAL_SUCCESS == mca_base_var_get_value(which, &value, NULL, NULL) && NULL != value && *value;
}

int hcoll_job_begin(hcoll_module_t* world) {
  if (NULL == sumac_job_refusal(&hcoll.process.settings, world->record.hosts)) {
    /* Open MPI acts on mpi_yield_when_idle at the end of MPI_Init. The exchanges below are before it, and where ranks share
     * cores each of them would wait for the time slices of those that spin. */
    (void)opal_progress_set_yield_when_idle(hcoll_mpi_yields());
  }
  const struct sumac_communicator ranks = hcoll_communicator(world);
  return sumac_record_begin_job(&world->record, &ranks, hcoll_presence_reporting().job_id,
                                ompi_process_info.my_local_rank,
                                ompi_mpi_thread_multiple || hcoll.process.settings.progress_thread);
}

void hcoll_job_end(void) {
  hcoll_drive_mpi_never_again();
  sumac_job_end();
}
