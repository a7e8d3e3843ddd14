/* Teams: the collectives of one communicator, inside its hosts by shared memory and between them by whatever the caller
 * has (the aggregation tree, or MPI's own collectives among the leaders). A C interface, because MPI's components are
 * C. No symbol of it leaves the library it is linked into.
 *
 * The life of a team:
 *   sumac_team_options_read()         once in a process: HCOLL_* and SUMAC_* variables, or what is wrong with them
 *   sumac_team_create()               in a communicator's first collective; all ranks agree whether it stands
 *   sumac_team_run()                  one blocking collective: the hot path
 *   sumac_team_post(), sumac_op_*()   nonblocking and persistent ones; sumac_team_progress() moves them
 *   sumac_team_destroy()              local, waits for nobody
 *
 * Agreement. Every rank calls the same collectives in the same order, as MPI asks for. What a team does with one
 * depends only on what all ranks know alike: the collective, `bytes` (the signature: count x size of the type; never a
 * local fact such as a derived type), the fold, the root. So SUMAC_TEAM_PASS is the answer at every rank or at none.
 *
 * Threads. One thread at a time per team, unless `threads` of its spec is set: then any thread may post, test and
 * progress while another one does the same; two different teams never disturb each other. */
#ifndef SUMAC_TEAM_H
#define SUMAC_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sumac_team sumac_team_t;
typedef struct sumac_op sumac_op_t;
typedef struct sumac_team_options sumac_team_options_t;

/** What most functions return. Negative: it failed. */
enum sumac_team_status {
  SUMAC_TEAM_OK = 0,
  SUMAC_TEAM_PENDING = 1,  /* not done yet: progress, then ask again */
  SUMAC_TEAM_PASS = 2,     /* not for this team: the next module does it; the same answer at every rank */
  SUMAC_TEAM_BROKEN = -1,  /* a rank died or the way across failed: so fails every later one; see sumac_team_error() */
  SUMAC_TEAM_INVALID = -2, /* the call breaks a rule of this header; nothing was started */
  SUMAC_TEAM_NO_MEMORY = -3,
  SUMAC_TEAM_OOB = -4 /* a function of the spec's `oob` failed */
};

/* ---- options ---- */

/** Reads the variables of the environment that belong here: HCOLL_SBGP, HCOLL_BCOL, HCOLL_ML_DISABLE_<COLL>,
 *  SUMAC_EXPLAIN, SUMAC_TUNING_FILE, SUMAC_SHM_*, SUMAC_TEAM_* (src/team/options.hpp is the table; docs/config.md is
 *  made from it).
 *
 *  @param options_p   Set on SUMAC_TEAM_OK; freed with sumac_team_options_free(), after the last team made with it.
 *  @param why         On failure one sentence that names the variable and what is legal. Also on success, if not empty:
 *                     a remark for people (a tuning file of another machine, which is left alone); rank 0 should print
 *                     it.
 *  @retval SUMAC_TEAM_INVALID  A value is not legal, or HCOLL_SBGP and HCOLL_BCOL have not the same length. */
int sumac_team_options_read(sumac_team_options_t** options_p, char* why, size_t why_bytes);
void sumac_team_options_free(sumac_team_options_t* options);

/** A number that is the same where all that must be the same at all ranks is the same: publish it with MPI's start-up
 *  data. What may differ from host to host (the tuning file) is not in it: sumac_team_create() finds that out by
 *  itself. */
uint64_t sumac_team_options_signature(const sumac_team_options_t* options);

/** The names of the table, one by one; NULL after the last. One that ends in "_" stands for every name so begun. */
const char* sumac_team_variable(size_t index);

/** Tells `say` of every variable of the environment with our prefixes (SUMAC_SHM_, SUMAC_TEAM_), or nearly one of our
 *  names, that nobody knows: one sentence each, with the name that was probably meant. HCOLL_* names are the caller's
 *  to check. */
void sumac_team_options_check(void (*say)(const char* sentence));

/** True (1) if SUMAC_EXPLAIN asks for the text of sumac_team_explain(). */
int sumac_team_options_explain(const sumac_team_options_t* options);

/** Who goes between hosts: one rank of each host, one of each socket (multi-channel), or every rank. */
enum sumac_leaders { SUMAC_LEADERS_OF_HOSTS = 0, SUMAC_LEADERS_OF_SOCKETS = 1, SUMAC_LEADERS_ALL = 2 };
int sumac_team_options_leaders(const sumac_team_options_t* options);

/* ---- folds: what a reduction does with two elements ---- */

/** out[i] = a[i] op b[i]. Fill it once per (type, operation) with one of the two functions below and keep it as long as
 *  an operation uses it; its members are for src/shm. */
typedef struct sumac_fold {
  size_t element_bytes;
  uintptr_t kernel[3];
  void (*function)(const struct sumac_fold* fold, void* out, const void* a, const void* b, size_t count);
  const void* context;
  uint8_t dtype, op, tag; /* the numbers of sharp_coll.h; 12 where the function is the caller's own */
} sumac_fold_t;

/** A pair of type and operation with the numbers of sharp_coll.h (enum sharp_datatype, sharp_reduce_op); `tag` is the
 *  tag's type of MINLOC and MAXLOC, else SHARP_DTYPE_NULL.
 *  @retval SUMAC_TEAM_INVALID  The combination is not legal (docs/types.md). */
int sumac_fold_standard(sumac_fold_t* fold, int dtype, int op, int tag);

/** A function of the caller's, for what has no kernel here (long double, complex product): it must be commutative and
 *  associative, give the same bits at every rank, and use `fold->context` only. `out` may be `a` or `b`. */
void sumac_fold_custom(sumac_fold_t* fold, size_t element_bytes,
                       void (*function)(const sumac_fold_t* fold, void* out, const void* a, const void* b,
                                        size_t count),
                       const void* context);

/* ---- a collective ---- */

enum sumac_coll {
  SUMAC_COLL_BARRIER,
  SUMAC_COLL_ALLREDUCE,
  SUMAC_COLL_REDUCE,
  SUMAC_COLL_BCAST,
  SUMAC_COLL_ALLGATHER,
  SUMAC_COLL_ALLGATHERV,
  SUMAC_COLL_ALLTOALL,
  SUMAC_COLL_ALLTOALLV,
  SUMAC_COLL_REDUCE_SCATTER_BLOCK,
  SUMAC_COLL_GATHER,
  SUMAC_COLL_GATHERV,
  SUMAC_COLL_SCATTER,
  SUMAC_COLL_SCATTERV,
  SUMAC_COLLS
};

/** Lower-case name: "allreduce". */
const char* sumac_coll_name(int coll);

/** The v-forms: block i has counts[i] * unit bytes and lies displacements[i] * unit bytes behind the buffer's
 *  beginning. */
typedef struct sumac_blocks {
  const int* counts;        /* [size] */
  const int* displacements; /* [size] */
  size_t unit;
} sumac_blocks_t;

/** One collective. Buffers hold contiguous elements: who has a derived type packs and unpacks around it.
 *
 *  coll                   in                  out                             bytes
 *  barrier                -                   -                               0
 *  allreduce, reduce      the vector          the vector (reduce: root only)  of the vector
 *  bcast                  -                   the data, at every rank         of the data
 *  allgather              own block           size blocks                     of one block
 *  allgatherv             own block           by out_blocks                   0 (out_blocks has the sizes)
 *  alltoall               size blocks         size blocks                     of one block
 *  alltoallv              by in_blocks        by out_blocks                   0
 *  reduce_scatter_block   size blocks         own block                       of one block
 *  gather                 own block           size blocks (root only)         of one block
 *  gatherv                own block           by out_blocks (root only)       of the own block
 *  scatter                size blocks (root)  own block                       of one block
 *  scatterv               by in_blocks (root) own block                       of the own block
 *
 *  Reductions: bytes is a multiple of fold->element_bytes. In place, in MPI's sense, is `in == NULL` or `in == out`:
 *  the vector, the own block at its place in `out`, or all blocks are found in `out`. Say so only where MPI lets you
 *  (reduce, gather(v) and scatter(v): at the root, a scatter's by
 *  `out == in`). allgatherv: the counts are the same at every rank, displacements may differ. Everything
 *  behind the pointers must stay as it is until the collective is done. */
typedef struct sumac_call {
  uint8_t coll; /* enum sumac_coll */
  int root;     /* rank in the team; of the kinds that have one */
  const void* in;
  void* out;
  size_t bytes;
  const sumac_fold_t* fold; /* reductions only */
  sumac_blocks_t in_blocks;
  sumac_blocks_t out_blocks;
} sumac_call_t;

/* ---- making a team ---- */

/** Where a rank is. -1: unknown. Hosts are numbered from 0; the other numbers count inside the host (socket 0, 1). */
typedef struct sumac_place {
  int32_t host;
  int32_t socket;
  int32_t numa;
  int32_t core;
} sumac_place_t;

/** Blocking functions over the whole communicator, done by the module that was there before. Each returns 0 or an
 *  error. They are used in sumac_team_create() only; `allgather` is the one that must be there. */
typedef struct sumac_oob {
  void* context;
  int (*allgather)(void* context, const void* in, void* out, size_t bytes);
  int (*bcast)(void* context, void* buffer, size_t bytes, int root);
  int (*barrier)(void* context);
} sumac_oob_t;

/** The aggregation tree: an object of src/client (client/tree.h makes it), which is C++ behind this name. */
typedef struct sumac_tree sumac_tree_t;

/** What moves data among the leaders (one rank of each host, or of each socket where HCOLL_SBGP leaves out basesmuma): the tree, which is
 *  asked first, and the caller's own nonblocking collectives. What is started is barrier, allreduce, reduce, bcast, allgatherv or alltoallv,
 *  with ranks and root being *indices of leaders*; all leaders start the same ones in the same order; several may be in flight. */
typedef struct sumac_across {
  void* context;
  sumac_tree_t* tree;  /* NULL: there is none, at any rank */
  const char* no_tree; /* then, for people: why, as a clause */
  /** 1 where the caller's own collectives do it, else 0. Asked at every rank, also at those that lead nothing: the answer must be the
   *  same everywhere, so it may depend on (coll, bytes, fold) and on what was agreed, and it may not change during the team's
   *  life. An allgather is asked for as SUMAC_COLL_ALLGATHERV; bytes of an allgatherv are those of all blocks together.
   *  reduce_scatter_block: bytes of the whole vector; it is started as an alltoallv of the islands' sums. alltoall: bytes of a block;
   *  it is started as an alltoallv. */
  int (*takes)(void* context, int coll, size_t bytes, const sumac_fold_t* fold);
  /** Leaders only. Returns 0 and sets *request_p (NULL: done already), or an error: then the team is broken at every
   *  rank. `call`, its buffers and its fold stay valid until test() says it is done. */
  int (*start)(void* context, const sumac_call_t* call, void** request_p);
  /** Every rank: an alltoallv over the whole team, indices being ranks of the team, in which a block without bytes is not
   *  sent. Two ranks that exchange something both know it, and a rank that has no such block at all does not call it. In the order of
   *  the team's operations. NULL: alltoallv over hosts passes through. */
  int (*start_direct)(void* context, const sumac_call_t* call, void** request_p);
  /** 0: done, the request is gone. SUMAC_TEAM_PENDING: not yet. Negative: failed, the request is gone. Moves the
   *  request on. */
  int (*test)(void* context, void* request);
  /** One line about the last failure; may be NULL. */
  const char* (*error)(void* context);
  /** Called once in sumac_team_destroy(), or in a create that comes to nothing, at every rank where open returned 0: ends the tree's
   *  object too. Local, must not wait. Requests that were started and not yet done belong to it from then on. May be NULL. */
  void (*close)(void* context);
} sumac_across_t;

typedef struct sumac_team_spec {
  size_t struct_bytes; /* sizeof(sumac_team_spec_t) */
  int rank;
  int size;
  const sumac_place_t* places; /* [size], the same at every rank; not needed after create */
  const sumac_team_options_t* options;
  sumac_oob_t oob;
  /** Drives MPI while a rank waits: at least once a millisecond, never in the first microseconds. It may call
   *  sumac_team_progress() of any team. May be NULL. */
  void (*progress)(void* context);
  void* progress_context;
  int threads;    /* other threads may post, test and progress at the same time: one atomic exchange per call */
  int host_ranks; /* processes of the whole job on this host, to choose between spinning and yielding; 0: this team's */
  const char* name; /* of the communicator, for explain and errors; may be NULL */
  /** Called in create at every rank, where ranks are on more than one host (or on sockets without basesmuma): make the
   *  communicator or group of the leaders and fill `across`. `leaders` are ranks of the team, ascending; `my_index` is
   *  -1 at who leads nothing. Collective over the team: may use MPI. Returns 0, or an error at any rank: then there is
   *  no team. NULL: collectives of such teams pass through. */
  int (*open_across)(void* context, const int* leaders, int leader_count, int my_index, sumac_across_t* across);
  void* open_context;
} sumac_team_spec_t;

/** Makes a team: cuts the ranks into levels, makes one shared segment per host, and lets all ranks agree on whether it
 *  stands. Collective; costs two allgathers of `oob` (more where a segment needs a second attempt).
 *
 *  @param team_p  Set on SUMAC_TEAM_OK.
 *  @param why     Otherwise one line that says why not. On SUMAC_TEAM_OK mostly "", else a line for each thing that will be slower
 *                 or not seen (a small /dev/shm). The same at every rank: rank 0 should print it, and each line once in a job.
 *  @retval SUMAC_TEAM_PASS  There is no team and nothing is left of it; all ranks got this answer and pass everything
 *                     through.
 *  @retval SUMAC_TEAM_OOB   A function of `oob` failed: what the other ranks got is unknown. */
int sumac_team_create(const sumac_team_spec_t* spec, sumac_team_t** team_p, char* why, size_t why_bytes);

/** Frees all that the team has at this rank. Local: other ranks may still be in their last collective. Operations that
 *  are not done are dropped; their handles are gone too, active or not. */
void sumac_team_destroy(sumac_team_t* team);

/* ---- running ---- */

/** One blocking collective. What was posted before is finished first.
 *  @retval SUMAC_TEAM_PASS  The next module's; the counters have it as passed. */
int sumac_team_run(sumac_team_t* team, const sumac_call_t* call);

/** Called once, by whichever thread moves the team, when an operation is done; `status` is SUMAC_TEAM_OK or negative.
 *  It must not call the team again, except sumac_op_free() of that very operation. */
typedef void (*sumac_op_done_t)(void* user, int status);

/** Makes an operation that can be started again and again (MPI_Allreduce_init). The call is copied; what it points to
 *  is not.
 *  @param done  May be NULL: then sumac_op_test() tells.
 *  @retval SUMAC_TEAM_PASS  *op_p is not set: the next module's. */
int sumac_op_create(sumac_team_t* team, const sumac_call_t* call, sumac_op_done_t done, void* user, sumac_op_t** op_p);

/** Posts it: it runs after all that was posted before, in the same order at every rank. (MPI lets ranks start persistent
 *  collectives in different orders: such a one needs a team of its own.) It must not be active already. */
int sumac_op_start(sumac_op_t* op);

/** Moves the team on and looks. SUMAC_TEAM_OK (also if it was never started), SUMAC_TEAM_PENDING, or how it failed. */
int sumac_op_test(sumac_op_t* op);

/** Gives it back; one that is still active is finished first, by later progress, without its `done`. */
void sumac_op_free(sumac_op_t* op);

/** create and start in one (MPI_Iallreduce). On any other answer than SUMAC_TEAM_OK there is no operation. */
int sumac_team_post(sumac_team_t* team, const sumac_call_t* call, sumac_op_done_t done, void* user, sumac_op_t** op_p);

/** Moves what was posted. Never blocks; returns how many operations came to their end. 0 at once when nothing is
 *  posted, or when the team is just being moved further up the stack or by another thread. */
int sumac_team_progress(sumac_team_t* team);

/** Another number than before: a large posted operation has come forward, without coming to its end. For who looks again and again
 *  and wants to know whether it is worth it. */
unsigned sumac_team_moves(const sumac_team_t* team);

/** How many operations are posted and not yet done: while it is 0 nobody needs to call sumac_team_progress(). */
int sumac_team_active(const sumac_team_t* team);

/** Why the team is broken, in one line that names the rank; "" if it is not. Valid until destroy. */
const char* sumac_team_error(const sumac_team_t* team);

/* ---- saying what is done, and why ---- */

enum sumac_way {
  SUMAC_WAY_HOST,    /* shared memory alone: all ranks on one host */
  SUMAC_WAY_LEADERS, /* shared memory inside the hosts, MPI's own collective among the leaders */
  SUMAC_WAY_TREE,    /* shared memory inside the hosts, the aggregation tree across */
  SUMAC_WAY_PASS,    /* the next module */
  SUMAC_WAYS
};

typedef struct sumac_choice {
  int way;          /* enum sumac_way */
  const char* how;  /* of shared memory: "flat", "" where none has a part */
  char reason[512]; /* why this way and not another one; what was refused */
} sumac_choice_t;

/** What the team would do with a collective of `bytes` (as in sumac_call_t; allgatherv: the largest block). `fold` may
 *  be NULL: a usual one. A pure function of the team: nothing is started. */
void sumac_team_choice(const sumac_team_t* team, int coll, size_t bytes, const sumac_fold_t* fold,
                       sumac_choice_t* choice);

/** For people (SUMAC_EXPLAIN=1): the shape of the team, then one line per collective and range of sizes: what was
 *  chosen, what was refused, and why. Returns the bytes needed, the end's 0 included, as snprintf does. */
size_t sumac_team_explain(const sumac_team_t* team, char* text, size_t text_bytes);

/** How many operations went which way; sums over teams and ranks are sums of uint64_t. A call that the caller passes on
 *  without asking the team (a user operation, a derived type in a reduction) it counts by itself. */
typedef struct sumac_counts {
  uint64_t calls[SUMAC_COLLS][SUMAC_WAYS]; /* the same numbers at every rank: one speaks for all */
  uint64_t closed; /* single copies that found memory which the system copies for nobody, and went through shared memory
                      instead; each host's are with one of its ranks, so this is summed over all */
} sumac_counts_t;
void sumac_team_counts(const sumac_team_t* team, sumac_counts_t* counts);

/** The team's leaders across: how many, and this rank's index among them (-1: none). 1 and 0 or -1 on a single host. */
int sumac_team_leaders(const sumac_team_t* team, int* my_index);

#ifdef __cplusplus
}
#endif

#endif
