#pragma once
/* The line at MPI_Finalize: how many calls went which way, summed over all communicators of the job. A binding adds up
 * its communicators at each rank, sums the records over all ranks, and rank 0 prints. */

#include <stdbool.h>
#include <stdint.h>

#include "base/c_linkage.h"
#include "team/team.h"

SUMAC_C_BEGIN

/** The reasons why a binding passed a call on without asking the team. */
enum sumac_why {
  SUMAC_WHY_FUNCTION, /* a user's operation or a derived type in a reduction */
  SUMAC_WHY_NO_TEAM,  /* the team could not be made */
  SUMAC_WHY_SPARED,   /* the communicator is not worth a team yet (worth.h) */
  SUMAC_WHY_EARLY,    /* nonblocking, before there was a team */
  SUMAC_WHY_ORDER,    /* persistent, and no team of its own serves it */
  SUMAC_WHY_HOSTS,    /* nonblocking, over several hosts */
  SUMAC_WHYS
};

/** Numbers of uint64_t and nothing else: SUMAC_TALLY_NUMBERS of them, summed over ranks as an array. */
struct sumac_tally {
  sumac_counts_t teams;
  uint64_t passed[SUMAC_COLLS][SUMAC_WHYS];
  uint64_t no_group; /* communicators for which the tree had no group */
};
#define SUMAC_TALLY_NUMBERS (sizeof(struct sumac_tally) / sizeof(uint64_t))

/** Adds what a team of this rank counted. Its calls are the same at every rank, so only rank 0 adds them.
 *  @param team  NULL is allowed and adds nothing.
 *  @param rank  This process's rank in the team. */
void sumac_tally_add_team(struct sumac_tally* sum, const sumac_team_t* team, int rank);

/** Adds the calls that a communicator passed on, [coll][why]. Its rank 0 alone calls it. */
void sumac_tally_add_passed(struct sumac_tally* sum, const uint64_t passed[SUMAC_COLLS][SUMAC_WHYS]);

/** Prints the line on stderr; rank 0 calls it with the sum over all ranks.
 *  @param job_id       0: the job has no tree.
 *  @param tree_wanted  Then a job without a tree says so.
 *  @param next         The name of the software that does the calls which are passed on: "next module", "MPI". */
void sumac_tally_print(const struct sumac_tally* sum, uint64_t job_id, bool tree_wanted, const char* next);

SUMAC_C_END
