#ifndef XCCL_H_
#define XCCL_H_
/* The Teams API as XCCL knew it (API 1.0), served by Sumac. The names and numbers are those of openucx/xccl. As there,
 * <ucs/config/types.h> and <ucs/memory/memory_type.h> come from UCX's own headers (libucx-dev); no library of UCX is needed.
 *
 *     xccl_lib_init(&params, NULL, &lib);
 *     xccl_context_create(lib, &context_params, NULL, &context);
 *     xccl_team_create_post(context, &team_params, &team);
 *     while (xccl_team_create_test(team) == XCCL_INPROGRESS);
 *     xccl_collective_init(&args, &request, team);
 *     xccl_collective_post(request);
 *     xccl_collective_wait(request);        or test it, now or in a later phase of the program
 *     xccl_collective_finalize(request);
 *
 * Order: all ranks of a team post the same collectives in the same order. Resources: a team has any number of collectives under
 * way. A field that the mask of its structure does not name may have any value. */
#include <stdio.h>
#include <ucs/config/types.h>
#include <ucs/memory/memory_type.h>

#include <api/xccl_def.h>
#include <api/xccl_status.h>
#include <api/xccl_tls.h>
#include <api/xccl_version.h>

BEGIN_C_DECLS

/* ---- the library */

enum xccl_lib_params_field {
  XCCL_LIB_PARAM_FIELD_REPRODUCIBLE = UCS_BIT(0),
  XCCL_LIB_PARAM_FIELD_THREAD_MODE = UCS_BIT(1),
  XCCL_LIB_PARAM_FIELD_TEAM_USAGE = UCS_BIT(2),
  XCCL_LIB_PARAM_FIELD_COLL_TYPES = UCS_BIT(4)
};

/** Both are taken: a team's sums are the same from run to run as long as its ways are. */
enum xccl_reproducibility_mode {
  XCCL_REPRODUCIBILITY_MODE_REPRODUCIBLE = UCS_BIT(0),
  XCCL_REPRODUCIBILITY_MODE_NON_REPRODUCIBLE = UCS_BIT(1)
};

enum xccl_thread_mode { XCCL_THREAD_MODE_MULTIPLE = UCS_BIT(0), XCCL_THREAD_MODE_SINGLE = UCS_BIT(1) };

enum xccl_lib_params_team_usage_field {
  XCCL_LIB_PARAMS_TEAM_USAGE_HW_COLLECTIVES = UCS_BIT(0),
  XCCL_LIB_PARAMS_TEAM_USAGE_SW_COLLECTIVES = UCS_BIT(1)
};

typedef enum {
  XCCL_BARRIER = 0,
  XCCL_BCAST,
  XCCL_ALLREDUCE,
  XCCL_REDUCE,
  XCCL_ALLTOALL,
  XCCL_ALLTOALLV,
  XCCL_ALLGATHER,
  XCCL_FANIN,
  XCCL_FANOUT,
  XCCL_FANOUT_GET,
  XCCL_COLL_LAST
} xccl_collective_type_t;

typedef enum {
  XCCL_COLL_CAP_BARRIER = UCS_BIT(XCCL_BARRIER),
  XCCL_COLL_CAP_BCAST = UCS_BIT(XCCL_BCAST),
  XCCL_COLL_CAP_ALLREDUCE = UCS_BIT(XCCL_ALLREDUCE),
  XCCL_COLL_CAP_REDUCE = UCS_BIT(XCCL_REDUCE),
  XCCL_COLL_CAP_ALLTOALL = UCS_BIT(XCCL_ALLTOALL),
  XCCL_COLL_CAP_ALLTOALLV = UCS_BIT(XCCL_ALLTOALLV),
  XCCL_COLL_CAP_ALLGATHER = UCS_BIT(XCCL_ALLGATHER),
  XCCL_COLL_CAP_FANIN = UCS_BIT(XCCL_FANIN),
  XCCL_COLL_CAP_FANOUT = UCS_BIT(XCCL_FANOUT),
  XCCL_COLL_CAP_FANOUT_GET = UCS_BIT(XCCL_FANOUT_GET),
  XCCL_COLL_CAP_ALL = UCS_MASK(XCCL_COLL_LAST)
} xccl_collective_cap_t;

typedef struct xccl_lib_params {
  uint64_t field_mask;
  unsigned reproducible; /**< A bit of xccl_reproducibility_mode. */
  unsigned thread_mode;  /**< A bit of xccl_thread_mode; that of contexts which name none. */
  uint64_t team_usage;   /**< Bits of xccl_lib_params_team_usage_field. */
  uint64_t coll_types;   /**< Bits of xccl_collective_cap_t that the program uses. */
} xccl_lib_params_t;

/** Reads XCCL_... variables, `env_prefix`_XCCL_... before them. A file that exists is refused: none is read. */
xccl_status_t xccl_lib_config_read(const char* env_prefix, const char* filename, xccl_lib_config_t** config_p);
void xccl_lib_config_release(xccl_lib_config_t* config);
void xccl_lib_config_print(const xccl_lib_config_t* config, FILE* stream, const char* title,
                           ucs_config_print_flags_t print_flags);

/** @param config  May be NULL; no variable of it has an effect.
 *  @retval XCCL_ERR_UNSUPPORTED  `coll_types` or `team_usage` has a bit that there is not. */
xccl_status_t xccl_lib_init(const xccl_lib_params_t* params, const xccl_lib_config_t* config, xccl_lib_h* lib_p);
void xccl_lib_cleanup(xccl_lib_h lib_p);

/** The team libraries that contexts can have; end the list with xccl_free_tl_list(). */
xccl_status_t xccl_get_tl_list(xccl_lib_h lib, xccl_tl_id_t** tls, unsigned* tl_count);
void xccl_free_tl_list(xccl_tl_id_t* tls);

enum xccl_tl_attr_field {
  XCCL_TL_ATTR_FIELD_CONTEXT_CREATE_MODE = UCS_BIT(0),
  XCCL_TL_ATTR_FIELD_DEVICES_COUNT = UCS_BIT(1),
  XCCL_TL_ATTR_FILED_DEVICES = UCS_BIT(2)
};

/** A context with a GLOBAL library and an OOB is made by all ranks of that OOB together; hier and sharp are GLOBAL. */
typedef enum {
  XCCL_TEAM_LIB_CONTEXT_CREATE_MODE_LOCAL = 0,
  XCCL_TEAM_LIB_CONTEXT_CREATE_MODE_GLOBAL = 1
} xccl_context_create_mode_t;

typedef struct xccl_tl_attr {
  uint64_t field_mask;
  xccl_context_create_mode_t context_create_mode;
  int devices_count;   /**< 0: SUMAC_NET_DEVICE names the network. */
  char (*devices)[16]; /**< NULL. */
} xccl_tl_attr_t;

xccl_status_t xccl_tl_query(xccl_lib_h lib, xccl_tl_id_t* tl, xccl_tl_attr_t* tl_attr);
void xccl_free_tl_attr(xccl_tl_attr_t* attr);

/* ---- contexts */

enum xccl_ctx_attr_field { XCCL_CTX_ATTR_FIELD_SUPPORTED_COLLS = UCS_BIT(0) };

typedef struct xccl_ctx_attr {
  uint64_t field_mask;
  uint64_t supported_colls; /**< Bits of xccl_collective_cap_t. */
} xccl_ctx_attr_t;

xccl_status_t xccl_ctx_query(xccl_context_h ctx, xccl_ctx_attr_t* attr);
void xccl_free_ctx_attr(xccl_ctx_attr_t* attr);

enum xccl_context_params_field {
  XCCL_CONTEXT_PARAM_FIELD_THREAD_MODE = UCS_BIT(0),
  XCCL_CONTEXT_PARAM_FIELD_TEAM_COMPLETION_TYPE = UCS_BIT(1),
  XCCL_CONTEXT_PARAM_FIELD_OOB = UCS_BIT(2),
  XCCL_CONTEXT_PARAM_FIELD_TLS = UCS_BIT(3)
};

/** The program means to complete collectives so. Each request can be waited for and tested, whatever it names. */
typedef enum xccl_team_completion_type {
  XCCL_TEAM_COMPLETION_TYPE_BLOCKING = 0,
  XCCL_TEAM_COMPLETION_TYPE_NONBLOCKING = 1,
  XCCL_TEAM_COMPLETION_TYPE_SPLIT_PHASE = 2
} xccl_team_completion_type_t;

/** It says which ranks of an OOB a team has. */
typedef enum {
  XCCL_EP_RANGE_UNDEFINED = 0, /**< All of them. */
  XCCL_EP_RANGE_FULL = 1,
  XCCL_EP_RANGE_STRIDED = 2,
  XCCL_EP_RANGE_MAP = 3,
  XCCL_EP_RANGE_CB = 4
} xccl_ep_range_type_t;

struct xccl_ep_range_strided {
  int start;
  int stride;
};

struct xccl_ep_range_map {
  int* map;
};

struct xccl_ep_range_cb {
  int (*cb)(int rank, void* cb_ctx);
  void* cb_ctx;
};

typedef struct xccl_ep_range_t {
  xccl_ep_range_type_t type;
  int ep_num;
  union {
    struct xccl_ep_range_strided strided;
    struct xccl_ep_range_map map;
    struct xccl_ep_range_cb cb;
  };
} xccl_ep_range_t;

/** The OOB's rank of the range's rank `rank`; -1: the range has no type. */
static inline int xccl_range_to_rank(xccl_ep_range_t range, int rank) {
  switch (range.type) {
    case XCCL_EP_RANGE_FULL: return rank;
    case XCCL_EP_RANGE_STRIDED: return range.strided.start + rank * range.strided.stride;
    case XCCL_EP_RANGE_MAP: return range.map.map[rank];
    case XCCL_EP_RANGE_CB: return range.cb.cb(rank, range.cb.cb_ctx);
    default: return -1;
  }
}

/** The program's own allgather, among all of its ranks or those of a range, of which the caller is `my_rank`. A failure is below
 *  0. A rank alone never calls it. */
typedef struct xccl_oob_collectives {
  int (*allgather)(void* src_buf, void* recv_buff, size_t size, int my_rank, xccl_ep_range_t range, void* coll_context,
                   void** request);
  xccl_status_t (*req_test)(void* request);
  xccl_status_t (*req_free)(void* request);
  void* coll_context;
  int rank;
  int size;
} xccl_oob_collectives_t;

typedef struct xccl_context_params {
  uint64_t field_mask;
  unsigned thread_mode; /**< A bit of xccl_thread_mode. */
  xccl_team_completion_type_t completion_type;
  xccl_oob_collectives_t oob; /**< Copied; its functions are called while a team is made, in xccl_team_create_test(). */
  uint64_t tls;               /**< Bits of xccl_tl_id_t. */
} xccl_context_params_t;

xccl_status_t xccl_context_config_read(xccl_lib_h lib, const char* env_prefix, const char* filename,
                                       xccl_context_config_t** config);
/** Sets a variable of a team library: *tl_id XCCL_TL_UCX, "NET_DEVICES", "all". All are taken, and none has an effect.
 *  @retval XCCL_ERR_NO_ELEM  The library has no such variable. */
xccl_status_t xccl_context_config_modify(xccl_tl_id_t* tl_id, xccl_context_config_t* config, const char* name,
                                         const char* value);
void xccl_context_config_release(xccl_context_config_t* config);

/** @param config  May be NULL.
 *  @retval XCCL_ERR_UNSUPPORTED  `tls` names no team library that there is. */
xccl_status_t xccl_context_create(xccl_lib_h lib, const xccl_context_params_t* params,
                                  const xccl_context_config_t* config, xccl_context_h* context);
xccl_status_t xccl_context_progress(xccl_context_h context);
/** @retval XCCL_ERR_INVALID_PARAM  Teams of it are left: they run nothing any more. */
xccl_status_t xccl_context_destroy(xccl_context_h context);

/* ---- teams */

enum xccl_team_params_field { XCCL_TEAM_PARAM_FIELD_EP_RANGE = UCS_BIT(0), XCCL_TEAM_PARAM_FIELD_OOB = UCS_BIT(1) };

/** With an OOB of its own the team is that one's ranks, and the range is not read. Without one it is a range of the context's OOB. */
typedef struct xccl_team_params {
  uint64_t field_mask;
  xccl_ep_range_t range;
  xccl_oob_collectives_t oob;
} xccl_team_params_t;

xccl_status_t xccl_team_create_post(xccl_context_h context, xccl_team_params_t* params, xccl_team_h* team);
xccl_status_t xccl_team_create_test(xccl_team_h team);
/** A team with a collective under way stays, and a line says so. Ranks may destroy their teams in any order. */
void xccl_team_destroy(xccl_team_h team);

/* ---- collectives */

typedef enum {
  XCCL_OP_MAX,
  XCCL_OP_MIN,
  XCCL_OP_SUM,
  XCCL_OP_PROD,
  XCCL_OP_AND,
  XCCL_OP_OR,
  XCCL_OP_XOR,
  XCCL_OP_LAND,
  XCCL_OP_LOR,
  XCCL_OP_LXOR,
  XCCL_OP_BAND,
  XCCL_OP_BOR,
  XCCL_OP_BXOR,
  XCCL_OP_MAXLOC,
  XCCL_OP_MINLOC,
  XCCL_OP_LAST_PREDEFINED,
  XCCL_OP_UNSUPPORTED
} xccl_op_t;

typedef enum {
  XCCL_DT_INT8,
  XCCL_DT_INT16,
  XCCL_DT_INT32,
  XCCL_DT_INT64,
  XCCL_DT_INT128,
  XCCL_DT_UINT8,
  XCCL_DT_UINT16,
  XCCL_DT_UINT32,
  XCCL_DT_UINT64,
  XCCL_DT_UINT128,
  XCCL_DT_FLOAT16,
  XCCL_DT_FLOAT32,
  XCCL_DT_FLOAT64,
  XCCL_DT_LAST_PREDEFINED,
  XCCL_DT_UNSUPPORTED
} xccl_dt_t;

typedef struct xccl_reduce_info {
  xccl_dt_t dt;
  xccl_op_t op;
  size_t count; /**< Elements. */
} xccl_reduce_info_t;

/** `len` has the bytes of: bcast, the data; alltoall, one rank's block; allgather, all ranks' blocks. allreduce and reduce take
 *  their size from xccl_reduce_info_t, alltoallv from counts and displacements in elements of the types. Equal buffers, or
 *  (void*)1 for the source: in place. */
typedef struct xccl_coll_buffer_info {
  void* src_buffer;
  uint32_t* src_counts;
  uint32_t* src_displacements;
  xccl_dt_t src_datatype;
  void* dst_buffer;
  uint32_t* dst_counts;
  uint32_t* dst_displacements;
  xccl_dt_t dst_datatype;
  size_t len;
} xccl_coll_buffer_info_t;

/** FANOUT_GET: each rank fetches `len` bytes at `offset` of the root's mapped memory. A rank fetches 0 bytes or more. */
typedef struct xccl_coll_get_info {
  xccl_mem_h memh;
  ptrdiff_t offset;
  void* local_buffer;
  size_t len;
} xccl_coll_get_info_t;

typedef struct xccl_coll_algorithm {
  uint8_t set_by_user : 1;
  uint8_t id : 7;
} xccl_coll_algorithm_t;

typedef enum { XCCL_STREAM_TYPE_CUDA } xccl_stream_type_t;

typedef struct xccl_stream {
  xccl_stream_type_t type;
  void* stream;
} xccl_stream_t;

enum xccl_coll_op_args_field { XCCL_COLL_OP_ARGS_FIELD_STREAM = UCS_BIT(0) };

typedef struct xccl_coll_op_args {
  uint64_t field_mask;
  xccl_collective_type_t coll_type;
  union {
    xccl_coll_buffer_info_t buffer_info;
    xccl_coll_get_info_t get_info;
  };
  xccl_reduce_info_t reduce_info;
  int root;
  xccl_coll_algorithm_t alg; /**< A hint without effect. */
  uint16_t tag;              /**< Not read: collectives of a team match by their order. */
  xccl_stream_t stream;      /**< Refused: UNSUPPORTED. */
} xccl_coll_op_args_t;

/** Decides whether the collective can run: the answer is the same at all ranks whose arguments agree. The arrays of counts stay
 *  the program's until the request is done.
 *  @retval XCCL_ERR_UNSUPPORTED    No such type and operation is reduced, or a stream is named.
 *  @retval XCCL_ERR_INVALID_PARAM  A buffer, root, type or handle is wrong. */
xccl_status_t xccl_collective_init(xccl_coll_op_args_t* coll_args, xccl_coll_req_h* request, xccl_team_h team);
/** A request that is done may be posted again. */
xccl_status_t xccl_collective_post(xccl_coll_req_h request);
/** Blocks until it is done. */
xccl_status_t xccl_collective_wait(xccl_coll_req_h request);
xccl_status_t xccl_collective_test(xccl_coll_req_h request);
/** @retval XCCL_ERR_INVALID_PARAM  The request is under way. */
xccl_status_t xccl_collective_finalize(xccl_coll_req_h request);

/** Bytes of an element; 0: there is no such type. */
static inline size_t xccl_dt_size(xccl_dt_t dt) {
  switch (dt) {
    case XCCL_DT_INT8:
    case XCCL_DT_UINT8: return 1;
    case XCCL_DT_INT16:
    case XCCL_DT_UINT16:
    case XCCL_DT_FLOAT16: return 2;
    case XCCL_DT_INT32:
    case XCCL_DT_UINT32:
    case XCCL_DT_FLOAT32: return 4;
    case XCCL_DT_INT64:
    case XCCL_DT_UINT64:
    case XCCL_DT_FLOAT64: return 8;
    case XCCL_DT_INT128:
    case XCCL_DT_UINT128: return 16;
    default: return 0;
  }
}

/* ---- memory that others fetch from */

typedef enum xccl_mem_map_params_field_mask {
  XCCL_MEM_MAP_PARAM_FIELD_ADDRESS = UCS_BIT(0),
  XCCL_MEM_MAP_PARAM_FIELD_LENGTH = UCS_BIT(1),
  XCCL_MEM_MAP_PARAM_FIELD_ROOT = UCS_BIT(2)
} xccl_mem_map_params_field_mask_t;

/** The root is mandatory at every rank, the length at the root, whose memory alone is mapped: that at its address, or without one
 *  zeroed memory of the library's own. */
typedef struct xccl_mem_map_params {
  uint64_t field_mask;
  void* address;
  size_t length; /**< Bytes. */
  int root;
} xccl_mem_map_params_t;

/** A collective of the team: all ranks call it in the same order with their collectives, and test it until it is done. The root's
 *  memory stays readable until it unmaps it, which each rank does by itself.
 *  @retval XCCL_ERR_INVALID_PARAM  From test, at every rank: the ranks differ in their root, or it gave no length. */
xccl_status_t xccl_global_mem_map_start(xccl_team_h team, xccl_mem_map_params_t params, xccl_mem_h* memh_p);
xccl_status_t xccl_global_mem_map_test(xccl_mem_h memh_p);
xccl_status_t xccl_global_mem_unmap(xccl_mem_h memh_p);

END_C_DECLS

#endif
