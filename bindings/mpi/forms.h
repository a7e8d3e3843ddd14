/* The three forms of every collective. Each of MPI's functions first asks whether the team may have the call, then
 * passes the plan:
 *
 *   blocking      hcoll_attached(), hcoll_run()
 *   nonblocking   hcoll_may_post(), hcoll_post()
 *   persistent    hcoll_attached_now(), hcoll_make()
 *
 * Each of them returns HCOLL_TO_TEAM (go on), HCOLL_TO_NEXT (call the next module) or the code that MPI is to
 * return. */
#ifndef SUMAC_MPI_FORMS_H
#define SUMAC_MPI_FORMS_H

#include <limits.h>

#include "plan.h"

/* MPI has no code with one of these values. */
enum { HCOLL_TO_NEXT = INT_MIN, HCOLL_TO_TEAM };

/** Completes hcoll_attached() and hcoll_attached_now() where there is no team yet, or none at all. */
int hcoll_attached_late(hcoll_module_t* module, enum sumac_coll coll, bool now);

/** For a blocking collective: makes the team if the communicator has become worth one. */
static inline int hcoll_attached(hcoll_module_t* module, enum sumac_coll coll) {
  return OPAL_LIKELY(SUMAC_LIFE_TEAM == module->record.life) ? HCOLL_TO_TEAM : hcoll_attached_late(module, coll, false);
}

/** For a persistent collective, which is made once to run often: makes the team in any case. */
static inline int hcoll_attached_now(hcoll_module_t* module, enum sumac_coll coll) {
  return SUMAC_LIFE_TEAM == module->record.life ? HCOLL_TO_TEAM : hcoll_attached_late(module, coll, true);
}

/** Never makes a team: making one waits for all ranks, and a nonblocking collective must not wait. */
static inline int hcoll_may_post(hcoll_module_t* module, enum sumac_coll coll) {
  if (OPAL_LIKELY(SUMAC_LIFE_TEAM == module->record.life)) {
    return HCOLL_TO_TEAM;
  }
  const bool is_spared = SUMAC_LIFE_FRESH == module->record.life && module->record.spared > 0;
  module->record.spared -= is_spared;
  hcoll_count_passed(module, coll,
                     is_spared                                 ? SUMAC_WHY_SPARED
                     : SUMAC_LIFE_FRESH == module->record.life ? SUMAC_WHY_EARLY
                                                               : SUMAC_WHY_NO_TEAM);
  return HCOLL_TO_NEXT;
}

/** Runs a call without a plan, for which nothing can be packed. */
static inline int hcoll_run_call(hcoll_module_t* module, const sumac_call_t* call) {
  int status = sumac_team_run(module->record.ordinary.team, call);
  if (OPAL_LIKELY(SUMAC_TEAM_OK == status)) {
    return MPI_SUCCESS;
  }
  return SUMAC_TEAM_PASS == status ? HCOLL_TO_NEXT : sumac_lane_failed(&module->record.ordinary, call->coll, status);
}

/** Called with the code of a blocking collective of the next module, for the kinds that the team compares with it; returns
 *  the code. */
static inline int hcoll_passed(hcoll_module_t* module, int rc) {
  if (MPI_SUCCESS == rc && NULL != module->record.ordinary.team) {
    sumac_team_passed(module->record.ordinary.team);
  }
  return rc;
}

/** Completes hcoll_run() if a side is packed or there is nothing to run. */
int hcoll_run_packed(hcoll_module_t* module, enum hcoll_planned planned, struct sumac_plan* plan);

static inline int hcoll_run(hcoll_module_t* module, enum hcoll_planned planned, struct sumac_plan* plan) {
  if (OPAL_UNLIKELY(HCOLL_PLANNED != planned || 0 != plan->memory_bytes)) {
    return hcoll_run_packed(module, planned, plan);
  }
  return hcoll_run_call(module, &plan->call);
}

/** Posts to the team; MPI's progress or the progress thread moves the operation. `*request_p` is set on MPI_SUCCESS. */
int hcoll_post(hcoll_module_t* module, enum hcoll_planned planned, const struct sumac_plan* plan,
               ompi_request_t** request_p);

/** Makes an operation that MPI_Start starts again and again, in a lane of its own (rank/record.h). `*request_p` is set on
 *  MPI_SUCCESS. */
int hcoll_make(hcoll_module_t* module, enum hcoll_planned planned, const struct sumac_plan* plan,
               ompi_request_t** request_p);

#endif
