/* The reason why a team's operation failed, for the program and for the user. */
#ifndef SUMAC_RANK_FAILURE_H
#define SUMAC_RANK_FAILURE_H

#include <stdbool.h>

#include "team/team.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the reason of a failure other than SUMAC_TEAM_NO_MEMORY; it stays valid as long as the team. The team failed
 *  for all its ranks, so one of them prints the reason, once: rank 0, or rank 1 if rank 0 is the one that died.
 *
 *  @param rank    This process's rank in the team.
 *  @param name    The communicator's name.
 *  @param said_p  One for each communicator, false at first: set to true. */
const char* sumac_team_failure(sumac_team_t* team, enum sumac_coll coll, int rank, const char* name, bool* said_p);

#ifdef __cplusplus
}
#endif

#endif
