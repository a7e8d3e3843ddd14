#pragma once
/* The position of this process on its host, for a binding that publishes it. */

#include <cstddef>
#include <cstdint>

#include "team/team.h"

/** Finds socket, NUMA node and core of this process; each is -1 if unknown, and the host always is.
 *
 *  @param local_rank  Rank among the job's processes on this host, for a machine that is only described.
 *  @param why         One line if the environment describes a machine that does not exist (HWLOC_SYNTHETIC), else "". */
void sumac_own_place(uint32_t local_rank, sumac_place_t* place, char* why, size_t why_bytes);

/** Returns a number of the kernel that this process runs on: processes with the same one share CLOCK_MONOTONIC.
 *  @param host  Stands for the kernel where /proc is not there. */
uint64_t sumac_own_kernel(const char* host);
