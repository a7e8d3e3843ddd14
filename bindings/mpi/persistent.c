/* MPIX_Allreduce_init and its like: an operation that MPI_Start starts again and again, in a lane of its own (lanes.c). MPI lets making one
 * wait for the other ranks, so it may be a communicator's first collective. */
#include "requests.h"

/* True: made, or failed, with MPI's code in `*rc_p`. False: it is the next module's. */
static bool make_in(hcoll_lane_t* lane, const struct hcoll_plan* plan, ompi_request_t** request_p, int* rc_p) {
  hcoll_request_t* request = hcoll_request_make(lane, plan, true);
  if (NULL == request) {
    hcoll_lane_give(lane);
    *rc_p = OMPI_ERR_OUT_OF_RESOURCE;
    return true;
  }
  int status = sumac_op_create(lane->team, &request->plan.call, hcoll_request_on_done, request, &request->op);
  if (SUMAC_TEAM_OK == status) {
    *request_p = &request->super.super;
    return true;
  }
  hcoll_request_drop(request);
  *rc_p = SUMAC_TEAM_PASS == status ? MPI_SUCCESS : hcoll_failed(lane, plan->call.coll, status);
  return SUMAC_TEAM_PASS != status;
}

/* The same. */
static bool make(hcoll_module_t* module, enum hcoll_planned planned, const struct hcoll_plan* plan,
                 ompi_request_t** request_p, int* rc_p) {
  *rc_p = MPI_SUCCESS;
  if (HCOLL_NOT_OURS == planned) {
    return false;
  }
  if (HCOLL_NOTHING == planned) {
    *rc_p = ompi_request_persistent_noop_create(request_p);
    return true;
  }
  if (plan->is_too_large) {
    HCOLL_SAY("%s: more than %d elements of a type with gaps in one call", sumac_coll_name(plan->call.coll), INT_MAX);
    *rc_p = OMPI_ERR_NOT_SUPPORTED;
    return true;
  }
  hcoll_lane_t* lane = hcoll_lane_take(module, rc_p);
  if (NULL == lane) {
    hcoll_count_passed(module, plan->call.coll, HCOLL_WHY_ORDER);
    return OMPI_SUCCESS != *rc_p;
  }
  return make_in(lane, plan, request_p, rc_p);
}

#define PERSISTENT(name, COLL, PLAN, ...)                                \
  hcoll_module_t* module = (hcoll_module_t*)base;                        \
  int rc;                                                                \
  if (hcoll_attach(module, &rc)) {                                       \
    struct hcoll_plan plan;                                              \
    enum hcoll_planned planned = PLAN;                                   \
    if (make(module, planned, &plan, request, &rc)) {                    \
      return rc;                                                         \
    }                                                                    \
    if (HCOLL_NOT_OURS == planned) {                                     \
      hcoll_count_passed(module, SUMAC_COLL_##COLL, HCOLL_WHY_FUNCTION); \
    }                                                                    \
  } else if (OMPI_SUCCESS != rc) {                                       \
    return rc;                                                           \
  } else {                                                               \
    hcoll_count_passed(module, SUMAC_COLL_##COLL, HCOLL_WHY_NO_TEAM);    \
  }                                                                      \
  return module->next.name(__VA_ARGS__, info, request, module->next.name##_module)

static int barrier_init(struct ompi_communicator_t* comm, struct ompi_info_t* info, ompi_request_t** request,
                        mca_coll_base_module_t* base) {
  PERSISTENT(barrier_init, BARRIER, hcoll_plan_barrier(module, &plan), comm);
}

static int allreduce_init(const void* sbuf, void* rbuf, int count, struct ompi_datatype_t* dtype, struct ompi_op_t* op,
                          struct ompi_communicator_t* comm, struct ompi_info_t* info, ompi_request_t** request,
                          mca_coll_base_module_t* base) {
  PERSISTENT(allreduce_init, ALLREDUCE, hcoll_plan_allreduce(module, &plan, sbuf, rbuf, count, dtype, op), sbuf, rbuf,
             count, dtype, op, comm);
}

static int reduce_init(const void* sbuf, void* rbuf, int count, struct ompi_datatype_t* dtype, struct ompi_op_t* op,
                       int root, struct ompi_communicator_t* comm, struct ompi_info_t* info, ompi_request_t** request,
                       mca_coll_base_module_t* base) {
  PERSISTENT(reduce_init, REDUCE, hcoll_plan_reduce(module, &plan, sbuf, rbuf, count, dtype, op, root), sbuf, rbuf,
             count, dtype, op, root, comm);
}

static int reduce_scatter_block_init(const void* sbuf, void* rbuf, int rcount, struct ompi_datatype_t* dtype,
                                     struct ompi_op_t* op, struct ompi_communicator_t* comm, struct ompi_info_t* info,
                                     ompi_request_t** request, mca_coll_base_module_t* base) {
  PERSISTENT(reduce_scatter_block_init, REDUCE_SCATTER_BLOCK,
             hcoll_plan_reduce_scatter_block(module, &plan, sbuf, rbuf, rcount, dtype, op), sbuf, rbuf, rcount, dtype,
             op, comm);
}

static int bcast_init(void* buffer, int count, struct ompi_datatype_t* dtype, int root,
                      struct ompi_communicator_t* comm, struct ompi_info_t* info, ompi_request_t** request,
                      mca_coll_base_module_t* base) {
  PERSISTENT(bcast_init, BCAST, hcoll_plan_bcast(module, &plan, buffer, count, dtype, root), buffer, count, dtype, root,
             comm);
}

static int allgather_init(const void* sbuf, int scount, struct ompi_datatype_t* sdtype, void* rbuf, int rcount,
                          struct ompi_datatype_t* rdtype, struct ompi_communicator_t* comm, struct ompi_info_t* info,
                          ompi_request_t** request, mca_coll_base_module_t* base) {
  PERSISTENT(allgather_init, ALLGATHER, hcoll_plan_allgather(module, &plan, sbuf, scount, sdtype, rbuf, rcount, rdtype),
             sbuf, scount, sdtype, rbuf, rcount, rdtype, comm);
}

static int allgatherv_init(const void* sbuf, int scount, struct ompi_datatype_t* sdtype, void* rbuf, const int* rcounts,
                           const int* displs, struct ompi_datatype_t* rdtype, struct ompi_communicator_t* comm,
                           struct ompi_info_t* info, ompi_request_t** request, mca_coll_base_module_t* base) {
  PERSISTENT(allgatherv_init, ALLGATHERV,
             hcoll_plan_allgatherv(module, &plan, sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype), sbuf, scount,
             sdtype, rbuf, rcounts, displs, rdtype, comm);
}

static int alltoall_init(const void* sbuf, int scount, struct ompi_datatype_t* sdtype, void* rbuf, int rcount,
                         struct ompi_datatype_t* rdtype, struct ompi_communicator_t* comm, struct ompi_info_t* info,
                         ompi_request_t** request, mca_coll_base_module_t* base) {
  PERSISTENT(alltoall_init, ALLTOALL, hcoll_plan_alltoall(module, &plan, sbuf, scount, sdtype, rbuf, rcount, rdtype),
             sbuf, scount, sdtype, rbuf, rcount, rdtype, comm);
}

static int alltoallv_init(const void* sbuf, const int* scounts, const int* sdispls, struct ompi_datatype_t* sdtype,
                          void* rbuf, const int* rcounts, const int* rdispls, struct ompi_datatype_t* rdtype,
                          struct ompi_communicator_t* comm, struct ompi_info_t* info, ompi_request_t** request,
                          mca_coll_base_module_t* base) {
  PERSISTENT(alltoallv_init, ALLTOALLV,
             hcoll_plan_alltoallv(module, &plan, sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype), sbuf,
             scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype, comm);
}

void hcoll_offer_persistent(mca_coll_base_module_t* module) {
#define OFFER(name) module->coll_##name##_init = name##_init;
  HCOLL_EACH_COLL(OFFER)
#undef OFFER
}
