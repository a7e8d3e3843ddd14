/* MPI_Alltoall, MPI_Ialltoall, MPIX_Alltoall_init. */
#include "../forms.h"

static enum hcoll_planned plan_alltoall(hcoll_module_t* module, struct sumac_plan* plan, const void* sbuf, int scount,
                                        ompi_datatype_t* sdtype, void* rbuf, int rcount, ompi_datatype_t* rdtype) {
  sumac_plan_begin(plan, SUMAC_COLL_ALLTOALL);
  return hcoll_plan_equal_blocks(module, plan, sbuf, scount, sdtype, module->record.size, rbuf, rcount, rdtype, 0);
}

static int alltoall(const void* sbuf, int scount, ompi_datatype_t* sdtype, void* rbuf, int rcount,
                    ompi_datatype_t* rdtype, struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached(module, SUMAC_COLL_ALLTOALL);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_run(module, plan_alltoall(module, &plan, sbuf, scount, sdtype, rbuf, rcount, rdtype), &plan);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : hcoll_passed(module, module->next.alltoall(sbuf, scount, sdtype, rbuf, rcount, rdtype,
                                                                          comm, module->next.alltoall_module));
}

static int ialltoall(const void* sbuf, int scount, ompi_datatype_t* sdtype, void* rbuf, int rcount,
                     ompi_datatype_t* rdtype, struct ompi_communicator_t* comm, ompi_request_t** request,
                     mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_may_post(module, SUMAC_COLL_ALLTOALL);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_post(module, plan_alltoall(module, &plan, sbuf, scount, sdtype, rbuf, rcount, rdtype), &plan, request);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.ialltoall(sbuf, scount, sdtype, rbuf, rcount, rdtype, comm, request,
                                                      module->next.ialltoall_module);
}

static int alltoall_init(const void* sbuf, int scount, ompi_datatype_t* sdtype, void* rbuf, int rcount,
                         ompi_datatype_t* rdtype, struct ompi_communicator_t* comm, struct ompi_info_t* info,
                         ompi_request_t** request, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached_now(module, SUMAC_COLL_ALLTOALL);
  if (HCOLL_TO_TEAM == rc) {
    rc = hcoll_make(module, plan_alltoall(module, &plan, sbuf, scount, sdtype, rbuf, rcount, rdtype), &plan, request);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.alltoall_init(sbuf, scount, sdtype, rbuf, rcount, rdtype, comm, info,
                                                          request, module->next.alltoall_init_module);
}

void hcoll_offer_alltoall(mca_coll_base_module_t* module) {
  module->coll_alltoall = alltoall;
  module->coll_ialltoall = ialltoall;
  module->coll_alltoall_init = alltoall_init;
}
