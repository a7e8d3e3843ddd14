#include "rank/forms.h"

#include <cstdint>
#include <cstdlib>
#include <initializer_list>

#include "rank/job.h"
#include "rank/making.h"
#include "rank/requests.h"
#include "sharp/api/sumac_ext.h"

namespace {

/// The call goes on to the team.
constexpr int kToTeam = SUMAC_TO_NEXT + 1;

int left(sumac_record& record, sumac_coll coll, sumac_why why) {
  if (record.life != SUMAC_LIFE_STARTING) ++record.passed[coll][why];  // Else it is one of our own calls.
  return SUMAC_TO_NEXT;
}

int not_planned(sumac_record& record, sumac_coll coll, sumac_planned planned) {
  switch (planned) {
    case SUMAC_PLANNED_NOTHING: return 0;
    case SUMAC_PLANNED_NOT_OURS: return left(record, coll, SUMAC_WHY_FUNCTION);
    default: return SUMAC_TO_NEXT;
  }
}

/// Makes the team if the communicator has become worth one, or `now`.
int attach(sumac_record& record, sumac_coll coll, bool now) {
  if (record.life == SUMAC_LIFE_MAKING || record.life == SUMAC_LIFE_UNSETTLED)
    if (const int rc = sumac_making_settle(&record); rc != 0) return rc;
  if (record.life == SUMAC_LIFE_FRESH) {
    if (!now && record.spared > 0) {
      sumac_record_explain_spared(&record);
      return left(record, coll, SUMAC_WHY_SPARED);
    }
    if (const int rc = record.runtime->attach(&record); rc != 0) return rc;
  }
  return record.life == SUMAC_LIFE_TEAM ? kToTeam : left(record, coll, SUMAC_WHY_NO_TEAM);
}

/// Returns the answer for a call that a team did not do.
int not_done(sumac_lane& lane, sumac_coll coll, int status) {
  sumac_record& record = *lane.record;
  if (status == SUMAC_TEAM_PASS) return SUMAC_TO_NEXT;
  if (record.runtime->is_revoked != nullptr && record.runtime->is_revoked(&record)) return SUMAC_TO_NEXT;
  return sumac_lane_failed(&lane, coll, status);
}

int run_packed(sumac_record& record, sumac_plan& plan) {
  const auto* mpi = &record.runtime->packing;
  void* memory = sumac_record_scratch(&record, plan.memory_bytes);
  if (memory == nullptr) return record.runtime->error_no_memory;
  sumac_plan_use(&plan, memory);
  int rc = sumac_plan_pack(&plan, mpi);
  if (rc == 0) rc = sumac_form_call(&record, &plan.call);
  if (rc == 0) rc = sumac_plan_unpack(&plan, mpi);
  sumac_record_trim(&record);
  return rc;
}

// ---- nonblocking and persistent ----

/// Called by the thread that moves the team.
void on_done(void* user, int status) {
  auto& request = *static_cast<sumac_request*>(user);
  request.status = status;
  sumac_progress_done(&request.done);
}

/// Takes what the plan refers to into the request's own hands. Returns an error code.
int keep_data(sumac_request& request, const sumac_record& record) {
  sumac_plan& plan = request.plan;
  const sumac_runtime& runtime = *record.runtime;
  if (sumac_plan_has_numbers(&plan)) {
    request.numbers = static_cast<std::int64_t*>(std::malloc(sizeof(std::int64_t) * SUMAC_PLAN_NUMBERS(record.size)));
    if (request.numbers == nullptr) return runtime.error_no_memory;
    sumac_plan_keep_numbers(&plan, record.size, request.numbers);
  }
  std::uintptr_t* held = request.types;
  const auto hold = [&](std::uintptr_t& type) {
    const int rc = runtime.hold_type(&type);
    if (rc == 0) *held++ = type;
    return rc;
  };
  for (auto* side : {&plan.send, &plan.receive})  // Data sent once are packed when the call returns.
    if (side->is_packed && (side == &plan.receive || request.is_persistent))
      if (const int rc = hold(side->layout.type); rc != 0) return rc;
  if (sumac_plan_is_own(&plan)) {
    request.held_op = plan.own.op;
    runtime.hold_op(request.held_op);
    if (const int rc = hold(plan.own.type); rc != 0) return rc;
  }
  if (plan.memory_bytes == 0) return 0;
  request.memory = std::aligned_alloc(64, plan.memory_bytes);
  if (request.memory == nullptr) return runtime.error_no_memory;
  sumac_plan_use(&plan, request.memory);
  return 0;
}

/// Returns a request with its plan; null: `rc` is the answer.
sumac_request* make_request(sumac_record& record, sumac_coll coll, const sumac_arguments& arguments, bool persistent,
                            int& rc) {
  sumac_request* request = record.runtime->request_new(&record, persistent);
  if (request == nullptr) {
    rc = record.runtime->error_no_memory;
    return nullptr;
  }
  const sumac_planned planned = sumac_plan_make(&record, &request->plan, coll, &arguments);
  rc = planned == SUMAC_PLANNED ? keep_data(*request, record) : not_planned(record, coll, planned);
  if (planned == SUMAC_PLANNED && rc == 0) return request;
  record.runtime->request_drop(request);
  return nullptr;
}

sumac_why why_not_posted(const sumac_record& record) {
  switch (record.life) {
    case SUMAC_LIFE_FRESH: return record.spared > 0 ? SUMAC_WHY_SPARED : SUMAC_WHY_EARLY;
    case SUMAC_LIFE_MAKING: return SUMAC_WHY_EARLY;
    case SUMAC_LIFE_TEAM: return SUMAC_WHY_HOSTS;
    default: return SUMAC_WHY_NO_TEAM;
  }
}

/// If the MPI's calls do not move what is posted, the MPI does those nonblocking collectives of several hosts that need a
/// step by the MPI: our thread must be able to move an operation to its end.
bool may_be_posted(const sumac_record& record) {
  return (record.life == SUMAC_LIFE_TEAM || record.life == SUMAC_LIFE_UNSETTLED) &&
         (record.runtime->moves_in_mpi || record.hosts == 1 || record.has_tree || record.has_own_network);
}
bool may_be_posted(const sumac_record& record, const sumac_call_t& call) {
  return record.runtime->moves_in_mpi || record.hosts == 1 || sumac_team_goes_apart(record.ordinary.team, &call);
}

/// True if nonblocking collectives make the team: then each of them moves it on.
bool makes(const sumac_record& record) {
  return record.life == SUMAC_LIFE_MAKING ||
         (record.life == SUMAC_LIFE_FRESH && record.spared == 0 && sumac_making_serves(&record));
}

int post(sumac_request& request) {
  sumac_lane& lane = *request.lane;
  const sumac_record& record = *lane.record;
  // Our own thread uses the tree beside the program's threads.
  if (record.is_wide && record.runtime->last_resort) (void)sumac_coll_enable_threads(sumac_job_context());
  sumac_progress_enter(&lane);
  const int status = sumac_team_post(lane.team, &request.plan.call, on_done, &request, &request.op);
  if (status != SUMAC_TEAM_OK) {
    sumac_progress_leave_once(&lane);
    return not_done(lane, static_cast<sumac_coll>(request.plan.call.coll), status);
  }
  // This rank sends its part before the program computes, and without waiting for the thread to get a core.
  if (record.is_wide) (void)sumac_team_progress(lane.team);
  sumac_progress_kick();
  return 0;
}

}  // namespace

int sumac_form_not_done(sumac_record* record, const sumac_call_t* call, int status) {
  record->team_passed = status == SUMAC_TEAM_PASS;
  return not_done(record->ordinary, static_cast<sumac_coll>(call->coll), status);
}

int sumac_form_passed(sumac_record* record, int rc) {
  if (rc == 0 && record->team_passed) sumac_team_passed(record->ordinary.team);
  record->team_passed = false;
  return sumac_form_spared(record, rc);
}

int sumac_form_run(sumac_record* record, sumac_coll coll, const sumac_arguments* arguments) {
  if (record->life != SUMAC_LIFE_TEAM) [[unlikely]]
    if (const int rc = attach(*record, coll, false); rc != kToTeam) return rc;
  sumac_plan plan;
  const sumac_planned planned = sumac_plan_make(record, &plan, coll, arguments);
  if (planned != SUMAC_PLANNED) [[unlikely]]
    return not_planned(*record, coll, planned);
  return plan.memory_bytes != 0 ? run_packed(*record, plan) : sumac_form_call(record, &plan.call);
}

int sumac_form_post(sumac_record* record, sumac_coll coll, const sumac_arguments* arguments, sumac_request** made_p) {
  const sumac_runtime& runtime = *record->runtime;
  *made_p = nullptr;
  if (makes(*record)) {
    const int rc = sumac_making_post(record);
    if (rc != 0) return rc == SUMAC_TO_NEXT ? left(*record, coll, SUMAC_WHY_EARLY) : rc;
  }
  if (!may_be_posted(*record)) return left(*record, coll, why_not_posted(*record));
  int rc = 0;
  sumac_request* request = make_request(*record, coll, *arguments, false, rc);
  if (request == nullptr) return rc;
  if (may_be_posted(*record, request->plan.call)) {
    rc = sumac_plan_pack(&request->plan, &runtime.packing);
    if (rc == 0) rc = runtime.request_begin(request);
    if (rc == 0) rc = post(*request);
  } else {
    rc = left(*record, coll, SUMAC_WHY_HOSTS);
  }
  if (rc == 0)
    *made_p = request;
  else
    runtime.request_drop(request);
  return rc;
}

int sumac_form_make(sumac_record* record, sumac_coll coll, const sumac_arguments* arguments, sumac_request** made_p) {
  *made_p = nullptr;
  if (record->life != SUMAC_LIFE_TEAM)
    if (const int rc = attach(*record, coll, true); rc != kToTeam) return rc;
  int rc = 0;
  sumac_request* request = make_request(*record, coll, *arguments, true, rc);
  if (request == nullptr) return rc;
  sumac_lane* lane = sumac_lane_take(record, &rc);
  if (lane != nullptr) {
    request->lane = lane;
    const int status = sumac_op_create(lane->team, &request->plan.call, on_done, request, &request->op);
    if (status == SUMAC_TEAM_OK) {
      *made_p = request;
      return 0;
    }
    rc = not_done(*lane, coll, status);
  } else if (rc == 0) {
    rc = left(*record, coll, SUMAC_WHY_ORDER);
  }
  record->runtime->request_drop(request);
  return rc;
}

int sumac_request_start(sumac_request* request) {
  if (const int rc = sumac_plan_pack(&request->plan, &request->lane->record->runtime->packing); rc != 0) return rc;
  sumac_progress_enter(request->lane);
  const int status = sumac_op_start(request->op);
  if (status != SUMAC_TEAM_OK) on_done(request, status);
  sumac_progress_kick();
  return 0;
}

int sumac_request_result(sumac_request* request) {
  if (request->status == SUMAC_TEAM_OK)
    return sumac_plan_unpack(&request->plan, &request->lane->record->runtime->packing);
  return sumac_lane_failed(request->lane, static_cast<sumac_coll>(request->plan.call.coll), request->status);
}

void sumac_request_begin(sumac_request* request, sumac_record* record, bool is_persistent) {
  request->lane = &record->ordinary;
  request->op = nullptr;
  request->memory = nullptr;
  request->numbers = nullptr;
  for (std::uintptr_t& type : request->types) type = 0;
  request->held_op = 0;
  request->status = SUMAC_TEAM_OK;
  request->is_persistent = is_persistent;
}

void sumac_request_end(sumac_request* request) {
  const sumac_runtime& runtime = *request->lane->record->runtime;
  if (request->op != nullptr) sumac_op_free(request->op);
  if (request->is_persistent) sumac_lane_give(request->lane);
  for (const std::uintptr_t type : request->types)
    if (type != 0) runtime.release_type(type);
  if (request->held_op != 0) runtime.release_op(request->held_op);
  sumac_request_forget(request);
}

void sumac_request_forget(sumac_request* request) {
  std::free(request->memory);
  std::free(request->numbers);
  sumac_request_begin(request, request->lane->record, request->is_persistent);
}
