#pragma once
/* For SUMAC_EXPLAIN=1: the calls that this process's teams left to the MPI, with what they asked for and the reason. The last line
 * of the job has their numbers alone. */

#include "team/team.h"

/** Why, in the words of the last line, which follow a number of calls. */
const char* sumac_left_words(sumac_left why);

/** Adds what a team has left. Each team comes here once, at its rank 0; one thread at a time. */
void sumac_left_add(const sumac_team_t* team);

/** Prints one line on stderr for each reason, collective, type and operation.
 *  @param next  The name of the software that did the calls: "next module", "MPI". */
void sumac_left_print(const char* next);
