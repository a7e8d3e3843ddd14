/* MPI_Alltoallv, MPI_Ialltoallv, MPIX_Alltoallv_init. */
#include "../forms.h"

static enum hcoll_planned plan_alltoallv(hcoll_module_t* module, struct sumac_plan* plan, const void* sbuf,
                                         const int* scounts, const int* sdispls, ompi_datatype_t* sdtype, void* rbuf,
                                         const int* rcounts, const int* rdispls, ompi_datatype_t* rdtype) {
  sumac_plan_begin(plan, SUMAC_COLL_ALLTOALLV);
  int size = module->record.size;
  sumac_call_t* call = &plan->call;
  call->out = hcoll_plan_blocks(plan, &plan->receive, &call->out_blocks, rbuf, rcounts, rdispls, size, rdtype);
  if (MPI_IN_PLACE != sbuf) {
    call->in = hcoll_plan_blocks(plan, &plan->send, &call->in_blocks, sbuf, scounts, sdispls, size, sdtype);
    if (!plan->send.is_packed && (NULL == call->in || call->in == call->out)) {
      call->in = sumac_plan_no_data; /* legal only if this rank sends nothing */
    }
    return HCOLL_PLANNED;
  }
  call->in = call->out;
  call->in_blocks = call->out_blocks;
  if (plan->receive.is_packed) {
    plan->send = plan->receive;
  }
  return HCOLL_PLANNED;
}

static int alltoallv(const void* sbuf, const int* scounts, const int* sdispls, ompi_datatype_t* sdtype, void* rbuf,
                     const int* rcounts, const int* rdispls, ompi_datatype_t* rdtype, struct ompi_communicator_t* comm,
                     mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached(module, SUMAC_COLL_ALLTOALLV);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_run(
        module, plan_alltoallv(module, &plan, sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype), &plan);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.alltoallv(sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype,
                                                      comm, module->next.alltoallv_module);
}

static int ialltoallv(const void* sbuf, const int* scounts, const int* sdispls, ompi_datatype_t* sdtype, void* rbuf,
                      const int* rcounts, const int* rdispls, ompi_datatype_t* rdtype, struct ompi_communicator_t* comm,
                      ompi_request_t** request, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_may_post(module, SUMAC_COLL_ALLTOALLV);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_post(module,
                    plan_alltoallv(module, &plan, sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype),
                    &plan, request);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.ialltoallv(sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype,
                                                       comm, request, module->next.ialltoallv_module);
}

static int alltoallv_init(const void* sbuf, const int* scounts, const int* sdispls, ompi_datatype_t* sdtype, void* rbuf,
                          const int* rcounts, const int* rdispls, ompi_datatype_t* rdtype,
                          struct ompi_communicator_t* comm, struct ompi_info_t* info, ompi_request_t** request,
                          mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached_now(module, SUMAC_COLL_ALLTOALLV);
  if (HCOLL_TO_TEAM == rc) {
    rc = hcoll_make(module,
                    plan_alltoallv(module, &plan, sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype),
                    &plan, request);
  }
  return HCOLL_TO_NEXT != rc
             ? rc
             : module->next.alltoallv_init(sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype, comm, info,
                                           request, module->next.alltoallv_init_module);
}

void hcoll_offer_alltoallv(mca_coll_base_module_t* module) {
  module->coll_alltoallv = alltoallv;
  module->coll_ialltoallv = ialltoallv;
  module->coll_alltoallv_init = alltoallv_init;
}
