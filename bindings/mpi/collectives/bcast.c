/* MPI_Bcast, MPI_Ibcast, MPIX_Bcast_init. */
#include "../forms.h"

static enum hcoll_planned plan_bcast(hcoll_module_t* module, struct sumac_plan* plan, void* buffer, int count,
                                     ompi_datatype_t* dtype, int root) {
  sumac_plan_begin(plan, SUMAC_COLL_BCAST);
  plan->call.bytes = (size_t)count * dtype->super.size;
  plan->call.root = root;
  if (0 == plan->call.bytes) {
    return HCOLL_NOTHING;
  }
  bool is_root = root == module->record.rank;
  struct sumac_side* side = is_root ? &plan->send : &plan->receive;
  plan->call.out = hcoll_plan_row(plan, side, buffer, (size_t)count, dtype);
  plan->shared = is_root ? SUMAC_OUT_IS_IN : SUMAC_SIDES_APART;
  return HCOLL_PLANNED;
}

static int bcast(void* buffer, int count, ompi_datatype_t* dtype, int root, struct ompi_communicator_t* comm,
                 mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached(module, SUMAC_COLL_BCAST);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_run(module, plan_bcast(module, &plan, buffer, count, dtype, root), &plan);
  }
  return HCOLL_TO_NEXT != rc
             ? rc
             : hcoll_passed(module, module->next.bcast(buffer, count, dtype, root, comm, module->next.bcast_module));
}

static int ibcast(void* buffer, int count, ompi_datatype_t* dtype, int root, struct ompi_communicator_t* comm,
                  ompi_request_t** request, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_may_post(module, SUMAC_COLL_BCAST);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_post(module, plan_bcast(module, &plan, buffer, count, dtype, root), &plan, request);
  }
  return HCOLL_TO_NEXT != rc
             ? rc
             : module->next.ibcast(buffer, count, dtype, root, comm, request, module->next.ibcast_module);
}

static int bcast_init(void* buffer, int count, ompi_datatype_t* dtype, int root, struct ompi_communicator_t* comm,
                      struct ompi_info_t* info, ompi_request_t** request, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached_now(module, SUMAC_COLL_BCAST);
  if (HCOLL_TO_TEAM == rc) {
    rc = hcoll_make(module, plan_bcast(module, &plan, buffer, count, dtype, root), &plan, request);
  }
  return HCOLL_TO_NEXT != rc
             ? rc
             : module->next.bcast_init(buffer, count, dtype, root, comm, info, request, module->next.bcast_init_module);
}

void hcoll_offer_bcast(mca_coll_base_module_t* module) {
  module->coll_bcast = bcast;
  module->coll_ibcast = ibcast;
  module->coll_bcast_init = bcast_init;
}
