/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Handles, numbers and masks of the Teams API. Each mask names the fields of a structure that its user has set: a field
 * without its bit is not read. */
#ifndef UCC_DEF_H_
#define UCC_DEF_H_

#include <stddef.h>
#include <stdint.h>
#include <ucc/api/ucc_status.h>

#define UCC_BIT(i) (1ul << (i))
#define UCC_MASK(i) (UCC_BIT(i) - 1)

/* ---- handles */

typedef struct ucc_lib_info* ucc_lib_h;
typedef struct ucc_lib_config* ucc_lib_config_h;
typedef struct ucc_context_config* ucc_context_config_h;
typedef struct ucc_context* ucc_context_h;
typedef struct ucc_team* ucc_team_h;
typedef struct ucc_ee* ucc_ee_h;
typedef struct ucc_mem_handle* ucc_mem_h;
typedef void* ucc_mem_map_mem_h;
typedef void* ucc_p2p_conn_t;
typedef void* ucc_context_addr_h;
typedef size_t ucc_context_addr_len_t;

typedef uint64_t ucc_count_t;
typedef uint64_t ucc_aint_t;
typedef uint16_t ucc_coll_id_t;
typedef uint64_t ucc_datatype_t;

/** A request begins with its status, which a program may read without a call. */
typedef struct ucc_coll_req {
  ucc_status_t status;
} ucc_coll_req_t;
typedef ucc_coll_req_t* ucc_coll_req_h;

/** Called once when a collective has ended, by the thread that made it progress. It may finalize the request. */
typedef struct ucc_coll_callback {
  void (*cb)(void* data, ucc_status_t status);
  void* data;
} ucc_coll_callback_t;

/* ---- collectives */

typedef enum {
  UCC_COLL_TYPE_ALLGATHER = UCC_BIT(0),
  UCC_COLL_TYPE_ALLGATHERV = UCC_BIT(1),
  UCC_COLL_TYPE_ALLREDUCE = UCC_BIT(2),
  UCC_COLL_TYPE_ALLTOALL = UCC_BIT(3),
  UCC_COLL_TYPE_ALLTOALLV = UCC_BIT(4),
  UCC_COLL_TYPE_BARRIER = UCC_BIT(5),
  UCC_COLL_TYPE_BCAST = UCC_BIT(6),
  UCC_COLL_TYPE_FANIN = UCC_BIT(7),
  UCC_COLL_TYPE_FANOUT = UCC_BIT(8),
  UCC_COLL_TYPE_GATHER = UCC_BIT(9),
  UCC_COLL_TYPE_GATHERV = UCC_BIT(10),
  UCC_COLL_TYPE_REDUCE = UCC_BIT(11),
  UCC_COLL_TYPE_REDUCE_SCATTER = UCC_BIT(12),
  UCC_COLL_TYPE_REDUCE_SCATTERV = UCC_BIT(13),
  UCC_COLL_TYPE_SCATTER = UCC_BIT(14),
  UCC_COLL_TYPE_SCATTERV = UCC_BIT(15),
  UCC_COLL_TYPE_LAST
} ucc_coll_type_t;

typedef enum ucc_memory_type {
  UCC_MEMORY_TYPE_HOST,
  UCC_MEMORY_TYPE_CUDA,
  UCC_MEMORY_TYPE_CUDA_MANAGED,
  UCC_MEMORY_TYPE_ROCM,
  UCC_MEMORY_TYPE_ROCM_MANAGED,
  UCC_MEMORY_TYPE_LAST,
  UCC_MEMORY_TYPE_UNKNOWN = UCC_MEMORY_TYPE_LAST /* taken as host memory */
} ucc_memory_type_t;

typedef enum {
  UCC_OP_SUM,
  UCC_OP_PROD,
  UCC_OP_MAX,
  UCC_OP_MIN,
  UCC_OP_LAND,
  UCC_OP_LOR,
  UCC_OP_LXOR,
  UCC_OP_BAND,
  UCC_OP_BOR,
  UCC_OP_BXOR,
  UCC_OP_MAXLOC,
  UCC_OP_MINLOC,
  UCC_OP_AVG,
  UCC_OP_LAST
} ucc_reduction_op_t;

/* ---- datatypes: the low three bits are the class */

typedef enum {
  UCC_DATATYPE_PREDEFINED = 0,
  UCC_DATATYPE_GENERIC = UCC_BIT(0),
  UCC_DATATYPE_SHIFT = 3,
  UCC_DATATYPE_CLASS_MASK = UCC_MASK(UCC_DATATYPE_SHIFT)
} ucc_dt_type_t;

#define UCC_PREDEFINED_DT(_id) ((ucc_datatype_t)((((uint64_t)(_id)) << UCC_DATATYPE_SHIFT) | UCC_DATATYPE_PREDEFINED))
#define UCC_DT_INT8 UCC_PREDEFINED_DT(0)
#define UCC_DT_INT16 UCC_PREDEFINED_DT(1)
#define UCC_DT_INT32 UCC_PREDEFINED_DT(2)
#define UCC_DT_INT64 UCC_PREDEFINED_DT(3)
#define UCC_DT_INT128 UCC_PREDEFINED_DT(4)
#define UCC_DT_UINT8 UCC_PREDEFINED_DT(5)
#define UCC_DT_UINT16 UCC_PREDEFINED_DT(6)
#define UCC_DT_UINT32 UCC_PREDEFINED_DT(7)
#define UCC_DT_UINT64 UCC_PREDEFINED_DT(8)
#define UCC_DT_UINT128 UCC_PREDEFINED_DT(9)
#define UCC_DT_FLOAT16 UCC_PREDEFINED_DT(10)
#define UCC_DT_FLOAT32 UCC_PREDEFINED_DT(11)
#define UCC_DT_FLOAT64 UCC_PREDEFINED_DT(12)
#define UCC_DT_BFLOAT16 UCC_PREDEFINED_DT(13)
#define UCC_DT_FLOAT128 UCC_PREDEFINED_DT(14)
#define UCC_DT_FLOAT32_COMPLEX UCC_PREDEFINED_DT(15)
#define UCC_DT_FLOAT64_COMPLEX UCC_PREDEFINED_DT(16)
#define UCC_DT_FLOAT128_COMPLEX UCC_PREDEFINED_DT(17)
#define UCC_DT_PREDEFINED_LAST 18

typedef struct ucc_dt_generic ucc_dt_generic_t;

enum ucc_generic_dt_ops_field { UCC_GENERIC_DT_OPS_FIELD_FLAGS = UCC_BIT(0) };
typedef enum {
  UCC_GENERIC_DT_OPS_FLAG_CONTIG = UCC_BIT(0),
  UCC_GENERIC_DT_OPS_FLAG_REDUCE = UCC_BIT(1)
} ucc_generic_dt_ops_flags_t;

/* ---- libraries and contexts */

typedef enum {
  UCC_CONFIG_PRINT_CONFIG = UCC_BIT(0),
  UCC_CONFIG_PRINT_HEADER = UCC_BIT(1),
  UCC_CONFIG_PRINT_DOC = UCC_BIT(2),
  UCC_CONFIG_PRINT_HIDDEN = UCC_BIT(3)
} ucc_config_print_flags_t;

typedef enum { UCC_THREAD_SINGLE, UCC_THREAD_FUNNELED, UCC_THREAD_MULTIPLE } ucc_thread_mode_t;
typedef enum { UCC_NO_SYNC_COLLECTIVES, UCC_SYNC_COLLECTIVES } ucc_coll_sync_type_t;
typedef enum { UCC_CONTEXT_EXCLUSIVE, UCC_CONTEXT_SHARED } ucc_context_type_t;

enum ucc_lib_params_field {
  UCC_LIB_PARAM_FIELD_THREAD_MODE = UCC_BIT(0),
  UCC_LIB_PARAM_FIELD_COLL_TYPES = UCC_BIT(1),
  UCC_LIB_PARAM_FIELD_REDUCTION_TYPES = UCC_BIT(2),
  UCC_LIB_PARAM_FIELD_SYNC_TYPE = UCC_BIT(3)
};

enum ucc_lib_attr_field {
  UCC_LIB_ATTR_FIELD_THREAD_MODE = UCC_BIT(0),
  UCC_LIB_ATTR_FIELD_COLL_TYPES = UCC_BIT(1),
  UCC_LIB_ATTR_FIELD_REDUCTION_TYPES = UCC_BIT(2),
  UCC_LIB_ATTR_FIELD_SYNC_TYPE = UCC_BIT(3)
};

enum ucc_context_params_field {
  UCC_CONTEXT_PARAM_FIELD_TYPE = UCC_BIT(0),
  UCC_CONTEXT_PARAM_FIELD_SYNC_TYPE = UCC_BIT(1),
  UCC_CONTEXT_PARAM_FIELD_OOB = UCC_BIT(2),
  UCC_CONTEXT_PARAM_FIELD_ID = UCC_BIT(3),
  UCC_CONTEXT_PARAM_FIELD_MEM_PARAMS = UCC_BIT(4)
};

enum ucc_context_attr_field {
  UCC_CONTEXT_ATTR_FIELD_TYPE = UCC_BIT(0),
  UCC_CONTEXT_ATTR_FIELD_SYNC_TYPE = UCC_BIT(1),
  UCC_CONTEXT_ATTR_FIELD_CTX_ADDR = UCC_BIT(2),
  UCC_CONTEXT_ATTR_FIELD_CTX_ADDR_LEN = UCC_BIT(3),
  UCC_CONTEXT_ATTR_FIELD_WORK_BUFFER_SIZE = UCC_BIT(4)
};

/* ---- teams */

enum ucc_team_params_field {
  UCC_TEAM_PARAM_FIELD_ORDERING = UCC_BIT(0),
  UCC_TEAM_PARAM_FIELD_OUTSTANDING_COLLS = UCC_BIT(1),
  UCC_TEAM_PARAM_FIELD_EP = UCC_BIT(2),
  UCC_TEAM_PARAM_FIELD_EP_LIST = UCC_BIT(3),
  UCC_TEAM_PARAM_FIELD_EP_RANGE = UCC_BIT(4),
  UCC_TEAM_PARAM_FIELD_TEAM_SIZE = UCC_BIT(5),
  UCC_TEAM_PARAM_FIELD_SYNC_TYPE = UCC_BIT(6),
  UCC_TEAM_PARAM_FIELD_OOB = UCC_BIT(7),
  UCC_TEAM_PARAM_FIELD_P2P_CONN = UCC_BIT(8),
  UCC_TEAM_PARAM_FIELD_MEM_PARAMS = UCC_BIT(9),
  UCC_TEAM_PARAM_FIELD_EP_MAP = UCC_BIT(10),
  UCC_TEAM_PARAM_FIELD_ID = UCC_BIT(11),
  UCC_TEAM_PARAM_FIELD_FLAGS = UCC_BIT(12)
};

enum ucc_team_attr_field {
  UCC_TEAM_ATTR_FIELD_POST_ORDERING = UCC_BIT(0),
  UCC_TEAM_ATTR_FIELD_OUTSTANDING_CALLS = UCC_BIT(1),
  UCC_TEAM_ATTR_FIELD_EP = UCC_BIT(2),
  UCC_TEAM_ATTR_FIELD_EP_RANGE = UCC_BIT(3),
  UCC_TEAM_ATTR_FIELD_SYNC_TYPE = UCC_BIT(4),
  UCC_TEAM_ATTR_FIELD_MEM_PARAMS = UCC_BIT(5),
  UCC_TEAM_ATTR_FIELD_SIZE = UCC_BIT(6),
  UCC_TEAM_ATTR_FIELD_EPS = UCC_BIT(7)
};

enum ucc_team_flags { UCC_TEAM_FLAG_COLL_WORK_BUFFER = UCC_BIT(0) };

typedef enum {
  UCC_COLLECTIVE_POST_ORDERED,
  UCC_COLLECTIVE_POST_UNORDERED,
  UCC_COLLECTIVE_INIT_ORDERED,
  UCC_COLLECTIVE_INIT_UNORDERED,
  UCC_COLLECTIVE_INIT_AND_POST_ORDERED,
  UCC_COLLECTIVE_INIT_AND_POST_UNORDERED
} ucc_post_ordering_t;

typedef enum { UCC_COLLECTIVE_EP_RANGE_CONTIG, UCC_COLLECTIVE_EP_RANGE_NONCONTIG } ucc_ep_range_type_t;
typedef enum { UCC_EP_MAP_FULL = 1, UCC_EP_MAP_STRIDED, UCC_EP_MAP_ARRAY, UCC_EP_MAP_CB } ucc_ep_map_type_t;

/* ---- operations */

enum ucc_coll_args_field {
  UCC_COLL_ARGS_FIELD_FLAGS = UCC_BIT(0),
  UCC_COLL_ARGS_FIELD_TAG = UCC_BIT(1),
  UCC_COLL_ARGS_FIELD_CB = UCC_BIT(2),
  UCC_COLL_ARGS_FIELD_GLOBAL_WORK_BUFFER = UCC_BIT(3),
  UCC_COLL_ARGS_FIELD_ACTIVE_SET = UCC_BIT(4),
  UCC_COLL_ARGS_FIELD_MEM_MAP_SRC_MEMH = UCC_BIT(5),
  UCC_COLL_ARGS_FIELD_MEM_MAP_DST_MEMH = UCC_BIT(6)
};

typedef enum {
  UCC_COLL_ARGS_FLAG_IN_PLACE = UCC_BIT(0),
  UCC_COLL_ARGS_FLAG_PERSISTENT = UCC_BIT(1),
  UCC_COLL_ARGS_FLAG_COUNT_64BIT = UCC_BIT(2), /* else counts of a v-form are of uint32_t */
  UCC_COLL_ARGS_FLAG_DISPLACEMENTS_64BIT = UCC_BIT(3),
  UCC_COLL_ARGS_FLAG_CONTIG_SRC_BUFFER = UCC_BIT(4),
  UCC_COLL_ARGS_FLAG_CONTIG_DST_BUFFER = UCC_BIT(5),
  UCC_COLL_ARGS_FLAG_TIMEOUT = UCC_BIT(6), /* `timeout` is set */
  UCC_COLL_ARGS_FLAG_MEM_MAPPED_BUFFERS = UCC_BIT(7),
  UCC_COLL_ARGS_FLAG_SRC_MEMH_GLOBAL = UCC_BIT(8),
  UCC_COLL_ARGS_FLAG_DST_MEMH_GLOBAL = UCC_BIT(9)
} ucc_coll_args_flags_t;

typedef enum {
  UCC_COLL_ARGS_HINT_OPTIMIZE_OVERLAP_CPU = UCC_BIT(24),
  UCC_COLL_ARGS_HINT_OPTIMIZE_OVERLAP_GPU = UCC_BIT(25),
  UCC_COLL_ARGS_HINT_OPTIMIZE_LATENCY = UCC_BIT(26),
  UCC_COLL_ARGS_HINT_CONTIG_SRC_BUFFER = UCC_COLL_ARGS_FLAG_CONTIG_SRC_BUFFER,
  UCC_COLL_ARGS_HINT_CONTIG_DST_BUFFER = UCC_COLL_ARGS_FLAG_CONTIG_DST_BUFFER
} ucc_coll_args_hints_t;

typedef enum { UCC_ERR_TYPE_LOCAL, UCC_ERR_TYPE_GLOBAL } ucc_error_type_t;

/* ---- execution engines and mapped memory: this library has neither */

typedef enum ucc_event_type {
  UCC_EVENT_COLLECTIVE_POST = UCC_BIT(0),
  UCC_EVENT_COLLECTIVE_COMPLETE = UCC_BIT(1),
  UCC_EVENT_COMPUTE_COMPLETE = UCC_BIT(2),
  UCC_EVENT_OVERFLOW = UCC_BIT(3)
} ucc_event_type_t;

typedef enum ucc_ee_type {
  UCC_EE_FIRST,
  UCC_EE_CUDA_STREAM = UCC_EE_FIRST,
  UCC_EE_CPU_THREAD,
  UCC_EE_ROCM_STREAM,
  UCC_EE_LAST,
  UCC_EE_UNKNOWN = UCC_EE_LAST
} ucc_ee_type_t;

typedef enum {
  UCC_MEM_MAP_MODE_EXPORT,
  UCC_MEM_MAP_MODE_IMPORT,
  UCC_MEM_MAP_MODE_EXPORT_OFFLOAD,
  UCC_MEM_MAP_MODE_IMPORT_OFFLOAD,
  UCC_MEM_MAP_MODE_LAST
} ucc_mem_map_mode_t;

#endif
