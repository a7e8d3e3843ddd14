/* MPI_Ibarrier, MPI_Iallreduce and their like: posted to the team, moved by MPI's progress or the progress thread.
 *
 * The first collective of a communicator makes its team and waits for all ranks, which a nonblocking one must not: those that come before
 * the first blocking one are the next module's. */
#include "requests.h"

static int complete_at_once(ompi_request_t** request_p) {
  *request_p = &ompi_request_empty;
  return MPI_SUCCESS;
}

/* True: posted, or failed, with MPI's code in `*rc_p`. False: it is the next module's. */
static bool post(hcoll_module_t* module, enum hcoll_planned planned, const struct hcoll_plan* plan,
                 ompi_request_t** request_p, int* rc_p) {
  if (HCOLL_PLANNED != planned) {
    *rc_p = HCOLL_NOTHING == planned ? complete_at_once(request_p) : MPI_SUCCESS;
    return HCOLL_NOTHING == planned;
  }
  if (plan->is_too_large) {
    HCOLL_SAY("%s: more than %d elements of a type with gaps in one call", sumac_coll_name(plan->call.coll), INT_MAX);
    *rc_p = OMPI_ERR_NOT_SUPPORTED;
    return true;
  }
  hcoll_request_t* request = hcoll_request_make(&module->ordinary, plan, false);
  if (NULL == request) {
    *rc_p = OMPI_ERR_OUT_OF_RESOURCE;
    return true;
  }
  request->super.super.req_state = OMPI_REQUEST_ACTIVE;
  hcoll_plan_pack(&request->plan);
  *request_p = &request->super.super;
  hcoll_progress_enter(&module->ordinary);
  int status =
      sumac_team_post(module->ordinary.team, &request->plan.call, hcoll_request_on_done, request, &request->op);
  if (OPAL_LIKELY(SUMAC_TEAM_OK == status)) {
    hcoll_progress_kick(&module->ordinary);
    *rc_p = MPI_SUCCESS;
    return true;
  }
  hcoll_progress_leave(&module->ordinary);
  hcoll_request_drop(request);
  *request_p = MPI_REQUEST_NULL;
  *rc_p = SUMAC_TEAM_PASS == status ? MPI_SUCCESS : hcoll_failed(&module->ordinary, plan->call.coll, status);
  return SUMAC_TEAM_PASS != status;
}

#define NONBLOCKING(name, COLL, PLAN, ...)                                                                             \
  hcoll_module_t* module = (hcoll_module_t*)base;                                                                      \
  if (OPAL_LIKELY(HCOLL_TEAM == module->state)) {                                                                      \
    struct hcoll_plan plan;                                                                                            \
    enum hcoll_planned planned = PLAN;                                                                                 \
    int rc;                                                                                                            \
    if (OPAL_LIKELY(post(module, planned, &plan, request, &rc))) {                                                     \
      return rc;                                                                                                       \
    }                                                                                                                  \
    if (HCOLL_NOT_OURS == planned) {                                                                                   \
      hcoll_count_passed(module, SUMAC_COLL_##COLL, HCOLL_WHY_FUNCTION);                                               \
    }                                                                                                                  \
  } else {                                                                                                             \
    hcoll_count_passed(module, SUMAC_COLL_##COLL, HCOLL_FRESH == module->state ? HCOLL_WHY_EARLY : HCOLL_WHY_NO_TEAM); \
  }                                                                                                                    \
  return module->next.name(__VA_ARGS__, request, module->next.name##_module)

static int ibarrier(struct ompi_communicator_t* comm, ompi_request_t** request, mca_coll_base_module_t* base) {
  NONBLOCKING(ibarrier, BARRIER, hcoll_plan_barrier(module, &plan), comm);
}

/* Open MPI 4.1 agrees on context ids by nonblocking allreduces of one int on the parent communicator. Those of MPI_Comm_idup begin inside
 * progress: at one rank before the program's next blocking collective there, at another one behind it. So they have no place in the team's
 * order; nothing tells them from a program's own. */
static bool is_like_mpis_own(int count, const ompi_datatype_t* dtype, const ompi_op_t* op) {
  return 1 == count && &ompi_mpi_int.dt == dtype && (&ompi_mpi_op_max.op == op || &ompi_mpi_op_min.op == op);
}

static int iallreduce(const void* sbuf, void* rbuf, int count, struct ompi_datatype_t* dtype, struct ompi_op_t* op,
                      struct ompi_communicator_t* comm, ompi_request_t** request, mca_coll_base_module_t* base) {
  if (is_like_mpis_own(count, dtype, op)) { /* not counted either */
    const struct hcoll_next* next = &((hcoll_module_t*)base)->next;
    return next->iallreduce(sbuf, rbuf, count, dtype, op, comm, request, next->iallreduce_module);
  }
  NONBLOCKING(iallreduce, ALLREDUCE, hcoll_plan_allreduce(module, &plan, sbuf, rbuf, count, dtype, op), sbuf, rbuf,
              count, dtype, op, comm);
}

static int ireduce(const void* sbuf, void* rbuf, int count, struct ompi_datatype_t* dtype, struct ompi_op_t* op,
                   int root, struct ompi_communicator_t* comm, ompi_request_t** request, mca_coll_base_module_t* base) {
  NONBLOCKING(ireduce, REDUCE, hcoll_plan_reduce(module, &plan, sbuf, rbuf, count, dtype, op, root), sbuf, rbuf, count,
              dtype, op, root, comm);
}

static int ireduce_scatter_block(const void* sbuf, void* rbuf, int rcount, struct ompi_datatype_t* dtype,
                                 struct ompi_op_t* op, struct ompi_communicator_t* comm, ompi_request_t** request,
                                 mca_coll_base_module_t* base) {
  NONBLOCKING(ireduce_scatter_block, REDUCE_SCATTER_BLOCK,
              hcoll_plan_reduce_scatter_block(module, &plan, sbuf, rbuf, rcount, dtype, op), sbuf, rbuf, rcount, dtype,
              op, comm);
}

static int ibcast(void* buffer, int count, struct ompi_datatype_t* dtype, int root, struct ompi_communicator_t* comm,
                  ompi_request_t** request, mca_coll_base_module_t* base) {
  NONBLOCKING(ibcast, BCAST, hcoll_plan_bcast(module, &plan, buffer, count, dtype, root), buffer, count, dtype, root,
              comm);
}

static int iallgather(const void* sbuf, int scount, struct ompi_datatype_t* sdtype, void* rbuf, int rcount,
                      struct ompi_datatype_t* rdtype, struct ompi_communicator_t* comm, ompi_request_t** request,
                      mca_coll_base_module_t* base) {
  NONBLOCKING(iallgather, ALLGATHER, hcoll_plan_allgather(module, &plan, sbuf, scount, sdtype, rbuf, rcount, rdtype),
              sbuf, scount, sdtype, rbuf, rcount, rdtype, comm);
}

static int iallgatherv(const void* sbuf, int scount, struct ompi_datatype_t* sdtype, void* rbuf, const int* rcounts,
                       const int* displs, struct ompi_datatype_t* rdtype, struct ompi_communicator_t* comm,
                       ompi_request_t** request, mca_coll_base_module_t* base) {
  NONBLOCKING(iallgatherv, ALLGATHERV,
              hcoll_plan_allgatherv(module, &plan, sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype), sbuf, scount,
              sdtype, rbuf, rcounts, displs, rdtype, comm);
}

static int ialltoall(const void* sbuf, int scount, struct ompi_datatype_t* sdtype, void* rbuf, int rcount,
                     struct ompi_datatype_t* rdtype, struct ompi_communicator_t* comm, ompi_request_t** request,
                     mca_coll_base_module_t* base) {
  NONBLOCKING(ialltoall, ALLTOALL, hcoll_plan_alltoall(module, &plan, sbuf, scount, sdtype, rbuf, rcount, rdtype), sbuf,
              scount, sdtype, rbuf, rcount, rdtype, comm);
}

static int ialltoallv(const void* sbuf, const int* scounts, const int* sdispls, struct ompi_datatype_t* sdtype,
                      void* rbuf, const int* rcounts, const int* rdispls, struct ompi_datatype_t* rdtype,
                      struct ompi_communicator_t* comm, ompi_request_t** request, mca_coll_base_module_t* base) {
  NONBLOCKING(ialltoallv, ALLTOALLV,
              hcoll_plan_alltoallv(module, &plan, sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype), sbuf,
              scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype, comm);
}

void hcoll_offer_nonblocking(mca_coll_base_module_t* module) {
#define OFFER(name) module->coll_i##name = i##name;
  HCOLL_EACH_COLL(OFFER)
#undef OFFER
}
