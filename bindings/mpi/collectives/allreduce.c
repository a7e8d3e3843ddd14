/* MPI_Allreduce, MPI_Iallreduce, MPIX_Allreduce_init. */
#include "../forms.h"

static enum hcoll_planned plan_allreduce(hcoll_module_t* module, struct sumac_plan* plan, const void* sbuf, void* rbuf,
                                         int count, ompi_datatype_t* dtype, ompi_op_t* op) {
  return hcoll_plan_reduction(module, plan, SUMAC_COLL_ALLREDUCE, sbuf, rbuf, true, count, dtype, op);
}

/* Open MPI agrees on context ids by nonblocking allreduces of one int on the parent communicator. Those of
 * MPI_Comm_idup begin inside progress: at one rank before the program's next blocking collective there, at another
 * one after it. So they have no position in the team's order, and nothing distinguishes them from the program's own. */
static bool is_like_mpis_own(int count, const ompi_datatype_t* dtype, const ompi_op_t* op) {
  return 1 == count && &ompi_mpi_int.dt == dtype && (&ompi_mpi_op_max.op == op || &ompi_mpi_op_min.op == op);
}

/* For a user's operation. */
static __attribute__((noinline)) int run_planned(hcoll_module_t* module, const void* sbuf, void* rbuf, int count,
                                                 ompi_datatype_t* dtype, ompi_op_t* op) {
  struct sumac_plan plan;
  return hcoll_run(module, plan_allreduce(module, &plan, sbuf, rbuf, count, dtype, op), &plan);
}

/* Predefined operations need no plan, as the barrier, because neither side is packed. */
static inline int run_allreduce(hcoll_module_t* module, const void* sbuf, void* rbuf, int count, ompi_datatype_t* dtype,
                                ompi_op_t* op) {
  const struct sumac_pair* fold = hcoll_fold_of(dtype, op);
  if (OPAL_UNLIKELY(NULL == fold)) {
    return run_planned(module, sbuf, rbuf, count, dtype, op);
  }
  const sumac_call_t call = {.coll = SUMAC_COLL_ALLREDUCE,
                             .in = MPI_IN_PLACE == sbuf ? rbuf : sbuf,
                             .out = rbuf,
                             .bytes = (size_t)count * fold->mpi_bytes,
                             .fold = &fold->fold};
  return hcoll_run_call(module, &call);
}

static int allreduce(const void* sbuf, void* rbuf, int count, ompi_datatype_t* dtype, ompi_op_t* op,
                     struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  if (OPAL_UNLIKELY(0 == count)) {
    return MPI_SUCCESS;
  }
  int rc = hcoll_attached(module, SUMAC_COLL_ALLREDUCE);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = run_allreduce(module, sbuf, rbuf, count, dtype, op);
  }
  return HCOLL_TO_NEXT != rc
             ? rc
             : module->next.allreduce(sbuf, rbuf, count, dtype, op, comm, module->next.allreduce_module);
}

static int iallreduce(const void* sbuf, void* rbuf, int count, ompi_datatype_t* dtype, ompi_op_t* op,
                      struct ompi_communicator_t* comm, ompi_request_t** request, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  if (is_like_mpis_own(count, dtype, op)) { /* these are not counted either */
    return module->next.iallreduce(sbuf, rbuf, count, dtype, op, comm, request, module->next.iallreduce_module);
  }
  int rc = hcoll_may_post(module, SUMAC_COLL_ALLREDUCE);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_post(module, plan_allreduce(module, &plan, sbuf, rbuf, count, dtype, op), &plan, request);
  }
  return HCOLL_TO_NEXT != rc
             ? rc
             : module->next.iallreduce(sbuf, rbuf, count, dtype, op, comm, request, module->next.iallreduce_module);
}

static int allreduce_init(const void* sbuf, void* rbuf, int count, ompi_datatype_t* dtype, ompi_op_t* op,
                          struct ompi_communicator_t* comm, struct ompi_info_t* info, ompi_request_t** request,
                          mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached_now(module, SUMAC_COLL_ALLREDUCE);
  if (HCOLL_TO_TEAM == rc) {
    rc = hcoll_make(module, plan_allreduce(module, &plan, sbuf, rbuf, count, dtype, op), &plan, request);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.allreduce_init(sbuf, rbuf, count, dtype, op, comm, info, request,
                                                           module->next.allreduce_init_module);
}

void hcoll_offer_allreduce(mca_coll_base_module_t* module) {
  module->coll_allreduce = allreduce;
  module->coll_iallreduce = iallreduce;
  module->coll_allreduce_init = allreduce_init;
}
