#pragma once
/* The lines for SUMAC_EXPLAIN=1. One rank of a communicator calls the first two functions. */

#include "base/c_linkage.h"
#include "team/team.h"

SUMAC_C_BEGIN

/** Prints why a communicator has no team, if the user asked for explanations and this process has not printed this reason.
 *  @param name  The communicator's name; "": it has none. */
void sumac_explain_none(const sumac_team_options_t* options, const char* name, int size, const char* why);

/** Prints what a new team will do, if the user asked for explanations: a table, or one line if this process has printed
 *  the same table for an earlier communicator. */
void sumac_explain_team(const sumac_team_options_t* options, const sumac_team_t* team);

/** Every rank calls it at the end, after it has added its teams to the tally: prints the number of further communicators
 *  without a team, by reason, and one line for each reason, collective, type and operation that teams left to the MPI, if the user asked for explanations.
 *  @param next  The name of the software that did the calls: "next module", "MPI". */
void sumac_explain_end(const sumac_team_options_t* options, const char* next);

/** Returns why a team left calls to the MPI, in the words of the last line, which follow a number of calls. */
const char* sumac_left_words(enum sumac_left why);

/** Adds what a team has left. Each team comes here once, at its rank 0; one thread at a time. */
void sumac_left_add(const sumac_team_t* team);

SUMAC_C_END
