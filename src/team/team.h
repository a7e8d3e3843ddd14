/* Teams perform the collectives of one communicator: inside its hosts through shared memory, and between them by the
 * aggregation tree or by MPI's own collectives among the leaders. The interface is C because MPI's components are C.
 * None of its symbols leaves the library it is linked into.
 *
 * The life of a team:
 *   sumac_team_options_read()         once in a process: reads the variables HCOLL_* and SUMAC_*, or names a wrong one
 *   sumac_team_create()               in a communicator's first collective; all ranks agree whether the team exists
 *   sumac_team_run()                  one blocking collective: the hot path
 *   sumac_team_post(), sumac_op_*()   nonblocking and persistent ones; sumac_team_progress() moves them
 *   sumac_team_destroy()              local, does not wait
 *
 * Agreement: every rank calls the same collectives in the same order, as MPI demands. A team's choice for a collective
 * depends only on values that all ranks know: the collective, `bytes` (the signature: count x size of the type; never a
 * local fact such as a derived type), the fold, the root. So SUMAC_TEAM_PASS is the answer at every rank or at none.
 *
 * Threads: only one thread at a time may use a team, unless `threads` of its spec is set: then any thread may post,
 * test and progress while another one does the same. Two different teams never disturb each other. A thread that must
 * not call MPI uses sumac_team_progress_apart(). */
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

/** The status that most functions return. Negative: the call failed. */
enum sumac_team_status {
  SUMAC_TEAM_OK = 0,
  SUMAC_TEAM_PENDING = 1,  /* not done yet: call progress, then ask again */
  SUMAC_TEAM_PASS = 2,     /* the next module does it; the same answer at every rank */
  SUMAC_TEAM_BROKEN = -1,  /* a rank died or the network failed, and so fails every later call: sumac_team_error() */
  SUMAC_TEAM_INVALID = -2, /* the call breaks a rule of this header; nothing was started */
  SUMAC_TEAM_NO_MEMORY = -3,
  SUMAC_TEAM_OOB = -4,   /* the spec's `oob` failed */
  SUMAC_TEAM_DIFFER = -5 /* two ranks of this host have begun different calls under one number */
};

/* ---- options ---- */

/** Reads the environment variables of this layer: HCOLL_SBGP, HCOLL_BCOL, HCOLL_ML_DISABLE_<COLL>, SUMAC_EXPLAIN,
 *  SUMAC_TUNING_FILE, SUMAC_SHM_*, SUMAC_TEAM_* (src/team/options.hpp is the table; the page of options, docs/reference.md, is made from it).
 *
 *  @param options_p   Set on SUMAC_TEAM_OK; freed with sumac_team_options_free(), after the last team made with it.
 *  @param why         On failure one sentence that names the variable and its legal values. On success it may hold a
 *                     remark for users (a tuning file of another machine is not used, a primitive that Sumac lacks has a stand-in);
 *                     rank 0 should print it.
 *  @retval SUMAC_TEAM_INVALID  A value is not legal, or HCOLL_SBGP and HCOLL_BCOL differ in length. */
int sumac_team_options_read(sumac_team_options_t** options_p, char* why, size_t why_bytes);
void sumac_team_options_free(sumac_team_options_t* options);

/** A number that is equal at two ranks if all options that must be equal are equal: publish it with MPI's start-up
 *  data. Options that may differ from host to host (the tuning file) do not count; sumac_team_create() compares
 *  those by itself. */
uint64_t sumac_team_options_signature(const sumac_team_options_t* options);

/** The names of the table, one by one; NULL after the last. A name that ends in "_" stands for every name with that
 *  prefix. */
const char* sumac_team_variable(size_t index);

/** Calls `say` for every environment variable that has one of our prefixes (SUMAC_SHM_, SUMAC_TEAM_), or nearly one
 *  of our names, and that no table knows: one sentence each, with the name that was probably meant. The caller
 *  checks the HCOLL_* names. */
void sumac_team_options_check(void (*say)(const char* sentence));

/** True (1) if SUMAC_REPRODUCIBLE asks for sums along one tree of the ranks: then what carries data between hosts should
 *  add along the tree of its leaders. */
int sumac_team_options_reproducible(const sumac_team_options_t* options);

/** True (1) if SUMAC_EXPLAIN asks for the text of sumac_team_explain(). */
int sumac_team_options_explain(const sumac_team_options_t* options);

/** True (1) if HCOLL_ML_DISABLE_<COLL> switches this collective off. */
int sumac_team_options_disables(const sumac_team_options_t* options, int coll);

/** The ranks that communicate between hosts: one rank of each host, one of each domain (multi-channel), or every
 *  rank. A domain is a NUMA node or a socket: sumac_team_domains(). */
enum sumac_leaders { SUMAC_LEADERS_OF_HOSTS = 0, SUMAC_LEADERS_OF_DOMAINS = 1, SUMAC_LEADERS_ALL = 2 };
int sumac_team_options_leaders(const sumac_team_options_t* options);

/* ---- folds: what a reduction does with two elements ---- */

/** out[i] = a[i] op b[i]. Fill it once per (type, operation) with one of the two functions below and keep it as long
 *  as an operation uses it; its members are for src/shm only. */
typedef struct sumac_fold {
  size_t element_bytes;
  uintptr_t kernel[3];
  void (*function)(const struct sumac_fold* fold, void* out, const void* a, const void* b, size_t count);
  const void* context;
  uint8_t dtype, op, tag; /* the numbers of sharp_coll.h; 12 for a function of the caller's own */
  uint8_t in_mpi;         /* 1: sumac_team_progress_apart() must not call `function`, which is the program's */
  /* The caller's own names, for users ("MPI_2REAL", "MPI_MAXLOC"): NULL, or set after one of the two functions below, of
   * texts that live as long as the process. */
  const char *type_name, *op_name;
} sumac_fold_t;

/** A pair of type and operation with the numbers of sharp_coll.h (enum sharp_datatype, sharp_reduce_op); `tag` is the
 *  tag's type of MINLOC and MAXLOC, else SHARP_DTYPE_NULL.
 *  @retval SUMAC_TEAM_INVALID  The combination is not legal (docs/reference.md). */
int sumac_fold_standard(sumac_fold_t* fold, int dtype, int op, int tag);

/** A function of the caller's own, for types without a kernel here (long double, complex product). It must be
 *  associative, give the same bits at every rank, and use only `fold->context`. `out` may be `a` or `b`. A team may be
 *  given a function that does not commute only if sumac_team_keeps_order(), and elements of at most
 *  sumac_team_element_bytes_max() bytes.
 *  @retval SUMAC_TEAM_INVALID  The element has no bytes, or more than any team takes (SUMAC_ELEMENT_BYTES_MAX). */
int sumac_fold_custom(sumac_fold_t* fold, size_t element_bytes,
                      void (*function)(const sumac_fold_t* fold, void* out, const void* a, const void* b, size_t count),
                      const void* context) __attribute__((warn_unused_result));

/** No sumac_team_element_bytes_max() is larger, so a fold's function may keep an element on its stack. */
#define SUMAC_ELEMENT_BYTES_MAX 16384

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
  SUMAC_COLL_SCAN,
  SUMAC_COLL_EXSCAN,
  SUMAC_COLL_REDUCE_SCATTER,
  SUMAC_COLLS
};

/** Lower-case name: "allreduce". */
const char* sumac_coll_name(int coll);

/** The v-forms: block i has counts[i] * unit bytes and lies displacements[i] * unit bytes after the beginning of the
 *  buffer. Ranks may have arrays of different widths. */
typedef struct sumac_blocks {
  const void* counts;        /* [size] of int, or of int64_t if `is_wide` */
  const void* displacements; /* the same */
  size_t unit;
  uint8_t is_wide;
} sumac_blocks_t;

static inline int64_t sumac_block_count(const sumac_blocks_t* blocks, int i) {
  return blocks->is_wide ? ((const int64_t*)blocks->counts)[i] : ((const int*)blocks->counts)[i];
}
static inline int64_t sumac_block_displacement(const sumac_blocks_t* blocks, int i) {
  return blocks->is_wide ? ((const int64_t*)blocks->displacements)[i] : ((const int*)blocks->displacements)[i];
}

/** One collective. Buffers hold contiguous elements: a caller with a derived type packs and unpacks around the call.
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
 *  scan, exscan           the vector          the vector                      of the vector
 *  reduce_scatter         the vector          own block                       of the vector (in_blocks has the sizes)
 *
 *  Reductions: bytes is a multiple of fold->element_bytes. In place, in MPI's sense, is `in == NULL` or `in == out`:
 *  then `out` holds the vector, the own block at its offset, or all blocks. Use it only where MPI permits it (reduce,
 *  gather(v) and scatter(v): at the root, and for a scatter(v) only as `out == in`). allgatherv: the counts are the same
 *  at every rank, displacements may differ. The memory behind the pointers must not change until the collective is
 *  done. A scan at rank r is the reduction of ranks 0 to r, an exscan that of the ranks
 *  before r: rank 0's `out` stays as it is. The blocks of a reduce_scatter follow each other, so only their counts are
 *  read, which are the same at every rank. */
typedef struct sumac_call {
  uint8_t coll;     /* enum sumac_coll */
  uint16_t meaning; /* 0, or what the ranks of several hosts must agree on beside this: base/meaning.hpp */
  int root;         /* rank in the team; only for the kinds that have a root */
  const void* in;
  void* out;
  size_t bytes;
  const sumac_fold_t* fold; /* reductions only */
  sumac_blocks_t in_blocks;
  sumac_blocks_t out_blocks;
} sumac_call_t;

/* ---- making a team ---- */

/** The position of a rank; -1: unknown. Hosts are numbered from 0; the other numbers count inside the host (socket
 *  0, 1). */
typedef struct sumac_place {
  int32_t host;
  int32_t socket;
  int32_t numa;
  int32_t core;
} sumac_place_t;

/** Counts the domains of a team's ranks. A domain is a NUMA node where the ranks' nodes divide sockets and those of all
 *  ranks of the host are known, else a socket, else the whole host. A team cuts its hosts by it (basesmsocket in
 *  HCOLL_SBGP). So reductions of a team that has one domain combine operands in the order of ranks.
 *
 *  @param places  [size] The positions of the ranks, the same at every rank.
 *  @param own_p   Set to the number of `rank`'s domain: from 0 on each host, in the order of the nodes' or sockets' own
 *                 numbers. May be NULL.
 *  @return  The number of domains on all hosts together. */
int sumac_team_domains(const sumac_place_t* places, int size, int rank, int* own_p);

/** A blocking allgather over the whole communicator, done by the module that was selected before. It returns 0 or an error.
 *  Only sumac_team_create() uses it. */
typedef struct sumac_oob {
  void* context;
  int (*allgather)(void* context, const void* in, void* out, size_t bytes);
} sumac_oob_t;

/** The aggregation tree: an object of src/client (client/tree/tree.h makes it), which is C++ behind this name. */
typedef struct sumac_tree sumac_tree_t;

/** Host algorithms over the network: an object of src/p2p, or of the caller's own, which is a coll::Across in C++. */
typedef struct sumac_network sumac_network_t;

/** The carrier of data among the leaders (one rank of each host, or of each domain if HCOLL_SBGP leaves out
 *  basesmuma): the tree, which is asked first, and the caller's own nonblocking collectives. It is started with
 *  barrier, allreduce, reduce, bcast, allgatherv or alltoallv, with ranks and root being *indices of leaders*; all
 *  leaders start the same ones in the same order; several may be in flight. */
typedef struct sumac_across {
  void* context;
  sumac_tree_t* tree;  /* NULL: there is none, at any rank */
  const char* no_tree; /* then the reason, as a clause for users */
  /** If it is set, it is the carrier in place of the functions below, except close(), which also frees it. Any rank may
   *  start its direct blocks. */
  sumac_network_t* network;
  /** Returns 1 if the caller's own collectives do it, else 0. Every rank calls it, also ranks that lead nothing. The
   *  answer must be the same everywhere, so it may depend only on (coll, bytes, fold) and on agreed values, and it
   *  may not change during the team's life. An allgather is asked for as SUMAC_COLL_ALLGATHERV; bytes of an
   *  allgatherv are those of all blocks together. For reduce_scatter_block bytes is the whole vector; it is started
   *  as an alltoallv of the islands' sums. For alltoall bytes is one block; it is started as an alltoallv. */
  int (*takes)(void* context, int coll, size_t bytes, const sumac_fold_t* fold);
  /** Only leaders call it. Returns 0 and sets *request_p (NULL: done already), or an error: then the team is broken
   *  at every rank. `call`, its buffers and its fold stay valid until test() reports the end. */
  int (*start)(void* context, const sumac_call_t* call, void** request_p);
  /** Any rank may call it: an alltoallv over the whole team, with indices being ranks of the team, in which a block
   *  without bytes is not sent. Two ranks that exchange a block both know it, and a rank without such a block does
   *  not call it. Calls come in the order of the team's operations. NULL: alltoallv over hosts passes through. */
  int (*start_direct)(void* context, const sumac_call_t* call, void** request_p);
  /** Advances the request. Returns 0 when it is done, SUMAC_TEAM_PENDING if not yet, or a negative status if it
   *  failed; after 0 or a failure the request no longer exists. */
  int (*test)(void* context, void* request);
  /** One line about the last failure; may be NULL. */
  const char* (*error)(void* context);
  /** Called once, at every rank where open returned 0: in sumac_team_destroy(), or in a create that fails. It also
   *  frees the tree's object. Local, must not wait. Requests that were started and are not done belong to it from
   *  then on. May be NULL. */
  void (*close)(void* context);
} sumac_across_t;

/** The numbers on which open_across() lets all ranks agree. */
#define SUMAC_AGREED (1 + SUMAC_COLLS)

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
  int threads;     /* other threads may post, test and progress at the same time: one atomic exchange per call */
  int yields;      /* the caller's own waits yield their core (mpi_yield_when_idle): so do ours */
  int ranks_apart; /* every rank counts as a host of its own, so that a tree between hosts serves the ranks of one too */
  int host_ranks; /* processes of the whole job on this host, to choose between spinning and yielding; 0: this team's */
  const char* name; /* the communicator's name, for explain and errors; may be NULL */
  /** Create calls these three at every rank if ranks are on more than one host (or in several domains without basesmuma).
   *  `leaders` are ranks of the team, ascending; `my_index` is -1 at a rank that leads nothing. The first one writes what this
   *  rank has to say to all others beforehand, which travels with create's own first exchange: `offer` has offer_bytes.
   *  NULL: nothing. */
  void (*offer_across)(void* context, const int* leaders, int leader_count, int my_index, void* offer);
  size_t offer_bytes;
  /** There will be no team, and open_across() was not called: what the offer reserved is of no use. NULL: nothing. */
  void (*drop_offer)(void* context);
  /** Makes the communicator or group of the leaders and fills `across`. Collective over the team: it may use MPI.
   *  @param offers  [size][offer_bytes], by rank.
   *  @param agreed  [SUMAC_AGREED] To be set: create's second exchange finds the minimum of each over all ranks.
   *  @return 0, or an error at any rank: then there is no team. NULL: collectives of such teams pass through. */
  int (*open_across)(void* context, const int* leaders, int leader_count, int my_index, const void* offers,
                     int64_t* agreed, sumac_across_t* across);
  /** Every rank has opened. `agreed` has the minima, the same at all ranks. May set tree and no_tree of `across`. NULL: it has
   *  nothing to do. Returns 0, or an error, which is the same at all ranks: then there is no team. */
  int (*agree_across)(void* context, const int64_t* agreed, sumac_across_t* across);
  void* open_context;
  int has_no_next; /* 1: the caller has no collectives of its own (Python), so none are timed beside the team's */
  void* calls;     /* memory in which the ranks of this host compare their calls (below); NULL: they do not */
} sumac_team_spec_t;

/** Makes a team: cuts the ranks into levels, makes one shared segment per host, connects the leaders, and lets all ranks agree on
 *  whether the team exists. Collective; costs two allgathers of `oob` (more if a segment needs a second attempt), and
 *  what the spec's functions do.
 *
 *  @param team_p  Set on SUMAC_TEAM_OK.
 *  @param why     Otherwise one line with the reason. On SUMAC_TEAM_OK mostly "", else a line for each fact that
 *                 makes collectives slower or hides a failure (a small /dev/shm). The same at every rank: rank 0
 *                 should print it, and each line only once in a job.
 *  @retval SUMAC_TEAM_PASS  There is no team and nothing is left of it; all ranks got this answer and pass
 *                           everything through.
 *  @retval SUMAC_TEAM_OOB   The `oob` failed; the other ranks' answers are unknown. */
int sumac_team_create(const sumac_team_spec_t* spec, sumac_team_t** team_p, char* why, size_t why_bytes);

/** Frees all that the team has at this rank. Local: other ranks may still be in their last collective. Operations
 *  that are not done are dropped; their handles are freed too, active or not. */
void sumac_team_destroy(sumac_team_t* team);

/** True (1) if the team combines the operands of every reduction in the order of ranks: all ranks meet at once in one
 *  shared memory. The same at every rank. */
int sumac_team_keeps_order(const sumac_team_t* team);

/** The most bytes that an element of this collective may have; a predefined type is never larger. The same at every
 *  rank. */
size_t sumac_team_element_bytes_max(const sumac_team_t* team, int coll);

/* ---- running ---- */

/** Returns true if sumac_team_progress_apart() would bring this call to its end, because no step of it is by MPI. The
 *  answer is the same at every rank; nothing is started or counted. */
bool sumac_team_goes_apart(const sumac_team_t* team, const sumac_call_t* call);

/** One blocking collective. Operations posted before are finished first.
 *  @retval SUMAC_TEAM_PASS  The next module does it; the counters count it as passed. Call sumac_team_passed() behind it. */
int sumac_team_run(sumac_team_t* team, const sumac_call_t* call);

/** Called when the next module has done, without an error, a call for which sumac_team_run() returned SUMAC_TEAM_PASS: the
 *  team may be timing both. */
void sumac_team_passed(sumac_team_t* team);

/** Called once, by the thread that moves the team, when an operation is done; `status` is SUMAC_TEAM_OK or negative.
 *  It must not call the team again, except sumac_op_free() of that very operation. */
typedef void (*sumac_op_done_t)(void* user, int status);

/** Makes an operation that can be started again and again (MPI_Allreduce_init). The call is copied; the memory
 *  behind its pointers is not.
 *  @param done  May be NULL: then sumac_op_test() reports the end.
 *  @retval SUMAC_TEAM_PASS  *op_p is not set: the next module does it. */
int sumac_op_create(sumac_team_t* team, const sumac_call_t* call, sumac_op_done_t done, void* user, sumac_op_t** op_p);

/** Posts it behind all operations posted before, in the same order at every rank. Barriers, allreduces, reduces and broadcasts
 *  over several hosts are under way together, up to 64 at once; they end in their order. (MPI lets ranks start
 *  persistent collectives in different orders: such a collective needs a team of its own.) It must not be active
 *  already. */
int sumac_op_start(sumac_op_t* op);

/** Does sumac_op_start() and the first steps: `done` may be called before it returns. */
int sumac_op_begin(sumac_op_t* op);

/** Advances the team and returns SUMAC_TEAM_OK (also if it was never started), SUMAC_TEAM_PENDING, or the failure. */
int sumac_op_test(sumac_op_t* op);

/** Frees it; if it is still active, later progress finishes it first, without a call of `done`. */
void sumac_op_free(sumac_op_t* op);

/** Does create and start in one (MPI_Iallreduce). With any other answer than SUMAC_TEAM_OK there is no operation. */
int sumac_team_post(sumac_team_t* team, const sumac_call_t* call, sumac_op_done_t done, void* user, sumac_op_t** op_p);

/** Advances the posted operations. Never blocks; returns how many operations ended. Returns 0 at once when nothing is
 *  posted, or while the team is being advanced further up the stack or by another thread. */
int sumac_team_progress(sumac_team_t* team);

/** Does the same for a thread beside MPI's own, which must not call MPI: it never calls start(), start_direct() or test()
 *  of sumac_across_t. Operations by shared memory and by the tree go on to their end. The first operation whose next
 *  step is one of those calls stops in front of it, and all behind it wait, until sumac_team_progress() or
 *  sumac_team_run() has made that step. An operation whose fold is `in_mpi` stops before its first step. The team must have been made with `threads`. */
int sumac_team_progress_apart(sumac_team_t* team);

/** The events that the operations under way wait for, as bits. */
enum sumac_awaits {
  SUMAC_AWAITS_LOOK = 1, /* ranks of this host, which wake nobody: look again */
  SUMAC_AWAITS_TREE = 2, /* messages of the tree: sumac_coll_wait_fd() becomes readable */
  SUMAC_AWAITS_MPI = 4   /* a step by MPI, which sumac_team_progress_apart() does not make */
};

/** Returns these bits as the last thread that moved the team left them; 0 if nothing is posted. */
unsigned sumac_team_awaits(const sumac_team_t* team);

/** Sleeps at most `us` microseconds, or until something may have arrived from other hosts for the operations under way.
 *  Only the thread that moves the team calls it.
 *  @return True if it has slept; false where one of them waits for ranks of this host, or by a way that ends no sleep. */
bool sumac_team_sleep(sumac_team_t* team, int us);

/** A number that changes when a large posted operation has made progress without reaching its end. A caller that
 *  polls can use it to see whether polling is worth it. */
unsigned sumac_team_moves(const sumac_team_t* team);

/** The number of operations posted and not yet done: while it is 0 there is no need to call sumac_team_progress(). */
int sumac_team_active(const sumac_team_t* team);

/** The next actions of a thread that moves teams beside the program's own thread. */
typedef struct sumac_rest {
  int looks;    /* call sumac_team_progress_apart() of each team so many times in a row while it returns 0 */
  bool yields;  /* before that, yield the core */
  int sleep_us; /* before that, sleep for so long, or until something is posted; 0: do not sleep */
} sumac_rest_t;

/** Returns the actions of such a thread when no team has moved for `idle_us` microseconds. At first it looks again at
 *  once, then it yields, then it sleeps, longer and longer but never more than 500 us. */
sumac_rest_t sumac_thread_rest(int64_t idle_us);

/** The reason why the team is broken, in one line that names the rank; "" if it is not. Valid until destroy. */
const char* sumac_team_error(sumac_team_t* team);

/** Breaks the team for a reason of the caller's own, such as a time limit: operations that are not done fail here at once,
 *  and at the other ranks of this host within 10 ms, with the same text. Any thread may call it, also from `progress` of
 *  the spec. A team that is broken keeps its first reason. */
void sumac_team_break(sumac_team_t* team, const char* why);

/** Breaks the team if a rank of this host has died or has broken it. Operations under way do this by themselves; a caller that
 *  waits before it starts one asks now and then. Only the thread that moves the team calls it.
 *  @return SUMAC_TEAM_OK or SUMAC_TEAM_BROKEN. */
int sumac_team_check(sumac_team_t* team);

/* ---- who waits, and for whom ---- */

/** A number that changes from one operation under way to the next. It is the same at all ranks of several hosts that wait in the
 *  same operation. Called by a thread that waits in the team, or moves it. */
uint64_t sumac_team_ended(const sumac_team_t* team);

/** Notes that this rank waits in the team at `now_ns` of CLOCK_MONOTONIC, for sumac_team_missing() of the ranks behind the
 *  same leader. */
void sumac_team_waits(sumac_team_t* team, int64_t now_ns);

/** Finds the ranks behind this rank's leader that have not noted it since `since_ns`, or not in the second before `now_ns`:
 *  they have not begun the operation, or are stopped.
 *  @param ranks  [size of the team] Set to them, ascending.
 *  @return Their number. */
int sumac_team_missing(const sumac_team_t* team, int64_t since_ns, int64_t now_ns, int* ranks);

/** Writes into the process's page (src/recorder) that these ranks have not begun the newest operation. The same threads as of
 *  sumac_team_waits(). */
void sumac_team_misses(sumac_team_t* team, const int* ranks, size_t count);

/** Has the process of a rank of this host ended? False also where the kernel does not say. Any thread may call it. */
bool sumac_team_is_dead(const sumac_team_t* team, int rank);

/** Returns the rank of a leader by its index. */
int sumac_team_leader(const sumac_team_t* team, int index);

/* ---- ranks that compare their calls ----
 *
 * MPI's ranks call the same collectives. A front end that wants this checked gives all ranks of a host one memory, `calls` of
 * the spec, in which each of them writes what it begins: ranks that differ are found out instead of adding up different things,
 * and a rank that waits can name those that have not come. The caller numbers its calls from 1 on, in the order in which the
 * team gets them. It runs them by sumac_team_run_agreed(), or begins, meets and posts them, and calls sumac_team_differ()
 * behind each. On SUMAC_TEAM_DIFFER `why` says how two ranks differ, and the caller breaks the team. */

/** The bytes of `calls`, zeros at first, for so many ranks of a host. */
size_t sumac_team_calls_bytes(int ranks);

/** Does sumac_team_run() if no rank of this host has broken the team. */
int sumac_team_run_agreed(sumac_team_t* team, const sumac_call_t* call, uint64_t number, char* why, size_t why_bytes);

/** Writes down that this rank begins a call. Only the thread that moves the team calls it. */
void sumac_team_begin(sumac_team_t* team, const sumac_call_t* call, uint64_t number);

/** Called before a call is posted that has begun. Shared memory may copy a large one straight into another rank's memory, and
 *  of one whose blocks differ in size each rank knows other sizes: these wait for all ranks of the host, and compare first.
 *  @param oldest  The oldest call under way, which is compared as well, with those that follow it.
 *  @retval SUMAC_TEAM_PENDING  Ask again: some rank of this host has not begun it. */
int sumac_team_meet(const sumac_team_t* team, const sumac_call_t* call, uint64_t number, uint64_t oldest, char* why,
                    size_t why_bytes);

/** Compares what this rank has begun lately under the numbers from `first` to `last` with what the others of its host have
 *  begun: SUMAC_TEAM_OK or SUMAC_TEAM_DIFFER. Any thread may call it. */
int sumac_team_differ(const sumac_team_t* team, uint64_t first, uint64_t last, char* why, size_t why_bytes);

/** Has this rank of this host begun the call with this number? Any thread may call it. */
bool sumac_team_has_begun(const sumac_team_t* team, int rank, uint64_t number);

/* ---- saying what is done, and why ---- */

enum sumac_way {
  SUMAC_WAY_HOST,    /* shared memory alone: all ranks on one host */
  SUMAC_WAY_LEADERS, /* shared memory inside the hosts, MPI's own collective among the leaders */
  SUMAC_WAY_TREE,    /* shared memory inside the hosts, the aggregation tree between them */
  SUMAC_WAY_PASS,    /* the next module */
  SUMAC_WAYS
};

typedef struct sumac_choice {
  int way;          /* enum sumac_way */
  const char* how;  /* the algorithm of shared memory, such as "flat"; "" where it has no part */
  char reason[512]; /* why this way and not another one; what was refused */
} sumac_choice_t;

/** Returns what the team would do with a collective of `bytes` (as in sumac_call_t; allgatherv: the largest block).
 *  `fold` may be NULL: a usual one. It starts nothing. */
void sumac_team_choice(const sumac_team_t* team, int coll, size_t bytes, const sumac_fold_t* fold,
                       sumac_choice_t* choice);

/** A text for users (SUMAC_EXPLAIN=1): the shape of the team, then one line per collective and range of sizes with
 *  the choice, the refused alternatives, and the reasons. Or one line that names an earlier communicator, if this
 *  function has already returned the same table for that one in this process; it remembers the first 16 different ones.
 *  The caller frees the text with free(). Returns NULL if memory is short. Threads: any number at once. */
char* sumac_team_explain(const sumac_team_t* team);

/** Why a team left a call to the next module. */
enum sumac_left {
  SUMAC_LEFT_OFF,    /* HCOLL_ML_DISABLE_<COLL> switches it off */
  SUMAC_LEFT_FASTER, /* the next module was faster, by the times of the program's own calls */
  SUMAC_LEFT_SIZE,   /* more bytes than the tree takes, or than leaders should carry */
  SUMAC_LEFT_TYPE,   /* the tree has no form of this type and operation */
  SUMAC_LEFT_COLL,   /* nothing is gained by this collective: the tree does not do it, or there is none */
  SUMAC_LEFTS
};

/** Calls that were left for one reason, of one collective, type and operation. */
typedef struct sumac_left_calls {
  uint8_t coll, why;               /* enum sumac_coll, enum sumac_left */
  const char *type_name, *op_name; /* "" unless it is a reduction */
  uint64_t calls;
  size_t bytes_min, bytes_max; /* as in sumac_call_t */
} sumac_left_calls_t;

/** Returns the next row of what the team has left, from 0 on; false behind the last one. */
bool sumac_team_left(const sumac_team_t* team, size_t index, sumac_left_calls_t* row);

/** Calls that are not the program's: while it is off, the team notes nothing of what it leaves. */
void sumac_team_notes_left(sumac_team_t* team, bool on);

/** The number of operations by way; the caller may add them up over teams and ranks. The caller itself counts calls
 *  that it passes on without asking the team (a user operation, a derived type in a reduction). */
typedef struct sumac_counts {
  uint64_t calls[SUMAC_COLLS][SUMAC_WAYS]; /* the same numbers at every rank, so those of one rank are enough */
  /* Single copies that found memory which the system does not copy for other processes, and so used shared memory. On
   * each host one rank counts them, so add up all ranks. */
  uint64_t closed;
  uint64_t left[SUMAC_LEFTS]; /* the reasons for those of SUMAC_WAY_PASS, except where notes are off */
  uint64_t hop[SUMAC_COLLS];  /* those of SUMAC_WAY_TREE that the kernels of nodes answered; rank 0 knows */
} sumac_counts_t;
void sumac_team_counts(const sumac_team_t* team, sumac_counts_t* counts);

/** The same numbers of one collective alone: a caller that compares them before and after its call learns which way the
 *  call went. [SUMAC_WAYS] */
void sumac_team_ways(const sumac_team_t* team, int coll, uint64_t* calls);

/** The number of leaders between the hosts, and this rank's index among them (-1: none). On a single host 1, and 0
 *  or -1. */
int sumac_team_leaders(const sumac_team_t* team, int* my_index);

#ifdef __cplusplus
}
#endif

#endif
