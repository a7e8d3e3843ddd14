#pragma once
/* The call of a collective as a program makes it, in MPI's own terms: the description of an operation at the door of each MPI
 * front end. sumac_plan_make() turns it into the call of a team. */

#include <stdint.h>

#include "rank/plan.h"

SUMAC_C_BEGIN

struct sumac_record;

/** Members that a collective's function has no parameter for are zero; handles are the MPI's, as numbers. A rank for which MPI
 *  calls an argument not significant may have anything there. */
struct sumac_arguments {
  const void* in;
  void* out;
  int64_t in_count, out_count; /* a reduction and a bcast have the second one */
  uintptr_t in_type, out_type; /* the same */
  sumac_blocks_t in_blocks, out_blocks;
  uintptr_t op;
  const void *in_types, *out_types; /* arrays of handles */
  int root;
};

/** The decision about a call. */
enum sumac_planned {
  SUMAC_PLANNED,          /* run plan->call, between sumac_plan_pack() and sumac_plan_unpack() */
  SUMAC_PLANNED_NOTHING,  /* there is no byte to move or reduce, and all ranks know it */
  SUMAC_PLANNED_NOT_OURS, /* the MPI does it, at all ranks */
  SUMAC_PLANNED_WRONG     /* the MPI finds the mistake in the arguments */
};

/** Makes the plan of a call on a communicator that has its team. */
enum sumac_planned sumac_plan_make(const struct sumac_record* record, struct sumac_plan* plan, enum sumac_coll coll,
                                   const struct sumac_arguments* arguments);

/** The ranks of a communicator, for the bytes of a call. `peers` is the number of ranks that get a block from this one: in an
 *  intercommunicator those of the other group. */
struct sumac_shape {
  int rank, size, peers;
};
struct sumac_runtime;
/** Returns the bytes of a call for a profile: what this rank gives, or gets where the root alone gives.
 *  @param coll  enum sumac_profile_coll. */
uint64_t sumac_bytes_of(const struct sumac_runtime* runtime, int coll, const struct sumac_shape* on,
                        const struct sumac_arguments* arguments);

SUMAC_C_END
