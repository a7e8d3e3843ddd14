#pragma once
/* Time limits of operations, and the ranks for which others wait. With SUMAC_TIMEOUT an operation that waits for longer breaks
 * its team, with a text that names the ranks which have not begun it; where somebody asked for Sumac, one line names them
 * after 10 s. A rank that waits looks about once a millisecond, so this costs nothing where nobody waits. It always writes
 * what it finds into the process's page (src/recorder).
 *
 * Inside a host a rank that waits notes the time in shared memory. Between hosts the leaders that wait send notes to each
 * other, if the runtime has messages. */

#include "rank/record.h"

static inline bool sumac_limits_on(const sumac_runtime* runtime) {
  return runtime->asked || runtime->settings->timeout_ms > 0;
}

/** Serves as `progress` of a team's spec, with the lane as its context: drives the MPI, and looks. */
void sumac_limits_drive(void* lane);
/** Looks at the posted operations of a lane. */
void sumac_limits_look(sumac_lane_t* lane);
