/* MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, MPIX_Reduce_scatter_block_init. */
#include "../forms.h"

static enum hcoll_planned plan_reduce_scatter_block(hcoll_module_t* module, struct sumac_plan* plan, const void* sbuf,
                                                    void* rbuf, int rcount, ompi_datatype_t* dtype, ompi_op_t* op) {
  return hcoll_plan_reduction(module, plan, SUMAC_COLL_REDUCE_SCATTER_BLOCK, sbuf, rbuf, true, rcount, dtype, op);
}

static int reduce_scatter_block(const void* sbuf, void* rbuf, int rcount, ompi_datatype_t* dtype, ompi_op_t* op,
                                struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached(module, SUMAC_COLL_REDUCE_SCATTER_BLOCK);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_run(module, plan_reduce_scatter_block(module, &plan, sbuf, rbuf, rcount, dtype, op), &plan);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.reduce_scatter_block(sbuf, rbuf, rcount, dtype, op, comm,
                                                                 module->next.reduce_scatter_block_module);
}

static int ireduce_scatter_block(const void* sbuf, void* rbuf, int rcount, ompi_datatype_t* dtype, ompi_op_t* op,
                                 struct ompi_communicator_t* comm, ompi_request_t** request,
                                 mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_may_post(module, SUMAC_COLL_REDUCE_SCATTER_BLOCK);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_post(module, plan_reduce_scatter_block(module, &plan, sbuf, rbuf, rcount, dtype, op), &plan, request);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.ireduce_scatter_block(sbuf, rbuf, rcount, dtype, op, comm, request,
                                                                  module->next.ireduce_scatter_block_module);
}

static int reduce_scatter_block_init(const void* sbuf, void* rbuf, int rcount, ompi_datatype_t* dtype, ompi_op_t* op,
                                     struct ompi_communicator_t* comm, struct ompi_info_t* info,
                                     ompi_request_t** request, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached_now(module, SUMAC_COLL_REDUCE_SCATTER_BLOCK);
  if (HCOLL_TO_TEAM == rc) {
    rc = hcoll_make(module, plan_reduce_scatter_block(module, &plan, sbuf, rbuf, rcount, dtype, op), &plan, request);
  }
  return HCOLL_TO_NEXT != rc
             ? rc
             : module->next.reduce_scatter_block_init(sbuf, rbuf, rcount, dtype, op, comm, info, request,
                                                      module->next.reduce_scatter_block_init_module);
}

void hcoll_offer_reduce_scatter_block(mca_coll_base_module_t* module) {
  module->coll_reduce_scatter_block = reduce_scatter_block;
  module->coll_ireduce_scatter_block = ireduce_scatter_block;
  module->coll_reduce_scatter_block_init = reduce_scatter_block_init;
}
