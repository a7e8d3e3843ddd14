#pragma once
/* Which calls are the program's, and not Open MPI's own: only those count. The functions of a module are wrapped in
 * functions that look at their caller; with SUMAC_PROFILE and SUMAC_TRACE they also note the time and report the call. */

#include <stdatomic.h>

#include "hcoll.h"
#include "rank/profile.h"

static inline bool hcoll_watches(void) { return hcoll_on() && sumac_profile_wanted(&hcoll.process.settings); }

/** One call of a function of ours. */
struct hcoll_watch {
  enum { HCOLL_WATCH_PLAIN, HCOLL_WATCH_MEASURED, HCOLL_WATCH_OWN } kind; /* OWN: Open MPI's */
  hcoll_module_t* module;
  struct sumac_profile_call call;
  struct sumac_counted before;
};

extern const void* _Atomic hcoll_watch_usual[SUMAC_PROFILE_COLLS][SUMAC_FORMS];
/** True if a call from there needs neither of the functions below. */
static inline bool hcoll_watch_needs_nothing(const void* caller, int coll, int form) {
  return caller == atomic_load_explicit(&hcoll_watch_usual[coll][form], memory_order_relaxed);
}
/** Returns true if the call is measured: then hcoll_watch_counts() follows. */
bool hcoll_watch_begins(struct hcoll_watch* watch, mca_coll_base_module_t* base, int coll, int form,
                        const void* caller);
void hcoll_watch_counts(struct hcoll_watch* watch, uint64_t bytes);
/** @param request  NULL: the call is a blocking one. */
void hcoll_watch_ends(struct hcoll_watch* watch, ompi_request_t* const* request);

/** Begins to count; collective over MPI_COMM_WORLD, in MPI_Init. */
void hcoll_watch_begin(hcoll_module_t* world);
