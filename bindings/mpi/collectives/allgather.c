/* MPI_Allgather, MPI_Iallgather, MPIX_Allgather_init. */
#include "../forms.h"

static enum hcoll_planned plan_allgather(hcoll_module_t* module, struct sumac_plan* plan, const void* sbuf, int scount,
                                         ompi_datatype_t* sdtype, void* rbuf, int rcount, ompi_datatype_t* rdtype) {
  sumac_plan_begin(plan, SUMAC_COLL_ALLGATHER);
  return hcoll_plan_equal_blocks(module, plan, sbuf, scount, sdtype, 1, rbuf, rcount, rdtype, module->record.rank);
}

static int allgather(const void* sbuf, int scount, ompi_datatype_t* sdtype, void* rbuf, int rcount,
                     ompi_datatype_t* rdtype, struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached(module, SUMAC_COLL_ALLGATHER);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_run(module, plan_allgather(module, &plan, sbuf, scount, sdtype, rbuf, rcount, rdtype), &plan);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : hcoll_passed(module, module->next.allgather(sbuf, scount, sdtype, rbuf, rcount, rdtype,
                                                                           comm, module->next.allgather_module));
}

static int iallgather(const void* sbuf, int scount, ompi_datatype_t* sdtype, void* rbuf, int rcount,
                      ompi_datatype_t* rdtype, struct ompi_communicator_t* comm, ompi_request_t** request,
                      mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_may_post(module, SUMAC_COLL_ALLGATHER);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_post(module, plan_allgather(module, &plan, sbuf, scount, sdtype, rbuf, rcount, rdtype), &plan, request);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.iallgather(sbuf, scount, sdtype, rbuf, rcount, rdtype, comm, request,
                                                       module->next.iallgather_module);
}

static int allgather_init(const void* sbuf, int scount, ompi_datatype_t* sdtype, void* rbuf, int rcount,
                          ompi_datatype_t* rdtype, struct ompi_communicator_t* comm, struct ompi_info_t* info,
                          ompi_request_t** request, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached_now(module, SUMAC_COLL_ALLGATHER);
  if (HCOLL_TO_TEAM == rc) {
    rc = hcoll_make(module, plan_allgather(module, &plan, sbuf, scount, sdtype, rbuf, rcount, rdtype), &plan, request);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.allgather_init(sbuf, scount, sdtype, rbuf, rcount, rdtype, comm, info,
                                                           request, module->next.allgather_init_module);
}

void hcoll_offer_allgather(mca_coll_base_module_t* module) {
  module->coll_allgather = allgather;
  module->coll_iallgather = iallgather;
  module->coll_allgather_init = allgather_init;
}
