/* A communicator's first collective. The group belongs to the first ranks of its hosts; everybody else must know whether it stands,
 * so one allreduce of the next module decides for all. Not in comm_query: MPI_Comm_idup asks for modules from inside progress, where
 * nothing may block. */
#include "hcoll.h"

#include <string.h>

static int oob_bcast(void* context, void* buffer, int bytes, int root) {
  struct hcoll_oob* oob = context;
  int rc = oob->next.bcast(buffer, bytes, &ompi_mpi_byte.dt, root, oob->comm, oob->next.bcast_module);
  return OMPI_SUCCESS == rc ? 0 : -1;
}

static int oob_barrier(void* context) {
  struct hcoll_oob* oob = context;
  int rc = oob->next.barrier(oob->comm, oob->next.barrier_module);
  return OMPI_SUCCESS == rc ? 0 : -1;
}

static int oob_gather(void* context, int root, void* sbuf, void* rbuf, int bytes) {
  struct hcoll_oob* oob = context;
  int rc = oob->next.gather(sbuf, bytes, &ompi_mpi_byte.dt, rbuf, bytes, &ompi_mpi_byte.dt, root, oob->comm,
                            oob->next.gather_module);
  return OMPI_SUCCESS == rc ? 0 : -1;
}

const struct sharp_coll_out_of_band_colls hcoll_oob_colls = {
    .bcast = oob_bcast,
    .barrier = oob_barrier,
    .gather = oob_gather,
};

/* A communicator that is ours alone must not start a group of its own. */
static void keep_from_tree(ompi_communicator_t* comm) {
  if (NULL != comm && MPI_COMM_NULL != comm && hcoll_allreduce == comm->c_coll->coll_allreduce) {
    hcoll_module_t* module = (hcoll_module_t*)comm->c_coll->coll_allreduce_module;
    module->internal = true;
    module->state = HCOLL_PASS;
  }
}

/* Several ranks on a host: one communicator inside it and one of the hosts' first ranks. */
static int cut_by_host(hcoll_module_t* module) {
  int rank = ompi_comm_rank(module->comm);
  ompi_communicator_t* made = NULL;
  int rc = ompi_comm_split_type(module->comm, MPI_COMM_TYPE_SHARED, rank, NULL, &made);
  if (OMPI_SUCCESS != rc) {
    return rc;
  }
  keep_from_tree(made);
  module->host_comm = made;
  module->leader = 0 == ompi_comm_rank(made);
  made = NULL;
  rc = ompi_comm_split(module->comm, module->leader ? 0 : MPI_UNDEFINED, rank, &made, false);
  if (OMPI_SUCCESS != rc) {
    return rc;
  }
  if (module->leader) {
    keep_from_tree(made);
    module->leaders_comm = made;
  }
  return OMPI_SUCCESS;
}

static void say_failed(hcoll_module_t* module, int status) {
  if (0 == ompi_comm_rank(module->comm)) {
    HCOLL_SAY("SHArP: sharp group create failed:%s(%d)", sharp_coll_strerror(status), status);
  }
  if (mca_coll_hcoll_component.settings.level >= HCOLL_FORCE_COMM) {
    hcoll_abort(module->comm);
  }
  if (0 == ompi_comm_rank(module->comm)) {
    HCOLL_SAY("SHArP: continuing without sharp on this communicator..");
  }
}

/* Largest allreduce for the tree: as set, else what the group can have in flight at once; streaming has no limit. */
static int64_t limit_of(struct sharp_coll_comm* group) {
  const struct hcoll_settings* settings = &mca_coll_hcoll_component.settings;
  if (HCOLL_FORCE_ALL == settings->level) {
    return INT64_MAX;
  }
  if (settings->allreduce_bytes_max >= 0) {
    return settings->allreduce_bytes_max;
  }
  struct sumac_comm_info info;
  memset(&info, 0, sizeof(info));
  info.struct_bytes = sizeof(info);
  if (0 != sumac_comm_query_info(group, &info)) {
    return 0;
  }
  return info.stream_window > 0 ? INT64_MAX : (int64_t)info.osts * info.payload_bytes;
}

static int make_group(hcoll_module_t* module) {
  ompi_communicator_t* comm = NULL != module->leaders_comm ? module->leaders_comm : module->comm;
  struct hcoll_oob oob = {comm, module->next};
  if (NULL != module->leaders_comm) {
    mca_coll_base_comm_coll_t* coll = comm->c_coll;
    oob.next.bcast = coll->coll_bcast;
    oob.next.bcast_module = coll->coll_bcast_module;
    oob.next.barrier = coll->coll_barrier;
    oob.next.barrier_module = coll->coll_barrier_module;
    oob.next.gather = coll->coll_gather;
    oob.next.gather_module = coll->coll_gather_module;
  }
  struct sharp_coll_comm_init_spec spec;
  memset(&spec, 0, sizeof(spec));
  spec.rank = ompi_comm_rank(comm);
  spec.size = ompi_comm_size(comm);
  spec.oob_ctx = &oob;
  return sharp_coll_comm_init(hcoll_job_context(), &spec, &module->group);
}

int hcoll_group_make(hcoll_module_t* module) {
  module->state = HCOLL_STARTING;
  module->leader = true;
  if (module->hosts < ompi_comm_size(module->comm)) {
    int rc = cut_by_host(module);
    if (OMPI_SUCCESS != rc) {
      return rc;
    }
  }
  /* status and limit travel together: the least of both holds for all. */
  int64_t mine[2] = {0, INT64_MAX}, agreed[2];
  if (module->leader) {
    mine[0] = make_group(module);
    if (mine[0] >= 0) {
      mine[0] = 0;
      mine[1] = limit_of(module->group);
    } else {
      module->group = NULL;
    }
  }
  int rc = module->next.allreduce(mine, agreed, 2, &ompi_mpi_int64_t.dt, &ompi_mpi_op_min.op, module->comm,
                                  module->next.allreduce_module);
  if (OMPI_SUCCESS != rc) {
    return rc;
  }
  module->bytes_max = agreed[1];
  module->state = agreed[0] < 0 ? HCOLL_PASS : HCOLL_GROUP;
  if (HCOLL_PASS == module->state) {
    if (NULL != module->group) {
      hcoll_job_leave(module->group);
      module->group = NULL;
    }
    say_failed(module, (int)agreed[0]);
  }
  return OMPI_SUCCESS;
}
