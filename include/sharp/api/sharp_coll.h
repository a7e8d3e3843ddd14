/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives that are added up inside the network. Source- and binary-compatible with level 3.6 of the SHARP
 * collective interface, written from its public description; implemented by libsharp_coll.so of Sumac, entirely in
 * software.
 *
 * A program's life with it:
 *     sharp_coll_init            all processes of a job; asks the manager for a share of the aggregation tree
 *     sharp_coll_comm_init       the members of one communicator; makes a group on the tree
 *     sharp_coll_do_allreduce    and the others, blocking or with a request (_nb)
 *     sharp_coll_comm_destroy, sharp_coll_finalize
 *
 * The library has no way of its own to reach other processes before the tree stands: the caller lends it three
 * *out-of-band* functions (bcast, barrier, gather), which any MPI or process manager provides.
 *
 * Every function returns 0 (SHARP_COLL_SUCCESS) or a negative number of enum sharp_error_no, unless it says otherwise.
 * The library never ends the process, writes nothing to stdout and starts no thread. Messages for people go to stderr
 * (SHARP_COLL_LOG_LEVEL).
 *
 * Threads: one at a time in one context and its communicators and requests; with `enable_thread_support` any number.
 * fork(): a child must not use what its parent made; its calls fail with SHARP_COLL_ERROR and disturb nobody. */
#ifndef SUMAC_SHARP_API_SHARP_COLL_H
#define SUMAC_SHARP_API_SHARP_COLL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Type of one element. MINLOC and MAXLOC work on pairs of a value of this type and a tag. */
enum sharp_datatype {
  SHARP_DTYPE_UNSIGNED = 0,       /**< 32-bit unsigned */
  SHARP_DTYPE_INT = 1,            /**< 32-bit signed */
  SHARP_DTYPE_UNSIGNED_LONG = 2,  /**< 64-bit unsigned */
  SHARP_DTYPE_LONG = 3,           /**< 64-bit signed */
  SHARP_DTYPE_FLOAT = 4,          /**< 32-bit float */
  SHARP_DTYPE_DOUBLE = 5,         /**< 64-bit float */
  SHARP_DTYPE_UNSIGNED_SHORT = 6, /**< 16-bit unsigned */
  SHARP_DTYPE_SHORT = 7,          /**< 16-bit signed */
  SHARP_DTYPE_FLOAT_SHORT = 8,    /**< IEEE half; subnormals are honoured, sums round to nearest even */
  SHARP_DTYPE_BFLOAT16 = 9,       /**< upper half of a 32-bit float; same rounding */
  SHARP_DTYPE_UINT8 = 10,         /**< 8-bit unsigned */
  SHARP_DTYPE_INT8 = 11,          /**< 8-bit signed */
  SHARP_DTYPE_NULL = 12           /**< no type; ends a list */
};

/** Integers take every operation and wrap around; floats take MAX, MIN, SUM, PROD, MAXLOC and MINLOC. */
enum sharp_reduce_op {
  SHARP_OP_MAX = 0,
  SHARP_OP_MIN = 1,
  SHARP_OP_SUM = 2,
  SHARP_OP_PROD = 3,
  SHARP_OP_LAND = 4,
  SHARP_OP_BAND = 5,
  SHARP_OP_LOR = 6,
  SHARP_OP_BOR = 7,
  SHARP_OP_LXOR = 8,
  SHARP_OP_BXOR = 9,
  SHARP_OP_MAXLOC = 10, /**< of equal values the smaller tag wins */
  SHARP_OP_MINLOC = 11,
  SHARP_OP_NULL = 12
};

/** What functions return. sharp_coll_strerror() has a sentence for each. */
enum sharp_error_no {
  SHARP_COLL_SUCCESS = 0,
  SHARP_COLL_ERROR = -1,     /**< the log says what */
  SHARP_COLL_ENOT_SUPP = -2, /**< this collective, type, operation or memory is not offered: use another way */
  SHARP_COLL_ENOMEM = -3,    /**< out of memory */
  SHARP_COLL_EGROUP_ALLOC =
      -4, /**< the job's groups are all in use: destroy one, or ask for more (SHARP_COLL_JOB_QUOTA_MAX_GROUPS) */
  SHARP_COLL_ECONN_TREE = -5,    /**< no connection to the aggregation node */
  SHARP_COLL_EGROUP_JOIN = -6,   /**< a node refused the group, or did not answer in time */
  SHARP_COLL_EQUOTA = -7,        /**< the quota asked for can't be given */
  SHARP_COLL_ESESS_INIT = -8,    /**< no sharpd on this host */
  SHARP_COLL_EDEV = -9,          /**< no such network device */
  SHARP_COLL_EINVAL = -10,       /**< a bad argument */
  SHARP_COLL_EJOB_CREATE = -11,  /**< the manager refused the job, or there is none */
  SHARP_COLL_ETREE_INFO = -12,   /**< the manager's description of the tree is unusable */
  SHARP_COLL_ENOTREE = -13,      /**< no tree reaches this host */
  SHARP_COLL_EGROUP_ID = -14,    /**< wrong group id */
  SHARP_COLL_EOOB = -15,         /**< an out-of-band function of the caller failed */
  SHARP_COLL_EGROUP_MCAST = -16, /**< multicast of results can't be set up */
  SHARP_COLL_EGROUP_TRIM = -17,  /**< the group could not be cut down to the nodes it needs */
  SHARP_COLL_ELOCK_FAILED = -18, /**< other communicators hold the streaming lock: try again */
  SHARP_COLL_ELOCK_DENIED = -19, /**< this job was granted no streaming, so there is nothing to lock */
  SHARP_COLL_ENO_RESOURCE = -20  /**< something is used up for the moment */
};

/** Bits of sharp_coll_caps.support_mask.feature_mask. */
enum sharp_job_features {
  SHARP_FEATURE_LLT = 1 << 0,               /**< low-latency tree: one payload per outstanding operation */
  SHARP_FEATURE_REPRODUCIBLE = 1 << 1,      /**< bits of a float sum depend neither on arrival order nor on the tree */
  SHARP_FEATURE_SAT = 1 << 2,               /**< streaming aggregation of large messages */
  SHARP_FEATURE_SAT_EXCLUSIVE_LOCK = 1 << 3 /**< the streaming lock can be held for a batch */
};

/** Wish of one operation; every member must give the same. */
enum sharp_aggregation_mode {
  SHARP_AGGREGATION_NONE = 0,     /**< the library chooses by size (SHARP_COLL_SAT_THRESHOLD) */
  SHARP_AGGREGATION_DATAGRAM = 1, /**< low-latency tree */
  SHARP_AGGREGATION_STREAMING = 2 /**< streaming tree; without one (SHARP_COLL_ENABLE_SAT=0): SHARP_COLL_ENOT_SUPP */
};

enum sharp_data_buffer_type {
  SHARP_DATA_BUFFER = 0, /**< one contiguous buffer */
  SHARP_DATA_IOV = 1     /**< a list of pieces that follow each other */
};

enum sharp_data_memory_type {
  SHARP_MEM_TYPE_HOST = 0,
  SHARP_MEM_TYPE_CUDA = 1, /**< goes through pinned host memory; without a CUDA driver SHARP_COLL_ENOT_SUPP */
  SHARP_MEM_TYPE_LAST = 2
};

/** What sharp_coll_print_config() prints; may be combined. */
enum config_print_flags {
  SHARP_COLL_CONFIG_PRINT_CONFIG = 1, /**< NAME=value lines */
  SHARP_COLL_CONFIG_PRINT_HEADER = 2, /**< a title line */
  SHARP_COLL_CONFIG_PRINT_DOC = 4,    /**< a comment above each option */
  SHARP_COLL_CONFIG_PRINT_HIDDEN = 8  /**< also options that are accepted but have no effect here */
};

/** sharp_coll_config.flags */
enum {
  SHARP_COLL_HIDE_ERRORS = 1 << 0,                      /**< be quiet if the job can't be created */
  SHARP_COLL_DISABLE_LAZY_GROUP_RESOURCE_ALLOC = 1 << 1 /**< take group resources in comm_init (always so here) */
};

/** sharp_coll_reg_params.field_mask */
enum { SHARP_COLL_REG_FIELD_DMABUF_FD = 1 << 0, SHARP_COLL_REG_FIELD_DMABUF_OFFSET = 1 << 1 };

/** Most pieces in one list. */
#define SHARP_COLL_DATA_MAX_IOV 15

struct sharp_coll_context; /**< one job in one process */
struct sharp_coll_comm;    /**< one communicator: a group on the tree */

struct sharp_coll_config {
  const char*
      ib_dev_list; /**< "dev:port,..." by which trees are joined, copied; SHARP_COLL_IB_DEV_LIST goes before it. NULL or "": any */
  int user_progress_num_polls; /**< a blocking call calls progress_func after so many fruitless polls */
  int coll_timeout;            /**< ms that comm_destroy waits for the other members; -1: 30 s */
  uint32_t flags;              /**< SHARP_COLL_HIDE_ERRORS, ... */
  int reserved[3];
};

/** A start for your own configuration: any device, 128 polls, no timeout. */
extern const struct sharp_coll_config sharp_coll_default_config;

/** Lent by the caller. Each blocks and returns 0 or more on success, a negative number on failure; `context` is the
 *  oob_ctx of the init or comm_init that runs. All ranks call them in the same order. */
struct sharp_coll_out_of_band_colls {
  int (*bcast)(void* context, void* buffer, int len, int root); /**< len bytes from root to all */
  int (*barrier)(void* context);
  int (*gather)(void* context, int root, void* sbuf, void* rbuf,
                int len); /**< len bytes of each rank, in rank order, to root */
};

struct sharp_coll_comm_init_spec {
  int rank; /**< of the caller in the communicator, [0, size) */
  int size; /**< members */
  void* oob_ctx;
  const uint32_t* group_world_ranks; /**< never read: members tell each other out of band */
  int reserved[2];
};

struct sharp_coll_init_spec {
  uint64_t job_id; /**< the same in all processes of the job, different from that of other jobs, not 0 */
  int world_rank;
  int world_size;
  int (*progress_func)(
      void); /**< drives the caller's own communication; NULL: none. Not called while a lock of ours is needed by it */
  int group_channel_idx;
  struct sharp_coll_config config;
  struct sharp_coll_out_of_band_colls oob_colls; /**< may be NULL functions only if world_size is 1 */
  int world_local_rank;                          /**< rank within the host */
  int enable_thread_support;                     /**< non-zero: calls from several threads are allowed */
  void* oob_ctx;
  int reserved[4];
};

struct sharp_coll_caps {
  int sharp_pkt_version; /**< 1: the tag slot of a pair is as wide as tag_dtype */
  uint64_t reserved[2];
  struct {
    uint64_t dtypes;     /**< bit n: enum sharp_datatype n */
    uint64_t tag_dtypes; /**< types of the tag of MINLOC and MAXLOC */
    uint64_t reduce_ops; /**< bit n: enum sharp_reduce_op n */
    uint64_t feature_mask;
    uint64_t reserved[4];
  } support_mask;
  struct {
    int max_osts;          /**< operations in flight granted to the job, per tree */
    int user_data_per_ost; /**< bytes */
    int max_groups;        /**< communicators at a time */
    int max_group_channels;
    int osts_per_group; /**< most fragments of one group in flight */
  } resources;
};

struct sharp_data_iov {
  void* ptr;
  size_t length; /**< bytes */
  void* mem_handle;
};

struct sharp_coll_reg_params {
  uint64_t field_mask;
  int dmabuf_fd; /**< -1: none */
  size_t dmabuf_offset;
};

/** Where data lie. `length` is in bytes; `mem_handle` comes from sharp_coll_reg_mr() or is NULL. */
struct sharp_coll_data_desc {
  enum sharp_data_buffer_type type;
  enum sharp_data_memory_type mem_type;
  int reserved[2];
#if defined(__GNUC__) && !defined(__cplusplus)
  __extension__ /* C99 has no unnamed unions, and its compilers have them all the same */
#endif
      union {
    struct {
      void* ptr;
      size_t length;
      void* mem_handle;
    } buffer;
    struct {
      unsigned count;
      struct sharp_data_iov* vector;
    } iov;
  };
};

/** reduce, allreduce, reduce_scatter */
struct sharp_coll_reduce_spec {
  int root; /**< reduce only */
  struct sharp_coll_data_desc sbuf_desc;
  struct sharp_coll_data_desc rbuf_desc; /**< may be the same memory as sbuf_desc: in place */
  enum sharp_datatype dtype;
  size_t length; /**< elements; pairs for MINLOC and MAXLOC */
  enum sharp_reduce_op op;
  enum sharp_datatype tag_dtype; /**< MINLOC and MAXLOC only, see sharp_coll_do_allreduce() */
  enum sharp_aggregation_mode aggr_mode;
  int stream_lock_batch_size; /**< not read: real clients leave it unset; SHARP_COLL_SAT_LOCK_BATCH_SIZE counts */
  size_t offset;              /**< reduce_scatter only: where the window begins, bytes */
  int reserved[2];
};

struct sharp_coll_bcast_spec {
  int root;
  struct sharp_coll_data_desc buf_desc;
  size_t size; /**< bytes */
  int reserved[4];
};

/** Known layout, but no function of this level takes it. */
struct sharp_coll_bcast_spec_v2 {
  int root;
  struct sharp_coll_data_desc sbuf_desc;
  struct sharp_coll_data_desc rbuf_desc;
  size_t size;
  int reserved[4];
};

/** allgather */
struct sharp_coll_gather_spec {
  struct sharp_coll_data_desc sbuf_desc;
  struct sharp_coll_data_desc rbuf_desc;
  enum sharp_datatype dtype;
  size_t size;
  size_t offset; /**< where the window begins, bytes */
  int reserved[4];
};

/** Begin a job: attach to this host's sharpd, get a share of the tree from the manager, connect to the aggregation
 *  node. Collective over the `world_size` processes, with out-of-band calls; all of them return the same code.
 *
 *  @param spec  Read during the call only; strings are copied.
 *  @param ctx   Set only on success; give it to sharp_coll_finalize().
 *  @retval SHARP_COLL_ESESS_INIT   A host has no sharpd: start it, or run the program through `sumac run`.
 *  @retval SHARP_COLL_EJOB_CREATE  No manager, or it refused (the log says what was short).
 *  @retval SHARP_COLL_ECONN_TREE   An aggregation node can't be reached.
 *  @retval SHARP_COLL_EDEV         The list of ports in force is malformed, or names one that this host does not have. It is the first that
 *                                  says something of SHARP_COLL_IB_DEV_LIST, config.ib_dev_list (of Open MPI's component: HCOLL_MAIN_IB),
 *                                  sharpd's own and SUMAC_NET_DEVICE; the log says which.
 *  @retval SHARP_COLL_ENOTREE      A host of the job is not in the manager's fabric.
 *  @retval SHARP_COLL_EINVAL, SHARP_COLL_EOOB
 *
 *  The environment (SHARP_COLL_*) is read at each call; that of world rank 0 decides what all ranks must agree on. */
int sharp_coll_init(struct sharp_coll_init_spec* spec, struct sharp_coll_context** ctx);

/** End the job. After world rank 0 has, nobody can make a communicator; those that stand live on. Destroy yours first;
 *  what remains is closed without waiting for peers. Makes no out-of-band call (unless SHARP_COLL_STATS_DUMP_MODE=2), so
 *  ranks may come at different times. `ctx` is invalid afterwards whatever is returned. */
int sharp_coll_finalize(struct sharp_coll_context* ctx);

/** What the job can do and was granted. */
int sharp_coll_caps_query(struct sharp_coll_context* ctx, struct sharp_coll_caps* caps);

/** Move outstanding operations of this context on; never blocks. @return 0; never negative while all is well. */
int sharp_coll_progress(struct sharp_coll_context* ctx);

/** Make a group of `spec->size` members. Collective over them, with out-of-band calls; all return the same code.
 *  @retval SHARP_COLL_EGROUP_ALLOC  No group left in the job's grant.
 *  @retval SHARP_COLL_EGROUP_JOIN   A node refused (no outstanding operation left, say) or did not answer in time.
 *  @retval SHARP_COLL_ELOCK_FAILED, SHARP_COLL_ELOCK_DENIED  With SHARP_COLL_LOCK_ON_COMM_INIT=1: no streaming lock. */
int sharp_coll_comm_init(struct sharp_coll_context* ctx, struct sharp_coll_comm_init_spec* spec,
                         struct sharp_coll_comm** comm);

/** Leave the group and free it. Collective, but without out-of-band calls. Complete every request first. Waits for the
 *  other members at most coll_timeout ms (30 s if that is -1); who is later leaves by itself, which is no error here. `comm` is invalid
 *  afterwards whatever is returned. @retval SHARP_COLL_ERROR  By then operations of this member's own were still under way. */
int sharp_coll_comm_destroy(struct sharp_coll_comm* comm);

/** Return when all members have entered. @retval SHARP_COLL_ERROR the group has ended, the log names who and why. */
int sharp_coll_do_barrier(struct sharp_coll_comm* comm);
int sharp_coll_do_barrier_nb(struct sharp_coll_comm* comm, void** handle);

/** Reduce over all members, result at all members. Members post the same operations in the same order with the same
 *  dtype, op, length and aggr_mode; a member that differs ends the group with a message that names it.
 *
 *  Any length: large ones are cut and pipelined. Either buffer may be a list (SHARP_DATA_IOV). In place is allowed.
 *  Pairs (MAXLOC, MINLOC): value and tag interleaved. With an integer tag_dtype the tag follows the value directly;
 *  with SHARP_DTYPE_NULL the tag's slot is as wide as the value (4 or 8 bytes) and begins with a 32-bit signed tag.
 *
 *  @retval SHARP_COLL_ENOT_SUPP  Type and operation don't go together, or no streaming: nothing was sent, on any member. Or the
 *                                tag type or memory is not offered.
 *  @retval SHARP_COLL_EINVAL     A buffer is shorter than `length` elements, NULL, or overlaps the other one in part.
 *  @retval SHARP_COLL_ENOMEM     A list or GPU buffer does not fit into this host's memory.
 *  @retval SHARP_COLL_ELOCK_FAILED  SHARP_AGGREGATION_STREAMING, and other communicators hold the streaming lock; nothing was done,
 *                                at all members alike. (With SHARP_AGGREGATION_NONE it goes in small fragments then.)
 *
 *  A call that is refused for another reason than its type, operation and mode takes its turn in the group all the same: if all
 *  members refuse it, the group goes on; if only this one does, the others get SHARP_COLL_ERROR and a sentence that names it, instead
 *  of waiting.
 *  @retval SHARP_COLL_ERROR      The group has ended; the receive buffer is undefined. The log names who and why. Where members disagree or
 *                                one dies, the same operations fail at all members. Where a node dies or a link breaks, what was
 *                                under way may have succeeded at some of them; what came before an operation that succeeded at
 *                                anybody, and had returned before that was called, has succeeded at all. (docs/protocol.md)
 *  @retval SHARP_COLL_ENO_RESOURCE  Nonblocking only: 512 operations of this communicator are outstanding.
 *
 *  Leave both buffers alone until the operation completes. */
int sharp_coll_do_allreduce(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec);
int sharp_coll_do_allreduce_nb(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec, void** handle);

/** As allreduce, the result only at `root`; elsewhere rbuf_desc is not read. @retval SHARP_COLL_EINVAL no such root. */
int sharp_coll_do_reduce(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec);
int sharp_coll_do_reduce_nb(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec, void** handle);

/** Reduce, and give each member its part. With B = length of rbuf in bytes (the same at all members) and N members the whole vector has
 *  N x B bytes; sbuf holds the window [offset, offset + its length) of it, so that a large vector can be worked off window by window.
 *  Member r gets what of [r x B, (r + 1) x B) lies in the window, from the start of rbuf on: perhaps nothing. `length` is not read.
 *  @retval SHARP_COLL_EINVAL  The window is not within the vector, or cuts an element. */
int sharp_coll_do_reduce_scatter(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec);
int sharp_coll_do_reduce_scatter_nb(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec, void** handle);

/** Everybody's part to everybody. With B = length of sbuf in bytes (the same at all members) the whole vector has N x B bytes; rbuf is its
 *  window [offset, offset + its length). Member r gives what of [r x B, (r + 1) x B) lies in the window, from the start of sbuf on.
 *  `size` and `dtype` are not read. A member's own part does not travel back to it. */
int sharp_coll_do_allgather(struct sharp_coll_comm* comm, struct sharp_coll_gather_spec* spec);
int sharp_coll_do_allgather_nb(struct sharp_coll_comm* comm, struct sharp_coll_gather_spec* spec, void** handle);

/** `size` bytes of the root's buffer to everybody's. */
int sharp_coll_do_bcast(struct sharp_coll_comm* comm, struct sharp_coll_bcast_spec* spec);
int sharp_coll_do_bcast_nb(struct sharp_coll_comm* comm, struct sharp_coll_bcast_spec* spec, void** handle);

/** Has the operation completed? Drives progress itself. @return 1 if so, again until freed; 0 if not. NULL counts as
 *  complete. An operation that failed never completes: the log says why, once. Callers that know Sumac ask
 *  sumac_req_status(). */
int sharp_coll_req_test(void* handle);

/** Wait for the operation, then free the request, also when it failed. NULL: success. @retval SHARP_COLL_ERROR it
 *  failed. */
int sharp_coll_req_wait(void* handle);

/** Free a request, normally a completed one. NULL is ignored. @retval SHARP_COLL_EINVAL it was freed before. */
int sharp_coll_req_free(void* handle);

/** Announce memory for use in operations. Optional and cheap here; any number may be outstanding, ranges may overlap.
 *  Never fails for host memory. Callable from any thread. */
int sharp_coll_reg_mr(struct sharp_coll_context* ctx, void* buf, size_t size, void** mr);
/** The same with a dma-buf: dmabuf_fd -1 or no field set is plain registration. With a descriptor `buf` must be the address of CUDA memory,
 *  by which it is used, and the descriptor is not looked at. @retval SHARP_COLL_ENOT_SUPP other memory behind a descriptor. */
int sharp_coll_reg_mr_v2(struct sharp_coll_context* ctx, void* buf, size_t size,
                         const struct sharp_coll_reg_params* params, void** mr);
int sharp_coll_dereg_mr(struct sharp_coll_context* ctx, void* mr);

/** Print the options and their values in force in the present environment. `exec_name` may be anything and is not read
 *  (older callers pass only two arguments). */
int sharp_coll_print_config(FILE* stream, enum config_print_flags flags, const char* exec_name);

/** A sentence for an error number, never NULL. */
const char* sharp_coll_strerror(int error);

/** Log what this context did so far: operations, fragments, bytes per collective. */
int sharp_coll_dump_stats(struct sharp_coll_context* ctx);

/** Read SHARP_COLL_LOG_LEVEL before the first init. MVAPICH calls it; nobody has to. */
int sharp_coll_log_early_init(void);

#ifdef __cplusplus
}
#endif

#endif
