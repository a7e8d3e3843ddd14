#pragma once
/* Operations of a team between hosts: the aggregation tree for those that it can and may do, the MPI's nonblocking collectives
 * among the leaders for the rest, and messages from rank to rank; with SUMAC_ACROSS=p2p connections of our own for both. All ranks agree on the limits when this is opened, so each
 * collective takes the same path at every rank. */

#include "rank/communicator.h"
#include "rank/record.h"

SUMAC_C_BEGIN

/** Communicators for our own messages, as the front end's handles; 0: none. */
struct sumac_carriers {
  uintptr_t all;     /* every rank, with the program's numbers; 0: nothing goes from rank to rank */
  uintptr_t leaders; /* the leaders; 0 at other ranks, and if nothing goes by the MPI's collectives */
};

/** The MPI's functions for them, in a front end. Each stores a request of the MPI at `request`; all return error codes. Blocks
 *  are counted in bytes, because ranks may use different types for the same data. */
struct sumac_between {
  size_t request_bytes; /* the size of an MPI_Request */
  int (*ibarrier)(uintptr_t comm, void* request);
  /** In place: MPI takes MPI_IN_PLACE from all ranks or from none. */
  int (*iallreduce)(uintptr_t comm, void* data, int count, uintptr_t type, uintptr_t op, void* request);
  /** `in` may be MPI_IN_PLACE. */
  int (*ireduce)(uintptr_t comm, const void* in, void* out, int count, uintptr_t type, uintptr_t op, int root,
                 void* request);
  int (*ibcast)(uintptr_t comm, void* data, int bytes, int root, void* request);
  /** In place. */
  int (*iallgatherv)(uintptr_t comm, void* data, const int* counts, const int* displacements, void* request);
  int (*ialltoallv)(uintptr_t comm, const void* in, const int* in_counts, const int* in_displacements, void* out,
                    const int* out_counts, const int* out_displacements, void* request);
  int (*isend)(uintptr_t comm, const void* data, int bytes, int peer, void* request);
  int (*irecv)(uintptr_t comm, void* data, int bytes, int peer, void* request);
  /** Tests all once, which drives the MPI. */
  int (*test)(int count, void* requests, int* done);

  /** Makes the communicators; collective over the record's. They are closed also if it fails.
   *  @param needed  False: the MPI carries nothing. */
  int (*open)(struct sumac_record* record, const int* leaders, int count, bool leads, bool needed,
              struct sumac_carriers* made);
  void (*close)(struct sumac_carriers* made);
  /** Calls `use` with the team's ranks, and with the leaders' (join.hpp says which functions). */
  int (*with)(struct sumac_record* record, const struct sumac_carriers* made, bool leads, void* context,
              int (*use)(void* context, const struct sumac_communicator* team,
                         const struct sumac_communicator* leaders));
};

/** Sets the functions of a team's spec that open this way for the lane. */
void sumac_across_set(sumac_team_spec_t* spec, sumac_lane_t* lane);

/** True if opening it makes communicators for this one. The same at every rank. */
bool sumac_across_needs_communicators(const struct sumac_record* record);

SUMAC_C_END
