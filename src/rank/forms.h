#pragma once
/* The three forms of every collective, for both MPI front ends: a call is described (arguments.h), planned, and run, posted or
 * made. Each function returns SUMAC_TO_NEXT where the MPI's own function is to do the call, else an error code of the MPI.
 * Blocking and persistent collectives may wait for other ranks, so they make a communicator's team (worth.h says when); those
 * that are nonblocking make it in steps (making.h). */

#include <limits.h>

#include "rank/arguments.h"
#include "rank/making.h"
#include "rank/record.h"

SUMAC_C_BEGIN

/** MPI has no code with this value. */
enum { SUMAC_TO_NEXT = INT_MIN };

/** The blocking form. */
int sumac_form_run(struct sumac_record* record, enum sumac_coll coll, const struct sumac_arguments* arguments);
/** The nonblocking form: posts to the ordinary team. `*made_p` is NULL if there is nothing to do: then the request is done
 *  when it begins. */
int sumac_form_post(struct sumac_record* record, enum sumac_coll coll, const struct sumac_arguments* arguments,
                    struct sumac_request** made_p);
/** The persistent form, in a lane of its own (record.h). The same answers. */
int sumac_form_make(struct sumac_record* record, enum sumac_coll coll, const struct sumac_arguments* arguments,
                    struct sumac_request** made_p);

/** Called with the code of the MPI's own function after SUMAC_TO_NEXT in the blocking form; returns the code. It counts for
 *  the team that is not made yet, and the team may be comparing the MPI with itself. It does not count if it failed: the MPI
 *  turns away a call with wrong arguments at the rank that made it alone. */
int sumac_form_passed(struct sumac_record* record, int rc);
/** The same for the nonblocking form. */
static inline int sumac_form_spared(struct sumac_record* record, int rc) {
  if (0 == rc && SUMAC_LIFE_FRESH == record->life && record->spared > 0) {
    --record->spared;
  } else if (SUMAC_LIFE_MAKING == record->life) {
    sumac_making_passed(record, rc);
  }
  return rc;
}

/** Completes sumac_form_call(). */
int sumac_form_not_done(struct sumac_record* record, const sumac_call_t* call, int status);

/** Runs a call that nothing is packed for, on a communicator with its team. */
static inline int sumac_form_call(struct sumac_record* record, const sumac_call_t* call) {
  const int status = sumac_team_run(record->ordinary.team, call);
  return __builtin_expect(SUMAC_TEAM_OK == status, 1) ? 0 : sumac_form_not_done(record, call, status);
}

/** The short ways of the calls that programs wait for most: without a plan, once the communicator has its team. */
static inline int sumac_form_barrier(struct sumac_record* record) {
  static const sumac_call_t call = {.coll = SUMAC_COLL_BARRIER};
  static const struct sumac_arguments none = {.in = NULL};
  return __builtin_expect(SUMAC_LIFE_TEAM == record->life, 1) ? sumac_form_call(record, &call)
                                                              : sumac_form_run(record, SUMAC_COLL_BARRIER, &none);
}
/** An allreduce by a pair of the table. */
static inline int sumac_form_allreduce(struct sumac_record* record, const struct sumac_pair* pair, const void* in,
                                       void* out, size_t count, const void* in_place) {
  sumac_call_t call;
  sumac_call_begin(&call, SUMAC_COLL_ALLREDUCE);
  call.in = in == in_place ? out : in;
  call.out = out;
  call.bytes = count * pair->mpi_bytes;
  call.fold = &pair->fold;
  return sumac_form_call(record, &call);
}

/** True if sumac_form_bcast() can do it: the data lie without a gap. `type` may be NULL: then it is none. */
static inline bool sumac_form_is_plain_bcast(const struct sumac_record* record, const struct sumac_layout* type,
                                             int64_t count, int root) {
  return SUMAC_LIFE_TEAM == record->life && NULL != type && 0 < count && 0 < type->size &&
         (1 < count ? type->is_flat : type->is_dense) && 0 <= root && root < record->size;
}
static inline int sumac_form_bcast(struct sumac_record* record, const struct sumac_layout* type, void* buffer,
                                   int64_t count, int root) {
  sumac_call_t call;
  sumac_call_begin(&call, SUMAC_COLL_BCAST);
  call.root = root;
  call.out = (char*)buffer + type->true_lb;
  call.bytes = (size_t)count * type->size;
  return sumac_form_call(record, &call);
}

SUMAC_C_END
