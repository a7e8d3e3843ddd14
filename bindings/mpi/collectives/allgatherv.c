/* MPI_Allgatherv, MPI_Iallgatherv, MPIX_Allgatherv_init. */
#include "../forms.h"

static enum hcoll_planned plan_allgatherv(hcoll_module_t* module, struct sumac_plan* plan, const void* sbuf, int scount,
                                          ompi_datatype_t* sdtype, void* rbuf, const int* rcounts, const int* displs,
                                          ompi_datatype_t* rdtype) {
  sumac_plan_begin(plan, SUMAC_COLL_ALLGATHERV);
  size_t own = (size_t)rcounts[module->record.rank] * rdtype->super.size;
  plan->call.out = hcoll_plan_blocks(plan, &plan->receive, &plan->call.out_blocks, rbuf, rcounts, displs,
                                     module->record.size, rdtype);
  if (MPI_IN_PLACE != sbuf) {
    plan->call.in = 0 == own ? sumac_plan_no_data : hcoll_plan_row(plan, &plan->send, sbuf, (size_t)scount, sdtype);
    return HCOLL_PLANNED;
  }
  plan->shared = SUMAC_IN_IS_OUT;
  plan->call.in = plan->call.out;
  if (plan->receive.is_packed) {
    plan->send = plan->receive; /* all blocks: those of others are packed needlessly, and overwritten on receive */
  }
  return HCOLL_PLANNED;
}

static int allgatherv(const void* sbuf, int scount, ompi_datatype_t* sdtype, void* rbuf, const int* rcounts,
                      const int* displs, ompi_datatype_t* rdtype, struct ompi_communicator_t* comm,
                      mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached(module, SUMAC_COLL_ALLGATHERV);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_run(module, plan_allgatherv(module, &plan, sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype), &plan);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.allgatherv(sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype, comm,
                                                       module->next.allgatherv_module);
}

static int iallgatherv(const void* sbuf, int scount, ompi_datatype_t* sdtype, void* rbuf, const int* rcounts,
                       const int* displs, ompi_datatype_t* rdtype, struct ompi_communicator_t* comm,
                       ompi_request_t** request, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_may_post(module, SUMAC_COLL_ALLGATHERV);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_post(module, plan_allgatherv(module, &plan, sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype), &plan,
                    request);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.iallgatherv(sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype, comm,
                                                        request, module->next.iallgatherv_module);
}

static int allgatherv_init(const void* sbuf, int scount, ompi_datatype_t* sdtype, void* rbuf, const int* rcounts,
                           const int* displs, ompi_datatype_t* rdtype, struct ompi_communicator_t* comm,
                           struct ompi_info_t* info, ompi_request_t** request, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached_now(module, SUMAC_COLL_ALLGATHERV);
  if (HCOLL_TO_TEAM == rc) {
    rc = hcoll_make(module, plan_allgatherv(module, &plan, sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype), &plan,
                    request);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.allgatherv_init(sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype, comm,
                                                            info, request, module->next.allgatherv_init_module);
}

void hcoll_offer_allgatherv(mca_coll_base_module_t* module) {
  module->coll_allgatherv = allgatherv;
  module->coll_iallgatherv = iallgatherv;
  module->coll_allgatherv_init = allgatherv_init;
}
