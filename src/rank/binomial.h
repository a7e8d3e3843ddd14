#pragma once
/* A broadcast and a gather of few bytes from and to rank 0, along one binomial tree of the ranks. The start of a job calls
 * several of them one after the other. An MPI's own ones take other pairs of ranks for other sizes, and each new pair opens
 * a connection first: with 16 hosts at 500 us a job's 8 KiB took 67 ms so, and 17 ms along the tree (2026-11, two cores). */

#include "base/c_linkage.h"

SUMAC_C_BEGIN

/** The ranks, and blocking messages between two of them, which arrive in order. Each function returns 0, or the binding's
 *  code for a failure. */
struct sumac_messages {
  void* context; /* the first argument of both functions */
  int rank, size;
  int (*send)(void* context, const void* buffer, int bytes, int peer);
  int (*receive)(void* context, void* buffer, int bytes, int peer);
};

/** Sends `bytes` bytes from rank 0 to all. Returns 0 or the code of the function that failed first. */
int sumac_binomial_bcast(const struct sumac_messages* ranks, void* buffer, int bytes);

/** Collects `bytes` bytes of each rank at rank 0, in rank order; `out` is only used there. Returns the same, or -1: no memory. */
int sumac_binomial_gather(const struct sumac_messages* ranks, const void* in, void* out, int bytes);

SUMAC_C_END
