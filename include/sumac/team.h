/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Teams: ranks that compute together, without MPI. A team's ranks are processes of one host or of several; they meet by one
 * function of the program's, and then have collectives, and messages between two of them. Inside a host data go through shared
 * memory, between hosts by messages over tcp, or by the aggregation tree where the variables of docs/reference.md ask for it.
 *
 *     sumac_open_team_t* team;
 *     if (sumac_team_open(&params, &team) != SUMAC_OK) fputs(sumac_team_why(NULL), stderr);
 *     sumac_team_allreduce(team, mine, sums, 1000, SUMAC_FLOAT64, SUMAC_SUM, NULL);
 *     sumac_team_close(team);
 *
 * Every rank of a team calls the same collectives in the same order, with the same counts, types, operations and roots.
 *
 * Requests: each operation has a last argument `request_p`. NULL: the function returns when the operation is done at this rank.
 * Else it returns at once; on SUMAC_OK it has set *request_p, and sumac_team_test() or sumac_team_wait() end that. Until then the
 * memory of the operation, arrays of bytes and offsets too, stays as it is. An operation goes on only inside calls of its team.
 *
 * Threads: one at a time uses a team. A child of fork() cannot use its parent's teams.
 *
 * Statuses: functions return enum sumac_status. After SUMAC_ERR_BROKEN and SUMAC_ERR_TIMEOUT the team runs nothing any more, at
 * any rank: close it. After any other one it goes on. sumac_team_why() has the reason. */
#ifndef SUMAC_TEAM_PUBLIC_H
#define SUMAC_TEAM_PUBLIC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sumac_open_team sumac_open_team_t;
typedef struct sumac_team_request sumac_team_request_t;

enum sumac_status {
  SUMAC_OK = 0,
  SUMAC_IN_PROGRESS = 1,  /* sumac_team_test() only: not done yet */
  SUMAC_ERR_INVALID = -1, /* an argument is wrong, or a message has another size than its receive: mend the call */
  SUMAC_ERR_BROKEN = -2,  /* a rank died, or a connection to its host */
  SUMAC_ERR_TIMEOUT = -3, /* it took longer than the team's limit */
  SUMAC_ERR_NO_MEMORY = -4,
  SUMAC_ERR_UNSUPPORTED = -5 /* a variable of the environment switches it off */
};

enum sumac_type {
  SUMAC_UINT32 = 0,
  SUMAC_INT32 = 1,
  SUMAC_UINT64 = 2,
  SUMAC_INT64 = 3,
  SUMAC_FLOAT32 = 4,
  SUMAC_FLOAT64 = 5,
  SUMAC_UINT16 = 6,
  SUMAC_INT16 = 7,
  SUMAC_FLOAT16 = 8,
  SUMAC_BFLOAT16 = 9,
  SUMAC_UINT8 = 10,
  SUMAC_INT8 = 11
};

/** Sums and products of integers wrap. L: of logical values, the result is 0 or 1. B: of bits, integers only. */
enum sumac_reduction {
  SUMAC_MAX = 0,
  SUMAC_MIN = 1,
  SUMAC_SUM = 2,
  SUMAC_PROD = 3,
  SUMAC_LAND = 4,
  SUMAC_BAND = 5,
  SUMAC_LOR = 6,
  SUMAC_BOR = 7,
  SUMAC_LXOR = 8,
  SUMAC_BXOR = 9
};

/* ---- the life of a team ---- */

struct sumac_team_params {
  size_t struct_bytes; /* sizeof(struct sumac_team_params): it may grow */
  int rank, size;
  /** The ranks meet by it: blocking, `out` gets the `bytes` of each rank in the order of ranks, which is equal everywhere. Returns 0,
   *  or an error. Only sumac_team_open() calls it, a few times. */
  int (*allgather)(void* context, const void* in, void* out, size_t bytes);
  void* context;
  const char* name; /* for people, in errors and with SUMAC_EXPLAIN=1; NULL: "team" */
  /** No operation takes longer. 0: SUMAC_TIMEOUT, or no limit where that is unset; it limits the making of a team too. */
  int64_t timeout_ms;
};

/** Makes a team; collective over its ranks. All ranks get a team, or none does.
 *  @param team_p  Set on SUMAC_OK; the caller ends it with sumac_team_close(). */
int sumac_team_open(const struct sumac_team_params* params, sumac_open_team_t** team_p);

/** Ends a team at this rank. Operations that are not done are dropped, with their requests. NULL is allowed. The team's counts are
 *  printed with SUMAC_LAST_LINE=1; then this waits up to 1 s for the other ranks. */
void sumac_team_close(sumac_open_team_t* team);

int sumac_team_rank(const sumac_open_team_t* team);
int sumac_team_size(const sumac_open_team_t* team);

/** Why the last function failed that was called with this team; NULL: why the last sumac_team_open() of this thread did. It is
 *  valid until the next call. */
const char* sumac_team_why(const sumac_open_team_t* team);

/* ---- requests ---- */

/** Moves the team, and returns SUMAC_IN_PROGRESS, or the operation's status: then the request is gone. */
int sumac_team_test(sumac_team_request_t* request);
/** Does so until the operation is done. */
int sumac_team_wait(sumac_team_request_t* request);

/* ---- collectives ----
 *
 * `in` may be equal to `out`, or NULL: in place, `out` has the input then. In an allgather that is the own block at its place; for
 * reduce and gather it holds at the root alone, where `out` is used alone. A scatter in place is `out` equal to `in`, at the root. */

int sumac_team_barrier(sumac_open_team_t* team, sumac_team_request_t** request_p);

/** @param data  [bytes] Read at `root`, written at all others. */
int sumac_team_bcast(sumac_open_team_t* team, void* data, size_t bytes, int root, sumac_team_request_t** request_p);

/** @param in, out  [count] elements of `type`; count is elements, not bytes. */
int sumac_team_allreduce(sumac_open_team_t* team, const void* in, void* out, size_t count, enum sumac_type type,
                         enum sumac_reduction op, sumac_team_request_t** request_p);
int sumac_team_reduce(sumac_open_team_t* team, const void* in, void* out, size_t count, enum sumac_type type,
                      enum sumac_reduction op, int root, sumac_team_request_t** request_p);
/** At rank r the reduction of ranks 0 to r; exscan: of those before r, and rank 0's `out` stays as it is. */
int sumac_team_scan(sumac_open_team_t* team, const void* in, void* out, size_t count, enum sumac_type type,
                    enum sumac_reduction op, sumac_team_request_t** request_p);
int sumac_team_exscan(sumac_open_team_t* team, const void* in, void* out, size_t count, enum sumac_type type,
                      enum sumac_reduction op, sumac_team_request_t** request_p);
/** @param in     [size * count] elements: block r is reduced for rank r.
 *  @param out    [count] elements. In place: [size * count], of which the first block is the result. */
int sumac_team_reduce_scatter(sumac_open_team_t* team, const void* in, void* out, size_t count, enum sumac_type type,
                              enum sumac_reduction op, sumac_team_request_t** request_p);

/** @param bytes  Of one block. allgather: `in` is one block and `out` has size blocks; alltoall: both have; gather: `out` has, at the
 *                root alone; scatter: `in` has, at the root alone. */
int sumac_team_allgather(sumac_open_team_t* team, const void* in, void* out, size_t bytes,
                         sumac_team_request_t** request_p);
int sumac_team_alltoall(sumac_open_team_t* team, const void* in, void* out, size_t bytes,
                        sumac_team_request_t** request_p);
int sumac_team_gather(sumac_open_team_t* team, const void* in, void* out, size_t bytes, int root,
                      sumac_team_request_t** request_p);
int sumac_team_scatter(sumac_open_team_t* team, const void* in, void* out, size_t bytes, int root,
                       sumac_team_request_t** request_p);

/** Blocks of different sizes: block r has bytes[r] and begins offsets[r] bytes behind the buffer's begin. [size]
 *  @param bytes  allgatherv: the same at every rank, and `in` has the bytes of the own rank. alltoallv: what a rank sends to another one
 *                is what that one receives. */
int sumac_team_allgatherv(sumac_open_team_t* team, const void* in, void* out, const int64_t* bytes,
                          const int64_t* offsets, sumac_team_request_t** request_p);
int sumac_team_alltoallv(sumac_open_team_t* team, const void* in, const int64_t* in_bytes, const int64_t* in_offsets,
                         void* out, const int64_t* out_bytes, const int64_t* out_offsets,
                         sumac_team_request_t** request_p);

/* ---- messages ---- */

#define SUMAC_ANY_RANK (-1)

/** Sends a message to another rank (to itself: SUMAC_ERR_INVALID). Messages of one tag from one rank arrive in the order of the calls. A large one is done when its
 *  receive has begun, so two ranks that both send first use requests.
 *  @param tag  0 to INT32_MAX. */
int sumac_team_send(sumac_open_team_t* team, const void* data, size_t bytes, int to, int tag,
                    sumac_team_request_t** request_p);

/** Receives one of exactly `bytes`.
 *  @param from    A rank, or SUMAC_ANY_RANK: the first message with this tag.
 *  @param from_p  NULL, or set to the sender when the receive is done. */
int sumac_team_recv(sumac_open_team_t* team, void* data, size_t bytes, int from, int tag, int* from_p,
                    sumac_team_request_t** request_p);

#ifdef __cplusplus
}
#endif

#endif
