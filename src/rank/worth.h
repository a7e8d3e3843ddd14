#pragma once
/* When a communicator gets its team. Making one costs the time of many calls: a program that makes communicators in a loop
 * and uses each a few times would pay more than it gains. So the MPI does the first calls of a communicator, and the next
 * one makes the team: at once if it is blocking, else in steps (making.h).
 *
 * All ranks must decide alike without a message: a binding counts the blocking and nonblocking collectives that reach it,
 * which MPI demands in the same order of all ranks, and nothing that a rank alone knows. */

#include <stdbool.h>
#include <stdint.h>

#include "rank/settings.h"

SUMAC_C_BEGIN

/** Returns the number of collectives that the MPI does for a new communicator before its team is made: SUMAC_TEAM_AFTER;
 *  0 for MPI_COMM_WORLD, which lives as long as the program, where the level demands a group for every communicator, and
 *  on one host where it has a tree. */
uint32_t sumac_calls_before_team(const struct hcoll_settings* settings, int hosts, bool is_world);

SUMAC_C_END
