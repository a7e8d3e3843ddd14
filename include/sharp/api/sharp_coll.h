/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives that are added up inside the network. Source- and binary-compatible with level 3.6 of the SHARP
 * collective interface, written from its public description; implemented by libsharp_coll.so of Sumac, entirely in
 * software.
 *
 * A program calls these in order:
 *     sharp_coll_init            by all processes of a job; asks the manager for a share of the aggregation tree
 *     sharp_coll_comm_init       by the members of one communicator; makes a group on the tree
 *     sharp_coll_do_allreduce    and the other collectives, blocking or with a request (_nb)
 *     sharp_coll_comm_destroy, sharp_coll_finalize
 *
 * The library cannot reach other processes by itself before the tree exists: the caller provides three *out-of-band*
 * functions (bcast, barrier, gather), which any MPI or process manager has.
 *
 * Every function returns 0 (SHARP_COLL_SUCCESS) or a negative number of enum sharp_error_no, unless it says otherwise.
 * The library never ends the process, writes nothing to stdout and starts no thread. Messages for users go to stderr
 * (SHARP_COLL_LOG_LEVEL).
 *
 * Threads: only one thread at a time may use a context, its communicators and its requests; with
 * `enable_thread_support` any number may.
 * fork(): a child must not use objects that its parent made; its calls fail with SHARP_COLL_ERROR and do no harm. */
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
  SHARP_OP_MAXLOC = 10, /**< among equal values the smaller tag wins */
  SHARP_OP_MINLOC = 11,
  SHARP_OP_NULL = 12
};

/** The return values of functions. sharp_coll_strerror() returns a sentence for each. */
enum sharp_error_no {
  SHARP_COLL_SUCCESS = 0,
  SHARP_COLL_ERROR = -1,     /**< the log gives the reason */
  SHARP_COLL_ENOT_SUPP = -2, /**< this collective, type, operation or memory is not offered: do without it */
  SHARP_COLL_ENOMEM = -3,    /**< out of memory */
  SHARP_COLL_EGROUP_ALLOC =
      -4, /**< the job's groups are all in use: destroy one, or ask for more (SHARP_COLL_JOB_QUOTA_MAX_GROUPS) */
  SHARP_COLL_ECONN_TREE = -5,    /**< no connection to the aggregation node */
  SHARP_COLL_EGROUP_JOIN = -6,   /**< a node refused the group, or did not answer in time */
  SHARP_COLL_EQUOTA = -7,        /**< the manager cannot give the quota asked for */
  SHARP_COLL_ESESS_INIT = -8,    /**< no sharpd on this host */
  SHARP_COLL_EDEV = -9,          /**< no such network device */
  SHARP_COLL_EINVAL = -10,       /**< a bad argument */
  SHARP_COLL_EJOB_CREATE = -11,  /**< the manager refused the job, or there is no manager */
  SHARP_COLL_ETREE_INFO = -12,   /**< the manager's description of the tree is unusable */
  SHARP_COLL_ENOTREE = -13,      /**< no tree reaches this host */
  SHARP_COLL_EGROUP_ID = -14,    /**< wrong group id */
  SHARP_COLL_EOOB = -15,         /**< an out-of-band function of the caller failed */
  SHARP_COLL_EGROUP_MCAST = -16, /**< multicast of results cannot be set up */
  SHARP_COLL_EGROUP_TRIM = -17,  /**< the group could not be reduced to the nodes it needs */
  SHARP_COLL_ELOCK_FAILED = -18, /**< other communicators hold the streaming lock: try again */
  SHARP_COLL_ELOCK_DENIED = -19, /**< this job was granted no streaming, so there is nothing to lock */
  SHARP_COLL_ENO_RESOURCE = -20  /**< a resource is used up at the moment */
};

/** Bits of sharp_coll_caps.support_mask.feature_mask. */
enum sharp_job_features {
  SHARP_FEATURE_LLT = 1 << 0,               /**< low-latency tree: one payload per outstanding operation */
  SHARP_FEATURE_REPRODUCIBLE = 1 << 1,      /**< bits of a float sum depend neither on arrival order nor on the tree */
  SHARP_FEATURE_SAT = 1 << 2,               /**< streaming aggregation of large messages */
  SHARP_FEATURE_SAT_EXCLUSIVE_LOCK = 1 << 3 /**< the streaming lock can be held for a batch */
};

/** The mode that an operation asks for; every member must ask for the same. */
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

/** The parts that sharp_coll_print_config() prints; may be combined. */
enum config_print_flags {
  SHARP_COLL_CONFIG_PRINT_CONFIG = 1, /**< NAME=value lines */
  SHARP_COLL_CONFIG_PRINT_HEADER = 2, /**< a title line */
  SHARP_COLL_CONFIG_PRINT_DOC = 4,    /**< a comment above each option */
  SHARP_COLL_CONFIG_PRINT_HIDDEN = 8  /**< also options that are accepted but have no effect here */
};

/** Bits of sharp_coll_config.flags. */
enum {
  SHARP_COLL_HIDE_ERRORS = 1 << 0,                      /**< print nothing if the job cannot be created */
  SHARP_COLL_DISABLE_LAZY_GROUP_RESOURCE_ALLOC = 1 << 1 /**< take group resources in comm_init (always so here) */
};

/** Bits of sharp_coll_reg_params.field_mask. */
enum { SHARP_COLL_REG_FIELD_DMABUF_FD = 1 << 0, SHARP_COLL_REG_FIELD_DMABUF_OFFSET = 1 << 1 };

/** The most pieces in one list. */
#define SHARP_COLL_DATA_MAX_IOV 15

struct sharp_coll_context; /**< one job in one process */
struct sharp_coll_comm;    /**< one communicator: a group on the tree */

struct sharp_coll_config {
  /** "dev:port,...": the ports through which trees are joined; the text is copied. SHARP_COLL_IB_DEV_LIST has
   *  precedence. NULL or "": any. */
  const char* ib_dev_list;
  int user_progress_num_polls; /**< a blocking call calls progress_func after so many polls in vain */
  int coll_timeout;            /**< ms that comm_destroy waits for the other members; -1: 30 s */
  uint32_t flags;              /**< SHARP_COLL_HIDE_ERRORS, ... */
  int reserved[3];
};

/** A basis for your own configuration: any device, 128 polls, no timeout. */
extern const struct sharp_coll_config sharp_coll_default_config;

/** The caller provides these. Each blocks and returns 0 or more on success, a negative number on failure; `context` is
 *  the oob_ctx of the init or comm_init that runs. All ranks call them in the same order. */
struct sharp_coll_out_of_band_colls {
  int (*bcast)(void* context, void* buffer, int len, int root); /**< sends len bytes from root to all */
  int (*barrier)(void* context);
  /** Collects len bytes of each rank, in rank order, at root. */
  int (*gather)(void* context, int root, void* sbuf, void* rbuf, int len);
};

struct sharp_coll_comm_init_spec {
  int rank; /**< the caller's rank in the communicator, [0, size) */
  int size; /**< number of members */
  void* oob_ctx;
  const uint32_t* group_world_ranks; /**< never read: members tell each other out of band */
  int reserved[2];
};

struct sharp_coll_init_spec {
  uint64_t job_id; /**< the same in all processes of the job, different from that of other jobs, not 0 */
  int world_rank;
  int world_size;
  /** Drives the caller's own communication; NULL: none. The library holds none of its locks while it calls it. */
  int (*progress_func)(void);
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

/** Describes memory. `length` is in bytes; `mem_handle` comes from sharp_coll_reg_mr() or is NULL. */
struct sharp_coll_data_desc {
  enum sharp_data_buffer_type type;
  enum sharp_data_memory_type mem_type;
  int reserved[2];
#if defined(__GNUC__) && !defined(__cplusplus)
  __extension__ /* C99 has no unnamed unions, but its compilers do */
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

/** For reduce, allreduce and reduce_scatter. */
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
  size_t offset;              /**< reduce_scatter only: the beginning of the window, bytes */
  int reserved[2];
};

struct sharp_coll_bcast_spec {
  int root;
  struct sharp_coll_data_desc buf_desc;
  size_t size; /**< bytes */
  int reserved[4];
};

/** The layout is known, but no function of this level takes it. */
struct sharp_coll_bcast_spec_v2 {
  int root;
  struct sharp_coll_data_desc sbuf_desc;
  struct sharp_coll_data_desc rbuf_desc;
  size_t size;
  int reserved[4];
};

/** For allgather. */
struct sharp_coll_gather_spec {
  struct sharp_coll_data_desc sbuf_desc;
  struct sharp_coll_data_desc rbuf_desc;
  enum sharp_datatype dtype;
  size_t size;
  size_t offset; /**< the beginning of the window, bytes */
  int reserved[4];
};

/** Begin a job: attach to this host's sharpd, get a share of the tree from the manager, connect to the aggregation
 *  node. Collective over the `world_size` processes, with out-of-band calls; all of them return the same code.
 *
 *  @param spec  Read during the call only; strings are copied.
 *  @param ctx   Set only on success; give it to sharp_coll_finalize().
 *  @retval SHARP_COLL_ESESS_INIT   A host has no sharpd: start it, or run the program through `sumac run`.
 *  @retval SHARP_COLL_EJOB_CREATE  There is no manager, or it refused (the log names the missing resource).
 *  @retval SHARP_COLL_ECONN_TREE   An aggregation node cannot be reached.
 *  @retval SHARP_COLL_EDEV         The list of ports is malformed, or names a port that this host does not have. The
 *                                  list is the first that is set of SHARP_COLL_IB_DEV_LIST, config.ib_dev_list (in Open
 *                                  MPI's component: HCOLL_MAIN_IB), sharpd's own and SUMAC_NET_DEVICE; the log names
 *                                  it.
 *  @retval SHARP_COLL_ENOTREE      A host of the job is not in the manager's fabric.
 *  @retval SHARP_COLL_EINVAL, SHARP_COLL_EOOB
 *
 *  The environment (SHARP_COLL_*) is read at each call; where all ranks must agree, that of world rank 0 decides. */
int sharp_coll_init(struct sharp_coll_init_spec* spec, struct sharp_coll_context** ctx);

/** End the job. After world rank 0 has called it, no rank can make a communicator; existing ones live on. Destroy yours
 *  first: remaining ones are closed without waiting for peers. It makes no out-of-band call (unless
 *  SHARP_COLL_STATS_DUMP_MODE=2), so ranks may come at different times. `ctx` is invalid afterwards, whatever the
 *  result. */
int sharp_coll_finalize(struct sharp_coll_context* ctx);

/** Returns the abilities of the job and the resources granted to it. */
int sharp_coll_caps_query(struct sharp_coll_context* ctx, struct sharp_coll_caps* caps);

/** Advance outstanding operations of this context; never blocks. @return 0; never negative while all is well. */
int sharp_coll_progress(struct sharp_coll_context* ctx);

/** Make a group of `spec->size` members. Collective over them, with out-of-band calls; all return the same code.
 *  @retval SHARP_COLL_EGROUP_ALLOC  No group left in the job's grant.
 *  @retval SHARP_COLL_EGROUP_JOIN   A node refused (for example: no outstanding operation left), or did not answer in
 *                                   time.
 *  @retval SHARP_COLL_ELOCK_FAILED, SHARP_COLL_ELOCK_DENIED  With SHARP_COLL_LOCK_ON_COMM_INIT=1: no streaming lock. */
int sharp_coll_comm_init(struct sharp_coll_context* ctx, struct sharp_coll_comm_init_spec* spec,
                         struct sharp_coll_comm** comm);

/** Leave the group and free it. Collective, but without out-of-band calls. Complete every request first. It waits for
 *  the other members at most coll_timeout ms (30 s if that is -1); a later member leaves by itself, which is no error
 *  here. `comm` is invalid afterwards, whatever the result.
 *  @retval SHARP_COLL_ERROR  Operations of this member were still under way after that time. */
int sharp_coll_comm_destroy(struct sharp_coll_comm* comm);

/** Return when all members have entered. @retval SHARP_COLL_ERROR The group has ended; the log names the culprit and
 *  the reason. */
int sharp_coll_do_barrier(struct sharp_coll_comm* comm);
int sharp_coll_do_barrier_nb(struct sharp_coll_comm* comm, void** handle);

/** Reduce over all members, result at all members. Members post the same operations in the same order with the same
 *  dtype, op, length and aggr_mode; a member that differs ends the group with a message that names it.
 *
 *  Any length is possible: large vectors are cut and pipelined. Either buffer may be a list (SHARP_DATA_IOV), and in
 *  place is allowed. Pairs (MAXLOC, MINLOC): value and tag interleaved. With an integer tag_dtype the tag follows the
 *  value directly; with SHARP_DTYPE_NULL the tag's slot is as wide as the value (4 or 8 bytes) and begins with a 32-bit
 *  signed tag.
 *
 *  @retval SHARP_COLL_ENOT_SUPP  Type and operation cannot be combined, or there is no streaming: no member has sent
 *                                anything. Or the tag type or memory is not offered.
 *  @retval SHARP_COLL_EINVAL     A buffer is shorter than `length` elements, NULL, or overlaps the other one in part.
 *  @retval SHARP_COLL_ENOMEM     A list or GPU buffer does not fit into this host's memory.
 *  @retval SHARP_COLL_ELOCK_FAILED  With SHARP_AGGREGATION_STREAMING: other communicators hold the streaming lock, and
 *                                   no member has done anything. (With SHARP_AGGREGATION_NONE small fragments are used
 *                                   then.)
 *
 *  A call that is refused for another reason than its type, operation and mode still counts as one operation of the
 *  group: if all members refuse it, the group continues; if only this member does, the others get SHARP_COLL_ERROR and
 *  a sentence that names it, instead of waiting.
 *  @retval SHARP_COLL_ERROR      The group has ended; the receive buffer is undefined. The log names the culprit and
 *                                the reason. If members disagree or one dies, the same operations fail at all members.
 *                                If a node dies or a link breaks, operations under way may have succeeded at some
 *                                members. An operation that returned before a later one was called has succeeded at all
 *                                members if the later one succeeded at any member (docs/protocol.md).
 *  @retval SHARP_COLL_ENO_RESOURCE  Nonblocking only: 512 operations of this communicator are outstanding.
 *
 *  Do not touch either buffer until the operation completes. */
int sharp_coll_do_allreduce(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec);
int sharp_coll_do_allreduce_nb(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec, void** handle);

/** Like allreduce, but with the result only at `root`; elsewhere rbuf_desc is not read.
 *  @retval SHARP_COLL_EINVAL  There is no such root. */
int sharp_coll_do_reduce(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec);
int sharp_coll_do_reduce_nb(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec, void** handle);

/** Reduce, and return to each member its part. With B = length of rbuf in bytes (the same at all members) and N members
 *  the whole vector has N x B bytes; sbuf holds the window [offset, offset + its length) of it, so that a large vector
 *  can be processed window by window. Member r gets the bytes of [r x B, (r + 1) x B) that lie in the window, from the
 *  start of rbuf on: perhaps none. `length` is not read.
 *  @retval SHARP_COLL_EINVAL  The window is not within the vector, or cuts an element. */
int sharp_coll_do_reduce_scatter(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec);
int sharp_coll_do_reduce_scatter_nb(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec, void** handle);

/** Send every member's part to every member. With B = length of sbuf in bytes (the same at all members) the whole
 *  vector has N x B bytes; rbuf is its window [offset, offset + its length). Member r contributes the bytes of [r x B,
 *  (r + 1) x B) that lie in the window, from the start of sbuf on. `size` and `dtype` are not read. A member's own part
 *  does not travel back to it. */
int sharp_coll_do_allgather(struct sharp_coll_comm* comm, struct sharp_coll_gather_spec* spec);
int sharp_coll_do_allgather_nb(struct sharp_coll_comm* comm, struct sharp_coll_gather_spec* spec, void** handle);

/** Send `size` bytes of the root's buffer to every member's. */
int sharp_coll_do_bcast(struct sharp_coll_comm* comm, struct sharp_coll_bcast_spec* spec);
int sharp_coll_do_bcast_nb(struct sharp_coll_comm* comm, struct sharp_coll_bcast_spec* spec, void** handle);

/** Has the operation completed? Drives progress itself. @return 1 if it has, and again until freed; 0 if not. NULL
 *  counts as complete. An operation that failed never completes: the log gives the reason once. Callers that know Sumac
 *  can call sumac_req_status() instead. */
int sharp_coll_req_test(void* handle);

/** Wait for the operation, then free the request, even if it failed. NULL: success. @retval SHARP_COLL_ERROR It
 *  failed. */
int sharp_coll_req_wait(void* handle);

/** Free a request, normally a completed one. NULL is ignored. @retval SHARP_COLL_EINVAL It was freed before. */
int sharp_coll_req_free(void* handle);

/** Announce memory for use in operations. Optional and cheap here; any number may be outstanding, ranges may overlap.
 *  Never fails for host memory. Callable from any thread. */
int sharp_coll_reg_mr(struct sharp_coll_context* ctx, void* buf, size_t size, void** mr);
/** The same with a dma-buf: dmabuf_fd -1 or no field set is plain registration. With a descriptor `buf` must be the
 *  address of CUDA memory; that address is used, and the descriptor is not read.
 *  @retval SHARP_COLL_ENOT_SUPP  There is other memory behind the descriptor. */
int sharp_coll_reg_mr_v2(struct sharp_coll_context* ctx, void* buf, size_t size,
                         const struct sharp_coll_reg_params* params, void** mr);
int sharp_coll_dereg_mr(struct sharp_coll_context* ctx, void* mr);

/** Print the options with the values that the present environment gives them. `exec_name` may be anything and is not
 *  read (older callers pass only two arguments). */
int sharp_coll_print_config(FILE* stream, enum config_print_flags flags, const char* exec_name);

/** A sentence for an error number, never NULL. */
const char* sharp_coll_strerror(int error);

/** Log this context's counts so far: operations, fragments, bytes per collective. */
int sharp_coll_dump_stats(struct sharp_coll_context* ctx);

/** Read SHARP_COLL_LOG_LEVEL before the first init. MVAPICH calls it; it is optional. */
int sharp_coll_log_early_init(void);

#ifdef __cplusplus
}
#endif

#endif
