#pragma once
/* A communicator whose collectives are nonblocking gets its team behind them, in steps that wait for no other rank:
 *
 *   1. The call that would make the team if it were a blocking one starts an allgather of the MPI, at its place in the order
 *      of the communicator's collectives: the signatures and offers of all ranks.
 *   2. A later call finds it ended. A thread joins the group of the tree. The tree answers when all members have asked: it is
 *      their agreement, and from there on no rank needs the MPI, or its program, to go on.
 *   3. The thread stops the count of the collectives that this rank has given to the MPI, and the members find the largest
 *      count by an operation of the tree. The calls before that number are the MPI's at every rank, those from there on the
 *      team's. A nonblocking call that comes in between waits for the number, which depends on the ranks' threads alone.
 *
 * All that while the MPI does the collectives, and where a step fails it goes on with them. The first blocking collective ends it:
 * all ranks wait for the last step, compare how it ended, and make the team together if it failed.
 *
 * Only where each rank is alone on its host, because no shared memory and no communicator is made then, and where a tree
 * serves the communicator. */

#include <stdbool.h>
#include <stdint.h>

#include "rank/record.h"

SUMAC_C_BEGIN

/** True if a communicator that is fresh can be made so. The same at every rank. */
bool sumac_making_serves(const struct sumac_record* record);

/** Called for each nonblocking collective of a communicator that is worth a team and has none that is settled.
 *  @return 0: the communicator has a team for it. SUMAC_TO_NEXT: the MPI does it, and sumac_making_passed() follows. Else an
 *          error code. */
int sumac_making_post(struct sumac_record* record);
/** The MPI has taken a nonblocking collective, with this code. */
void sumac_making_passed(struct sumac_record* record, int rc);

/** Called in a blocking collective of a communicator that is being made, or whose team is not settled; collective over it.
 *  Afterwards it has its team, or is fresh. Returns an error code. */
int sumac_making_settle(struct sumac_record* record);

/** True while a communicator is being made. */
bool sumac_makings_exist(void);
/** Moves on what communicators have begun that are freed since, and gives their groups back. Any call may do it. */
void sumac_makings_look(void);
/** The program frees the communicator, and the MPI does not bear it while its allgather is under way: waits for that. */
void sumac_making_ripen(struct sumac_record* record);
/** The record ends, and waits for nobody. The others may still need this rank's part, so it goes on without the record. */
void sumac_making_leave(struct sumac_record* record);

/** Ends all that are under way. Called in MPI_Finalize, when all ranks are there and the MPI still works. */
void sumac_makings_end(void);

SUMAC_C_END

#ifdef __cplusplus
struct sumac_joined;
/// Sets a team's spec that needs no exchange, because the making has made them all.
void sumac_making_set(sumac_team_spec_t* spec, sumac_record* record);
/// Gives away the group that was joined, with this rank's numbers, which are all ranks'.
void sumac_making_take(sumac_record* record, sumac_joined* joined, int64_t* agreed);
#endif
