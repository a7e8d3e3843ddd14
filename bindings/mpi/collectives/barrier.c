/* MPI_Barrier, MPI_Ibarrier, MPIX_Barrier_init. */
#include "../forms.h"

static enum hcoll_planned plan_barrier(hcoll_module_t* module, struct sumac_plan* plan) {
  (void)module;
  sumac_plan_begin(plan, SUMAC_COLL_BARRIER);
  return HCOLL_PLANNED;
}

/* There is no plan: programs wait for barriers most, and every nanosecond counts. */
static int barrier(struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  static const sumac_call_t call = {.coll = SUMAC_COLL_BARRIER};
  hcoll_module_t* module = (hcoll_module_t*)base;
  int rc = hcoll_attached(module, SUMAC_COLL_BARRIER);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_run_call(module, &call);
  }
  return HCOLL_TO_NEXT != rc ? rc : module->next.barrier(comm, module->next.barrier_module);
}

static int ibarrier(struct ompi_communicator_t* comm, ompi_request_t** request, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_may_post(module, SUMAC_COLL_BARRIER);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_post(module, plan_barrier(module, &plan), &plan, request);
  }
  return HCOLL_TO_NEXT != rc ? rc : module->next.ibarrier(comm, request, module->next.ibarrier_module);
}

static int barrier_init(struct ompi_communicator_t* comm, struct ompi_info_t* info, ompi_request_t** request,
                        mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached_now(module, SUMAC_COLL_BARRIER);
  if (HCOLL_TO_TEAM == rc) {
    rc = hcoll_make(module, plan_barrier(module, &plan), &plan, request);
  }
  return HCOLL_TO_NEXT != rc ? rc : module->next.barrier_init(comm, info, request, module->next.barrier_init_module);
}

void hcoll_offer_barrier(mca_coll_base_module_t* module) {
  module->coll_barrier = barrier;
  module->coll_ibarrier = ibarrier;
  module->coll_barrier_init = barrier_init;
}
