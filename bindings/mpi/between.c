/* Open MPI's functions between hosts (rank/across.h): its nonblocking collectives on the leaders' communicator, and messages on
 * the program's communicator, with tags that Open MPI reserves for components of our name. */
#include "rank/across.h"

#include "job.h"
#include "ompi/mca/coll/base/coll_tags.h"
#include "ompi/mca/pml/pml.h"

#define TAG_DIRECT MCA_COLL_BASE_TAG_HCOLL_BASE

static ompi_communicator_t* of(uintptr_t comm) { return (ompi_communicator_t*)comm; }
static ompi_datatype_t* const byte = &ompi_mpi_byte.dt;

/* A function of the leaders' communicator; its last arguments follow. */
#define BY(comm, function, ...) \
  of(comm)->c_coll->coll_##function(__VA_ARGS__, of(comm), request, of(comm)->c_coll->coll_##function##_module)

static int ibarrier(uintptr_t comm, void* request) {
  return of(comm)->c_coll->coll_ibarrier(of(comm), request, of(comm)->c_coll->coll_ibarrier_module);
}
static int iallreduce(uintptr_t comm, void* data, int count, uintptr_t type, uintptr_t op, void* request) {
  return BY(comm, iallreduce, MPI_IN_PLACE, data, count, (ompi_datatype_t*)type, (ompi_op_t*)op);
}
static int ireduce(uintptr_t comm, const void* in, void* out, int count, uintptr_t type, uintptr_t op, int root,
                   void* request) {
  return BY(comm, ireduce, in, out, count, (ompi_datatype_t*)type, (ompi_op_t*)op, root);
}
static int ibcast(uintptr_t comm, void* data, int bytes, int root, void* request) {
  return BY(comm, ibcast, data, bytes, byte, root);
}
static int iallgatherv(uintptr_t comm, void* data, const int* counts, const int* displacements, void* request) {
  return BY(comm, iallgatherv, MPI_IN_PLACE, 0, byte, data, counts, displacements, byte);
}
static int ialltoallv(uintptr_t comm, const void* in, const int* in_counts, const int* in_displacements, void* out,
                      const int* out_counts, const int* out_displacements, void* request) {
  return BY(comm, ialltoallv, in, in_counts, in_displacements, byte, out, out_counts, out_displacements, byte);
}
static int isend(uintptr_t comm, const void* data, int bytes, int peer, void* request) {
  return MCA_PML_CALL(
      isend(data, (size_t)bytes, byte, peer, TAG_DIRECT, MCA_PML_BASE_SEND_STANDARD, of(comm), request));
}
static int irecv(uintptr_t comm, void* data, int bytes, int peer, void* request) {
  return MCA_PML_CALL(irecv(data, (size_t)bytes, byte, peer, TAG_DIRECT, of(comm), request));
}
static int test(int count, void* requests, int* done) {
  return ompi_request_test_all((size_t)count, requests, done, MPI_STATUSES_IGNORE);
}

/* Our own communicator lives until its owner's team goes. MPI_Finalize frees the remaining communicators in the
 * order of context ids, and this one may come first: it was made later, but takes any free lower id. So we hold a
 * reference ourselves, marked as Open MPI marks the communicators that others of its own depend on; ompi_comm_free()
 * releases both references. */
static void keep_for_us(ompi_communicator_t* comm) {
  OMPI_COMM_SET_EXTRA_RETAIN(comm);
  OBJ_RETAIN(comm);
}

static int open_leaders(struct sumac_record* record, const int* leaders, int count, bool leads, bool needed,
                        struct sumac_carriers* made) {
  hcoll_module_t* module = hcoll_module_of(record);
  ompi_communicator_t* comm = NULL;
  record->lanes_end = true; /* a lane would need leaders of its own */
  made->all = (uintptr_t)module->comm;
  int rc = needed ? hcoll_leaders_make(module, leaders, count, leads, &comm) : OMPI_SUCCESS;
  if (NULL != comm) {
    keep_for_us(comm);
    made->leaders = (uintptr_t)comm;
  }
  return rc;
}

static void close_leaders(struct sumac_carriers* made) {
  ompi_communicator_t* comm = of(made->leaders);
  if (NULL != comm) {
    ompi_comm_free(&comm);
  }
}

static int with_ranks(struct sumac_record* record, const struct sumac_carriers* made, bool leads, void* context,
                      int (*use)(void* context, const struct sumac_communicator* team,
                                 const struct sumac_communicator* leaders)) {
  const struct sumac_communicator team = hcoll_communicator(hcoll_module_of(record));
  const struct sumac_communicator leaders =
      leads && 0 != made->leaders ? hcoll_communicator_of_ours(of(made->leaders)) : team;
  return use(context, &team, &leaders);
}

const struct sumac_between hcoll_between = {.request_bytes = sizeof(ompi_request_t*),
                                            .ibarrier = ibarrier,
                                            .iallreduce = iallreduce,
                                            .ireduce = ireduce,
                                            .ibcast = ibcast,
                                            .iallgatherv = iallgatherv,
                                            .ialltoallv = ialltoallv,
                                            .isend = isend,
                                            .irecv = irecv,
                                            .test = test,
                                            .open = open_leaders,
                                            .close = close_leaders,
                                            .with = with_ranks};
