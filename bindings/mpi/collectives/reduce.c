/* MPI_Reduce, MPI_Ireduce, MPIX_Reduce_init. */
#include "../forms.h"

static enum hcoll_planned plan_reduce(hcoll_module_t* module, struct sumac_plan* plan, const void* sbuf, void* rbuf,
                                      int count, ompi_datatype_t* dtype, ompi_op_t* op, int root) {
  enum hcoll_planned planned =
      hcoll_plan_reduction(module, plan, SUMAC_COLL_REDUCE, sbuf, rbuf, root == module->record.rank, count, dtype, op);
  plan->call.root = root;
  return planned;
}

static int reduce(const void* sbuf, void* rbuf, int count, ompi_datatype_t* dtype, ompi_op_t* op, int root,
                  struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached(module, SUMAC_COLL_REDUCE);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_run(module, plan_reduce(module, &plan, sbuf, rbuf, count, dtype, op, root), &plan);
  }
  return HCOLL_TO_NEXT != rc
             ? rc
             : module->next.reduce(sbuf, rbuf, count, dtype, op, root, comm, module->next.reduce_module);
}

static int ireduce(const void* sbuf, void* rbuf, int count, ompi_datatype_t* dtype, ompi_op_t* op, int root,
                   struct ompi_communicator_t* comm, ompi_request_t** request, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_may_post(module, SUMAC_COLL_REDUCE);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_post(module, plan_reduce(module, &plan, sbuf, rbuf, count, dtype, op, root), &plan, request);
  }
  return HCOLL_TO_NEXT != rc
             ? rc
             : module->next.ireduce(sbuf, rbuf, count, dtype, op, root, comm, request, module->next.ireduce_module);
}

static int reduce_init(const void* sbuf, void* rbuf, int count, ompi_datatype_t* dtype, ompi_op_t* op, int root,
                       struct ompi_communicator_t* comm, struct ompi_info_t* info, ompi_request_t** request,
                       mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached_now(module, SUMAC_COLL_REDUCE);
  if (HCOLL_TO_TEAM == rc) {
    rc = hcoll_make(module, plan_reduce(module, &plan, sbuf, rbuf, count, dtype, op, root), &plan, request);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.reduce_init(sbuf, rbuf, count, dtype, op, root, comm, info, request,
                                                        module->next.reduce_init_module);
}

void hcoll_offer_reduce(mca_coll_base_module_t* module) {
  module->coll_reduce = reduce;
  module->coll_ireduce = ireduce;
  module->coll_reduce_init = reduce_init;
}
