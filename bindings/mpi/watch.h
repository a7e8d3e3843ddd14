/* Which calls are the program's, and not Open MPI's own: only those count. The functions of a module are wrapped in
 * functions that look at their caller; with SUMAC_PROFILE and SUMAC_TRACE they also note the time and report the call. */
#ifndef SUMAC_MPI_WATCH_H
#define SUMAC_MPI_WATCH_H

#include "hcoll.h"
#include "rank/profile.h"

static inline bool hcoll_watches(void) {
  return hcoll_on() && sumac_profile_wanted(&mca_coll_hcoll_component.settings);
}

/** Wraps the functions of a new module. */
void hcoll_watch(mca_coll_base_module_t* module);

/** Begins to count; collective over MPI_COMM_WORLD, in MPI_Init. */
void hcoll_watch_begin(hcoll_module_t* world);

#endif
