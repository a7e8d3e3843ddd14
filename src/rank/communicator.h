#pragma once
/* A communicator as the common part sees it. */

#include <stdint.h>

#include "base/c_linkage.h"

SUMAC_C_BEGIN

/** The ranks of a communicator, and blocking functions over all of them that the MPI itself does. Each function returns
 *  0, or the binding's code for a failure of the MPI. A header that takes this record names the members it uses. */
struct sumac_communicator {
  void* context; /* the first argument of all functions */
  int rank, size;
  const char* name; /* for messages */
  int (*bcast)(void* context, void* buffer, int bytes, int root);
  int (*barrier)(void* context);
  /** Collects `bytes` of each rank at `root`, in rank order. */
  int (*gather)(void* context, int root, void* in, void* out, int bytes);
  /** Replaces each value by its smallest at any rank. */
  int (*min)(void* context, int64_t* values, int count);
  /** Replaces each value by its sum over all ranks. */
  int (*sum)(void* context, int64_t* values, int count);
  /** Ends the MPI job with exit status 1. NULL: the caller is no MPI, and ends by its own means where it must. */
  void (*abort)(void* context);
};

/** Ends the MPI job with the line that users of HCOLL know. Rank 0 prints it and ends the job; every rank may call.
 *  Uses `rank` and `abort`. */
void sumac_communicator_abort(const struct sumac_communicator* comm) __attribute__((noreturn));

SUMAC_C_END
