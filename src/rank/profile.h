#pragma once
/* SUMAC_PROFILE and SUMAC_TRACE: each rank counts its own calls (profile_table.hpp) and keeps the last ones (trace.hpp), and
 * at MPI_Finalize rank 0 prints the sums. A binding brings its MPI, notes the time around each call of the program, and
 * reports the call. If both variables are off, nothing here is called but sumac_profile_wanted(). */

#include <stdbool.h>
#include <stdint.h>

#include "rank/communicator.h"
#include "rank/settings.h"
#include "team/team.h"

SUMAC_C_BEGIN

/** The collectives of a profile: those of a team with their numbers (enum sumac_coll), and those that every binding
 *  leaves to the MPI. */
enum sumac_profile_coll { SUMAC_PROFILE_ALLTOALLW = SUMAC_COLLS, SUMAC_PROFILE_COLLS };

enum sumac_form { SUMAC_FORM_BLOCKING, SUMAC_FORM_NONBLOCKING, SUMAC_FORM_PERSISTENT, SUMAC_FORMS };

/** The ways of a profile: those of a team with their numbers (enum sumac_way), and one more. */
enum sumac_profile_way {
  SUMAC_PROFILE_NO_DATA = SUMAC_WAYS, /* the call had nothing to move, so it ended at once */
  SUMAC_PROFILE_WAYS
};

/** Writes the name of the MPI's function in lower case, without its prefix: "iallreduce", "allreduce_init". */
void sumac_profile_name(int coll, int form, char name[40]);
/** Returns "shared memory"; `next` is the name of the software that does the calls which are passed on. */
const char* sumac_profile_way_name(int way, const char* next);

static inline bool sumac_profile_wanted(const struct hcoll_settings* settings) {
  return 0 != settings->profile || NULL != settings->trace;
}

struct sumac_runtime;
/** Begins to count; collective over the world, in MPI_Init.
 *  @param world  MPI_COMM_WORLD: `rank`, `size`, `bcast`, `barrier`, `gather`, `min`, `sum`. It is copied; its context must
 *                live until sumac_profile_end().
 *  @param host   This rank's; copied.
 *  @param hosts  Their number. */
void sumac_profile_begin(const struct sumac_runtime* runtime, const struct sumac_communicator* world, const char* host,
                         int hosts);

/** The clock of all times here. */
int64_t sumac_profile_now(void);

/** A call of the program that has returned. */
struct sumac_profile_call {
  int coll, form, way; /* enum sumac_profile_coll, sumac_form, sumac_profile_way */
  uint64_t bytes;
  int64_t start_ns;
};
/** True if the communicators' names are of use. */
bool sumac_profile_traces(void);
/** Counts a call that ends now. Any thread may call it.
 *  @param communicator  Its name; "": it has none. */
void sumac_profile_add(const struct sumac_profile_call* call, const char* communicator);

/** Returns the way of a call that has returned, from what was counted since it began.
 *  @param ways    What each way of the communicator's team counted for this collective. [SUMAC_WAYS]
 *  @param passed  The calls that the binding passed on. */
int sumac_profile_way_of(const uint64_t ways[SUMAC_WAYS], uint64_t passed, int coll, uint64_t bytes);

/** Prints the profile and writes the trace; collective over the world, in MPI_Finalize. */
void sumac_profile_end(void);

SUMAC_C_END
