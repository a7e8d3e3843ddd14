#pragma once
/* The start of a front end in its process: the variables that it reads, and those facts that all ranks must have alike. */

#include <stdbool.h>
#include <stdint.h>

#include "rank/settings.h"
#include "team/team.h"

SUMAC_C_BEGIN

struct sumac_process {
  struct hcoll_settings settings;
  sumac_team_options_t* options; /* NULL with SUMAC_ENABLE=0 */
};

/** Reads the variables of all tables. Returns false if one has no legal value.
 *  @param speaks    This rank prints which one: all ranks of a host mostly have the same environment.
 *  @param is_first  This rank prints the warnings, for all. */
bool sumac_process_read(struct sumac_process* process, bool speaks, bool is_first);
void sumac_process_free(struct sumac_process* process);

/** Reads them once in a process, for front ends that are loaded as libraries: prints what is wrong. NULL: something is, or with
 *  SUMAC_ENABLE=0 `options` is NULL. Any thread may call it. */
const struct sumac_process* sumac_process_own(void);

/** Returns a hash of the settings that ranks must share. */
uint64_t sumac_process_signature(const struct sumac_process* process);

/** Returns a hash of a text; NULL counts as "". */
uint64_t sumac_hash(const char* text);

/** Finds socket, NUMA node and core of this process; each is -1 if unknown, and the host always is. If the environment describes a
 *  machine that does not exist (HWLOC_SYNTHETIC), that is printed if `speaks`.
 *  @param local_rank  Rank among the job's processes on this host, for a machine that is only described. */
void sumac_process_place(int local_rank, bool speaks, sumac_place_t* place);

/** Numbers hosts in the order in which ranks name them, and returns their number.
 *  @param hosts   [size] a number for each rank's host, any one.
 *  @param places  [size] Sets `host`; NULL: the hosts are counted only. */
int sumac_number_hosts(const uint64_t* hosts, int size, sumac_place_t* places);

SUMAC_C_END
