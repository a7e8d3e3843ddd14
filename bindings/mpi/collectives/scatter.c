/* MPI_Scatter and MPI_Scatterv, with their I and _init forms. In place, a team's call has the root's blocks on both sides. */
#include "../forms.h"

static enum hcoll_planned plan_scatter(hcoll_module_t* module, struct sumac_plan* plan, const void* sbuf, int scount,
                                       ompi_datatype_t* sdtype, void* rbuf, int rcount, ompi_datatype_t* rdtype,
                                       int root) {
  sumac_plan_begin(plan, SUMAC_COLL_SCATTER);
  sumac_call_t* call = &plan->call;
  bool is_root = root == module->record.rank;
  size_t blocks = (size_t)module->record.size;
  call->root = root;
  call->bytes = is_root ? (size_t)scount * sdtype->super.size : (size_t)rcount * rdtype->super.size;
  if (0 == call->bytes) {
    return HCOLL_NOTHING;
  }
  if (is_root) {
    call->in = hcoll_plan_row(plan, &plan->send, sbuf, blocks * (size_t)scount, sdtype);
    if (MPI_IN_PLACE == rbuf) {
      plan->shared = SUMAC_OUT_IS_IN;
      call->out = (void*)call->in;
      return HCOLL_PLANNED;
    }
  }
  call->out = hcoll_plan_row(plan, &plan->receive, rbuf, (size_t)rcount, rdtype);
  return HCOLL_PLANNED;
}

static int scatter(const void* sbuf, int scount, ompi_datatype_t* sdtype, void* rbuf, int rcount,
                   ompi_datatype_t* rdtype, int root, struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached(module, SUMAC_COLL_SCATTER);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_run(module, plan_scatter(module, &plan, sbuf, scount, sdtype, rbuf, rcount, rdtype, root), &plan);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : hcoll_passed(module, module->next.scatter(sbuf, scount, sdtype, rbuf, rcount, rdtype,
                                                                         root, comm, module->next.scatter_module));
}

static int iscatter(const void* sbuf, int scount, ompi_datatype_t* sdtype, void* rbuf, int rcount,
                    ompi_datatype_t* rdtype, int root, struct ompi_communicator_t* comm, ompi_request_t** request,
                    mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_may_post(module, SUMAC_COLL_SCATTER);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_post(module, plan_scatter(module, &plan, sbuf, scount, sdtype, rbuf, rcount, rdtype, root), &plan,
                    request);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.iscatter(sbuf, scount, sdtype, rbuf, rcount, rdtype, root, comm, request,
                                                     module->next.iscatter_module);
}

static int scatter_init(const void* sbuf, int scount, ompi_datatype_t* sdtype, void* rbuf, int rcount,
                        ompi_datatype_t* rdtype, int root, struct ompi_communicator_t* comm, struct ompi_info_t* info,
                        ompi_request_t** request, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached_now(module, SUMAC_COLL_SCATTER);
  if (HCOLL_TO_TEAM == rc) {
    rc = hcoll_make(module, plan_scatter(module, &plan, sbuf, scount, sdtype, rbuf, rcount, rdtype, root), &plan,
                    request);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.scatter_init(sbuf, scount, sdtype, rbuf, rcount, rdtype, root, comm, info,
                                                         request, module->next.scatter_init_module);
}

void hcoll_offer_scatter(mca_coll_base_module_t* module) {
  module->coll_scatter = scatter;
  module->coll_iscatter = iscatter;
  module->coll_scatter_init = scatter_init;
}

static enum hcoll_planned plan_scatterv(hcoll_module_t* module, struct sumac_plan* plan, const void* sbuf,
                                        const int* scounts, const int* displs, ompi_datatype_t* sdtype, void* rbuf,
                                        int rcount, ompi_datatype_t* rdtype, int root) {
  sumac_plan_begin(plan, SUMAC_COLL_SCATTERV);
  sumac_call_t* call = &plan->call;
  call->root = root;
  if (root == module->record.rank) {
    call->in =
        hcoll_plan_blocks(plan, &plan->send, &call->in_blocks, sbuf, scounts, displs, module->record.size, sdtype);
    call->bytes = (size_t)scounts[root] * sdtype->super.size;
    if (MPI_IN_PLACE == rbuf) {
      plan->shared = SUMAC_OUT_IS_IN;
      call->out = (void*)call->in;
      return HCOLL_PLANNED;
    }
  } else {
    call->bytes = (size_t)rcount * rdtype->super.size;
  }
  if (0 != call->bytes) {
    call->out = hcoll_plan_row(plan, &plan->receive, rbuf, (size_t)rcount, rdtype);
  }
  return HCOLL_PLANNED;
}

static int scatterv(const void* sbuf, const int* scounts, const int* displs, ompi_datatype_t* sdtype, void* rbuf,
                    int rcount, ompi_datatype_t* rdtype, int root, struct ompi_communicator_t* comm,
                    mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached(module, SUMAC_COLL_SCATTERV);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_run(module, plan_scatterv(module, &plan, sbuf, scounts, displs, sdtype, rbuf, rcount, rdtype, root),
                   &plan);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.scatterv(sbuf, scounts, displs, sdtype, rbuf, rcount, rdtype, root, comm,
                                                     module->next.scatterv_module);
}

static int iscatterv(const void* sbuf, const int* scounts, const int* displs, ompi_datatype_t* sdtype, void* rbuf,
                     int rcount, ompi_datatype_t* rdtype, int root, struct ompi_communicator_t* comm,
                     ompi_request_t** request, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_may_post(module, SUMAC_COLL_SCATTERV);
  if (OPAL_LIKELY(HCOLL_TO_TEAM == rc)) {
    rc = hcoll_post(module, plan_scatterv(module, &plan, sbuf, scounts, displs, sdtype, rbuf, rcount, rdtype, root),
                    &plan, request);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.iscatterv(sbuf, scounts, displs, sdtype, rbuf, rcount, rdtype, root, comm,
                                                      request, module->next.iscatterv_module);
}

static int scatterv_init(const void* sbuf, const int* scounts, const int* displs, ompi_datatype_t* sdtype, void* rbuf,
                         int rcount, ompi_datatype_t* rdtype, int root, struct ompi_communicator_t* comm,
                         struct ompi_info_t* info, ompi_request_t** request, mca_coll_base_module_t* base) {
  hcoll_module_t* module = (hcoll_module_t*)base;
  struct sumac_plan plan;
  int rc = hcoll_attached_now(module, SUMAC_COLL_SCATTERV);
  if (HCOLL_TO_TEAM == rc) {
    rc = hcoll_make(module, plan_scatterv(module, &plan, sbuf, scounts, displs, sdtype, rbuf, rcount, rdtype, root),
                    &plan, request);
  }
  return HCOLL_TO_NEXT != rc ? rc
                             : module->next.scatterv_init(sbuf, scounts, displs, sdtype, rbuf, rcount, rdtype, root,
                                                          comm, info, request, module->next.scatterv_init_module);
}

void hcoll_offer_scatterv(mca_coll_base_module_t* module) {
  module->coll_scatterv = scatterv;
  module->coll_iscatterv = iscatterv;
  module->coll_scatterv_init = scatterv_init;
}
