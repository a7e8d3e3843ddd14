#include "forms.h"

#include <stdlib.h>

#include "requests.h"

/* For a reduction with a user's operation or type that no team can do. */
static int leave_to_next(hcoll_module_t* module, const struct sumac_plan* plan) {
  hcoll_count_passed(module, plan->call.coll, SUMAC_WHY_FUNCTION);
  return HCOLL_TO_NEXT;
}

int hcoll_attached_late(hcoll_module_t* module, enum sumac_coll coll, bool now) {
  if (SUMAC_LIFE_FRESH == module->record.life) {
    if (!now && module->record.spared > 0) {
      sumac_record_explain_spared(&module->record);
      --module->record.spared;
      hcoll_count_passed(module, coll, SUMAC_WHY_SPARED);
      return HCOLL_TO_NEXT;
    }
    int rc = hcoll_attach_first(module);
    if (OMPI_SUCCESS != rc) {
      return rc;
    }
  }
  if (SUMAC_LIFE_TEAM == module->record.life) {
    return HCOLL_TO_TEAM;
  }
  hcoll_count_passed(module, coll, SUMAC_WHY_NO_TEAM);
  return HCOLL_TO_NEXT;
}

int hcoll_run_packed(hcoll_module_t* module, enum hcoll_planned planned, struct sumac_plan* plan) {
  if (HCOLL_NOTHING == planned) {
    return MPI_SUCCESS;
  }
  if (HCOLL_NOT_OURS == planned) {
    return leave_to_next(module, plan);
  }
  void* memory = sumac_record_scratch(&module->record, plan->memory_bytes);
  if (NULL == memory) {
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  sumac_plan_use(plan, memory);
  int rc = sumac_plan_pack(plan, &hcoll_runtime.packing);
  rc = MPI_SUCCESS == rc ? hcoll_run_call(module, &plan->call) : rc;
  rc = MPI_SUCCESS == rc ? sumac_plan_unpack(plan, &hcoll_runtime.packing) : rc;
  sumac_record_trim(&module->record);
  return rc;
}

int hcoll_post(hcoll_module_t* module, enum hcoll_planned planned, const struct sumac_plan* plan,
               ompi_request_t** request_p) {
  sumac_lane_t* lane = &module->record.ordinary;
  if (HCOLL_NOTHING == planned) {
    *request_p = &ompi_request_empty;
    return MPI_SUCCESS;
  }
  if (HCOLL_NOT_OURS == planned) {
    return leave_to_next(module, plan);
  }
  hcoll_request_t* request = hcoll_request_make(lane, plan, false);
  if (NULL == request) {
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  request->super.super.req_state = OMPI_REQUEST_ACTIVE;
  int rc = sumac_plan_pack(&request->plan, &hcoll_runtime.packing);
  if (MPI_SUCCESS != rc) {
    hcoll_request_drop(request);
    return rc;
  }
  *request_p = &request->super.super;
  sumac_progress_enter(lane);
  int status = sumac_team_post(lane->team, &request->plan.call, hcoll_request_on_done, request, &request->op);
  if (OPAL_LIKELY(SUMAC_TEAM_OK == status)) {
    if (module->is_wide) {
      (void)sumac_team_progress(lane->team); /* This rank sends its part before the program computes. */
    }
    sumac_progress_kick();
    return MPI_SUCCESS;
  }
  sumac_progress_leave_once(lane);
  hcoll_request_drop(request);
  *request_p = MPI_REQUEST_NULL;
  return SUMAC_TEAM_PASS == status ? HCOLL_TO_NEXT : sumac_lane_failed(lane, plan->call.coll, status);
}

static int make_in(sumac_lane_t* lane, const struct sumac_plan* plan, ompi_request_t** request_p) {
  hcoll_request_t* request = hcoll_request_make(lane, plan, true);
  if (NULL == request) {
    sumac_lane_give(lane);
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  int status = sumac_op_create(lane->team, &request->plan.call, hcoll_request_on_done, request, &request->op);
  if (SUMAC_TEAM_OK == status) {
    *request_p = &request->super.super;
    return MPI_SUCCESS;
  }
  hcoll_request_drop(request);
  return SUMAC_TEAM_PASS == status ? HCOLL_TO_NEXT : sumac_lane_failed(lane, plan->call.coll, status);
}

int hcoll_make(hcoll_module_t* module, enum hcoll_planned planned, const struct sumac_plan* plan,
               ompi_request_t** request_p) {
  if (HCOLL_NOTHING == planned) {
    return ompi_request_persistent_noop_create(request_p);
  }
  if (HCOLL_NOT_OURS == planned) {
    return leave_to_next(module, plan);
  }
  int rc;
  sumac_lane_t* lane = sumac_lane_take(&module->record, &rc);
  if (NULL != lane) {
    return make_in(lane, plan, request_p);
  }
  hcoll_count_passed(module, plan->call.coll, SUMAC_WHY_ORDER);
  return OMPI_SUCCESS == rc ? HCOLL_TO_NEXT : rc;
}
