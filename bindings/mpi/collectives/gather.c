/* MPI_Gather and MPI_Gatherv, with their I and _init forms. */
#include "../forms.h"

static enum hcoll_planned plan_gather(hcoll_module_t* module, struct sumac_plan* plan, const void* sbuf, int scount,
                                      ompi_datatype_t* sdtype, void* rbuf, int rcount, ompi_datatype_t* rdtype,
                                      int root) {
  sumac_plan_begin(plan, SUMAC_COLL_GATHER);
  plan->call.root = root;
  if (root == module->record.rank) {
    return hcoll_plan_equal_blocks(module, plan, sbuf, scount, sdtype, 1, rbuf, rcount, rdtype, module->record.rank);
  }
  plan->call.bytes = (size_t)scount * sdtype->super.size;
  if (0 == plan->call.bytes) {
    return HCOLL_NOTHING;
  }
  plan->call.in = hcoll_plan_row(plan, &plan->send, sbuf, (size_t)scount, sdtype);
  return HCOLL_PLANNED;
}

static int gather(const void* sbuf, int scount, ompi_datatype_t* sdtype, void* rbuf, int rcount,
                  ompi_datatype_t* rdtype, int root, struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached(module, SUMAC_COLL_GATHER);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_run(module, plan_gather(module, &plan, sbuf, scount, sdtype, rbuf, rcount, rdtype, root), &plan);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : hcoll_passed(module, module->next.gather(sbuf, scount, sdtype, rbuf, rcount, rdtype,
                                                                        root, comm, module->next.gather_module));
}

static int igather(const void* sbuf, int scount, ompi_datatype_t* sdtype, void* rbuf, int rcount,
                   ompi_datatype_t* rdtype, int root, struct ompi_communicator_t* comm, ompi_request_t** request,
                   mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_may_post(module, SUMAC_COLL_GATHER);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_post(module, plan_gather(module, &plan, sbuf, scount, sdtype, rbuf, rcount, rdtype, root), &plan,
                    request);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.igather(sbuf, scount, sdtype, rbuf, rcount, rdtype, root, comm, request,
                                                    module->next.igather_module);
}

static int gather_init(const void* sbuf, int scount, ompi_datatype_t* sdtype, void* rbuf, int rcount,
                       ompi_datatype_t* rdtype, int root, struct ompi_communicator_t* comm, struct ompi_info_t* info,
                       ompi_request_t** request, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached_now(module, SUMAC_COLL_GATHER);
  if (HCOLL_TO_TEAM == rc) {
    rc = hcoll_make(module, plan_gather(module, &plan, sbuf, scount, sdtype, rbuf, rcount, rdtype, root), &plan,
                    request);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.gather_init(sbuf, scount, sdtype, rbuf, rcount, rdtype, root, comm, info,
                                                        request, module->next.gather_init_module);
}

void hcoll_offer_gather(mca_coll_base_module_t* module) {
  module->coll_gather = gather;
  module->coll_igather = igather;
  module->coll_gather_init = gather_init;
}

static enum hcoll_planned plan_gatherv(hcoll_module_t* module, struct sumac_plan* plan, const void* sbuf, int scount,
                                       ompi_datatype_t* sdtype, void* rbuf, const int* rcounts, const int* displs,
                                       ompi_datatype_t* rdtype, int root) {
  sumac_plan_begin(plan, SUMAC_COLL_GATHERV);
  sumac_call_t* call = &plan->call;
  call->root = root;
  if (root == module->record.rank) {
    call->out =
        hcoll_plan_blocks(plan, &plan->receive, &call->out_blocks, rbuf, rcounts, displs, module->record.size, rdtype);
    call->bytes = (size_t)rcounts[root] * rdtype->super.size;
    if (MPI_IN_PLACE == sbuf) {
      plan->shared = SUMAC_IN_IS_OUT;
      call->in = call->out;
      if (plan->receive.is_packed) {
        plan->send = plan->receive; /* all blocks: those of others are packed needlessly, and overwritten on receive */
      }
      return HCOLL_PLANNED;
    }
  } else {
    call->bytes = (size_t)scount * sdtype->super.size;
  }
  call->in = 0 == call->bytes ? sumac_plan_no_data : hcoll_plan_row(plan, &plan->send, sbuf, (size_t)scount, sdtype);
  return HCOLL_PLANNED;
}

static int gatherv(const void* sbuf, int scount, ompi_datatype_t* sdtype, void* rbuf, const int* rcounts,
                   const int* displs, ompi_datatype_t* rdtype, int root, struct ompi_communicator_t* comm,
                   mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached(module, SUMAC_COLL_GATHERV);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_run(module, plan_gatherv(module, &plan, sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype, root),
                   &plan);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.gatherv(sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype, root, comm,
                                                    module->next.gatherv_module);
}

static int igatherv(const void* sbuf, int scount, ompi_datatype_t* sdtype, void* rbuf, const int* rcounts,
                    const int* displs, ompi_datatype_t* rdtype, int root, struct ompi_communicator_t* comm,
                    ompi_request_t** request, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_may_post(module, SUMAC_COLL_GATHERV);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_post(module, plan_gatherv(module, &plan, sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype, root),
                    &plan, request);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.igatherv(sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype, root, comm,
                                                     request, module->next.igatherv_module);
}

static int gatherv_init(const void* sbuf, int scount, ompi_datatype_t* sdtype, void* rbuf, const int* rcounts,
                        const int* displs, ompi_datatype_t* rdtype, int root, struct ompi_communicator_t* comm,
                        struct ompi_info_t* info, ompi_request_t** request, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached_now(module, SUMAC_COLL_GATHERV);
  if (HCOLL_TO_TEAM == rc) {
    rc = hcoll_make(module, plan_gatherv(module, &plan, sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype, root),
                    &plan, request);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.gatherv_init(sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype, root,
                                                         comm, info, request, module->next.gatherv_init_module);
}

void hcoll_offer_gatherv(mca_coll_base_module_t* module) {
  module->coll_gatherv = gatherv;
  module->coll_igatherv = igatherv;
  module->coll_gatherv_init = gatherv_init;
}
