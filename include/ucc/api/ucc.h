/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Teams API as programs of UCC use it, served by Sumac: collectives of host memory inside a host through shared
 * memory, between hosts by messages or by the aggregation tree.
 *
 *   ucc_init()               a library; ucc_context_create(): a process (or thread) among all others of the job
 *   ucc_team_create_post()   a team of some of them; ucc_team_create_test() until it is not UCC_INPROGRESS
 *   ucc_collective_init()    one collective: post it, call ucc_context_progress() until its status is final, finalize it
 *   ucc_team_destroy()       again and again while it returns UCC_INPROGRESS, then the context, then the library
 *
 * All ranks of a team begin the same collectives in the same order. What the library does not do it refuses with
 * UCC_ERR_NOT_SUPPORTED in ucc_collective_init(), at every rank or at none. */
#ifndef UCC_H_
#define UCC_H_

#include <stdio.h>
#include <ucc/api/ucc_def.h>
#include <ucc/api/ucc_version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the library */

/** A mask of enum ucc_lib_params_field. */
typedef struct ucc_lib_params {
  uint64_t mask;
  ucc_thread_mode_t thread_mode; /* MULTIPLE: any thread may use contexts and teams */
  uint64_t coll_types;
  uint64_t reduction_types;
  ucc_coll_sync_type_t sync_type;
} ucc_lib_params_t;

/** The same fields; `mask` names those to be filled. */
typedef struct ucc_lib_attr {
  uint64_t mask;
  ucc_thread_mode_t thread_mode;
  uint64_t coll_types;
  uint64_t reduction_types;
  ucc_coll_sync_type_t sync_type;
} ucc_lib_attr_t;

/** Reads the variables UCC_<NAME>, or <env_prefix>_UCC_<NAME> before them.
 *  @param filename  NULL: this library reads no file. */
ucc_status_t ucc_lib_config_read(const char* env_prefix, const char* filename, ucc_lib_config_h* config);
void ucc_lib_config_release(ucc_lib_config_h config);
void ucc_lib_config_print(const ucc_lib_config_h config, FILE* stream, const char* title,
                          ucc_config_print_flags_t print_flags);
/** Sets a variable by its name without a prefix. UCC_ERR_NOT_FOUND: there is none of that name. */
ucc_status_t ucc_lib_config_modify(ucc_lib_config_h config, const char* name, const char* value);

void ucc_get_version(unsigned* major_version, unsigned* minor_version, unsigned* release_number);
const char* ucc_get_version_string(void);

/** ucc_init() hands in the level of the headers that the program was compiled with: structures are read no further than
 *  these headers have them. */
ucc_status_t ucc_init_version(unsigned api_major_version, unsigned api_minor_version, const ucc_lib_params_t* params,
                              const ucc_lib_config_h config, ucc_lib_h* lib_p);
static inline ucc_status_t ucc_init(const ucc_lib_params_t* params, const ucc_lib_config_h config, ucc_lib_h* lib_p) {
  return ucc_init_version(UCC_API_MAJOR, UCC_API_MINOR, params, config, lib_p);
}
ucc_status_t ucc_finalize(ucc_lib_h lib_p);
ucc_status_t ucc_lib_get_attr(ucc_lib_h lib_p, ucc_lib_attr_t* lib_attr);

/* ---- contexts */

/** An allgather of the program's own among `n_oob_eps` processes, of which this one is `oob_ep`. The library begins one
 *  after the other, asks req_test() until it returns UCC_OK, and calls req_free() once. */
typedef struct ucc_oob_coll {
  ucc_status_t (*allgather)(void* src_buf, void* recv_buf, size_t size, void* allgather_info, void** request);
  ucc_status_t (*req_test)(void* request);
  ucc_status_t (*req_free)(void* request);
  void* coll_info;
  uint32_t n_oob_eps;
  uint32_t oob_ep;
} ucc_oob_coll_t;
typedef ucc_oob_coll_t ucc_context_oob_coll_t;
typedef ucc_oob_coll_t ucc_team_oob_coll_t;

typedef struct ucc_mem_map_segment {
  void* address;
  size_t len;
} ucc_mem_map_t;

typedef struct ucc_mem_map_params {
  ucc_mem_map_t* segments;
  uint64_t n_segments;
} ucc_mem_map_params_t;

typedef struct ucc_context_params {
  uint64_t mask;
  ucc_context_type_t type;
  ucc_coll_sync_type_t sync_type;
  ucc_context_oob_coll_t oob;
  uint64_t ctx_id;
  ucc_mem_map_params_t mem_params;
} ucc_context_params_t;

typedef struct ucc_context_attr {
  uint64_t mask;
  ucc_context_type_t type;
  ucc_coll_sync_type_t sync_type;
  ucc_context_addr_h ctx_addr; /* lives as long as the context */
  ucc_context_addr_len_t ctx_addr_len;
  uint64_t global_work_buffer_size; /* 0: collectives need none */
} ucc_context_attr_t;

ucc_status_t ucc_context_config_read(ucc_lib_h lib_handle, const char* filename, ucc_context_config_h* config);
void ucc_context_config_release(ucc_context_config_h config);
void ucc_context_config_print(const ucc_context_config_h config, FILE* stream, const char* title,
                              ucc_config_print_flags_t print_flags);
/** @param component  NULL: the context's own names. Others are accepted and have no effect. */
ucc_status_t ucc_context_config_modify(ucc_context_config_h config, const char* component, const char* name,
                                       const char* value);
/** Blocks. With an OOB it is collective over its processes, and teams can be made from the context alone. */
ucc_status_t ucc_context_create(ucc_lib_h lib_handle, const ucc_context_params_t* params,
                                const ucc_context_config_h config, ucc_context_h* context);
/** Makes everything of the context progress that was posted. It never blocks. */
ucc_status_t ucc_context_progress(ucc_context_h context);
/** With teams left it returns UCC_ERR_INVALID_PARAM, and the context ends with the last of them. */
ucc_status_t ucc_context_destroy(ucc_context_h context);
ucc_status_t ucc_context_get_attr(ucc_context_h context, ucc_context_attr_t* context_attr);

/* ---- teams */

typedef struct ucc_team_p2p_conn {
  int (*conn_info_lookup)(void* conn_ctx, uint64_t ep, ucc_p2p_conn_t** conn_info, void* request);
  int (*conn_info_release)(ucc_p2p_conn_t* conn_info);
  void* conn_ctx;
  ucc_status_t (*req_test)(void* request);
  ucc_status_t (*req_free)(void* request);
} ucc_team_p2p_conn_t;

struct ucc_ep_map_strided {
  uint64_t start;
  int64_t stride;
};
struct ucc_ep_map_array {
  void* map;
  size_t elem_size; /* 4 or 8 */
};
struct ucc_ep_map_cb {
  uint64_t (*cb)(uint64_t ep, void* cb_ctx);
  void* cb_ctx;
};

/** The context's rank of each rank of a team. */
typedef struct ucc_ep_map_t {
  ucc_ep_map_type_t type;
  uint64_t ep_num;
  union {
    struct ucc_ep_map_strided strided;
    struct ucc_ep_map_array array;
    struct ucc_ep_map_cb cb;
  };
} ucc_ep_map_t;

/** A team needs `oob`, or a context with one and `ep_map`; without both it has all ranks of the context. */
typedef struct ucc_team_params {
  uint64_t mask;
  uint64_t flags;
  ucc_post_ordering_t ordering;
  uint64_t outstanding_colls;
  uint64_t ep;
  uint64_t* ep_list;
  ucc_ep_range_type_t ep_range;
  uint64_t team_size;
  ucc_coll_sync_type_t sync_type;
  ucc_team_oob_coll_t oob;
  ucc_team_p2p_conn_t p2p_conn;
  ucc_mem_map_params_t mem_params;
  ucc_ep_map_t ep_map;
  uint64_t id;
} ucc_team_params_t;

typedef struct ucc_team_attr {
  uint64_t mask;
  ucc_post_ordering_t ordering;
  uint64_t outstanding_colls;
  uint64_t ep;
  ucc_ep_range_type_t ep_range;
  ucc_coll_sync_type_t sync_type;
  ucc_mem_map_params_t mem_params;
  uint32_t size;
  uint64_t* eps; /* memory of the caller's for `size` numbers */
} ucc_team_attr_t;

/** Begins to make a team of one context (`num_contexts` is 1) and returns at once. */
ucc_status_t ucc_team_create_post(ucc_context_h* contexts, uint32_t num_contexts, const ucc_team_params_t* team_params,
                                  ucc_team_h* new_team);
ucc_status_t ucc_team_create_test(ucc_team_h team);
/** Returns UCC_INPROGRESS while the team's connections end: call it again. Local. A team whose making has not ended gets
 *  UCC_ERR_INVALID_PARAM; one that could not be made is freed. */
ucc_status_t ucc_team_destroy(ucc_team_h team);
ucc_status_t ucc_team_get_attr(ucc_team_h team, ucc_team_attr_t* team_attr);
/** Collective over the parent: a team of the ranks with `included`, in the order of `my_ep`. The others get a team too,
 *  of which they are no rank: they test and destroy it. */
ucc_status_t ucc_team_create_from_parent(uint64_t my_ep, uint32_t included, ucc_team_h parent_team,
                                         ucc_team_h* new_ucc_team);

/* ---- collectives */

typedef struct ucc_coll_buffer_info_v {
  void* buffer;
  ucc_count_t* counts; /* they are of uint32_t without UCC_COLL_ARGS_FLAG_COUNT_64BIT */
  ucc_aint_t* displacements;
  ucc_datatype_t datatype;
  ucc_memory_type_t mem_type;
} ucc_coll_buffer_info_v_t;

typedef struct ucc_coll_buffer_info {
  void* buffer;
  ucc_count_t count;
  ucc_datatype_t datatype;
  ucc_memory_type_t mem_type;
} ucc_coll_buffer_info_t;

/** One collective. `count` is of all blocks together where a buffer has a block for each rank. In place: the data are in
 *  `dst`, and `src` is not read; a reduce_scatter then has the whole vector in `dst`, and its result at its own block.
 *  With `active_set` (a bcast) only the ranks start, start + stride, ... take part, told apart by `tag`. */
typedef struct ucc_coll_args {
  uint64_t mask;
  ucc_coll_type_t coll_type;
  union {
    ucc_coll_buffer_info_t info;
    ucc_coll_buffer_info_v_t info_v;
  } src;
  union {
    ucc_coll_buffer_info_t info;
    ucc_coll_buffer_info_v_t info_v;
  } dst;
  ucc_reduction_op_t op;
  uint64_t flags;
  uint64_t root;
  ucc_error_type_t error_type;
  ucc_coll_id_t tag;
  void* global_work_buffer;
  ucc_coll_callback_t cb;
  double timeout; /* seconds; read with UCC_COLL_ARGS_FLAG_TIMEOUT */
  struct {
    uint64_t start;
    int64_t stride;
    uint64_t size;
  } active_set;
  union {
    ucc_mem_map_mem_h local_memh;
    ucc_mem_map_mem_h* global_memh;
  } src_memh;
  union {
    ucc_mem_map_mem_h local_memh;
    ucc_mem_map_mem_h* global_memh;
  } dst_memh;
} ucc_coll_args_t;

ucc_status_t ucc_collective_init(ucc_coll_args_t* coll_args, ucc_coll_req_h* request, ucc_team_h team);
/** UCC_OK: it is under way, or done. Again only with UCC_COLL_ARGS_FLAG_PERSISTENT, when it is done. */
ucc_status_t ucc_collective_post(ucc_coll_req_h request);
/** UCC_ERR_NOT_IMPLEMENTED, as in the library that programs know. */
ucc_status_t ucc_collective_init_and_post(ucc_coll_args_t* coll_args, ucc_coll_req_h* request, ucc_team_h team);
static inline ucc_status_t ucc_collective_test(ucc_coll_req_h request) { return request->status; }
/** UCC_ERR_INVALID_PARAM while it is in progress. */
ucc_status_t ucc_collective_finalize(ucc_coll_req_h request);

/* ---- execution engines, events, mapped memory: UCC_ERR_NOT_SUPPORTED */

typedef struct ucc_event {
  ucc_event_type_t ev_type;
  void* ev_context;
  size_t ev_context_size;
  ucc_coll_req_h req;
} ucc_ev_t;

typedef struct ucc_ee_params {
  ucc_ee_type_t ee_type;
  void* ee_context;
  size_t ee_context_size;
} ucc_ee_params_t;

ucc_status_t ucc_ee_create(ucc_team_h team, const ucc_ee_params_t* params, ucc_ee_h* ee);
ucc_status_t ucc_ee_destroy(ucc_ee_h ee);
ucc_status_t ucc_ee_get_event(ucc_ee_h ee, ucc_ev_t** ev);
ucc_status_t ucc_ee_ack_event(ucc_ee_h ee, ucc_ev_t* ev);
ucc_status_t ucc_ee_set_event(ucc_ee_h ee, ucc_ev_t* ev);
ucc_status_t ucc_ee_wait(ucc_ee_h ee, ucc_ev_t* ev);
ucc_status_t ucc_collective_triggered_post(ucc_ee_h ee, ucc_ev_t* ee_event);
ucc_status_t ucc_mem_map(ucc_context_h context, ucc_mem_map_mode_t mode, ucc_mem_map_params_t* params,
                         size_t* memh_size, ucc_mem_map_mem_h* memh);
ucc_status_t ucc_mem_unmap(ucc_mem_map_mem_h* memh);

/* ---- datatypes of the program's own */

typedef struct ucc_reduce_cb_params {
  uint64_t mask;
  void* src1;
  void* src2;
  void* dst;
  size_t n_vectors;
  size_t count;
  size_t stride; /* bytes from one vector of src2 to the next */
  ucc_dt_generic_t* dt;
  void* cb_ctx;
} ucc_reduce_cb_params_t;

/** `contig_size` with UCC_GENERIC_DT_OPS_FLAG_CONTIG, `reduce` with UCC_GENERIC_DT_OPS_FLAG_REDUCE. Elements that are
 *  not contiguous are packed and unpacked as one stream; every element must pack to the same number of bytes. */
typedef struct ucc_generic_dt_ops {
  uint64_t mask;
  uint64_t flags;
  size_t contig_size;
  void* (*start_pack)(void* context, const void* buffer, size_t count);
  void* (*start_unpack)(void* context, void* buffer, size_t count);
  size_t (*packed_size)(void* state);
  size_t (*pack)(void* state, size_t offset, void* dest, size_t max_length);
  ucc_status_t (*unpack)(void* state, size_t offset, const void* src, size_t length);
  void (*finish)(void* state);
  struct {
    ucc_status_t (*cb)(const ucc_reduce_cb_params_t* params);
    void* cb_ctx;
  } reduce;
} ucc_generic_dt_ops_t;

ucc_status_t ucc_dt_create_generic(const ucc_generic_dt_ops_t* ops, void* context, ucc_datatype_t* datatype_p);
void ucc_dt_destroy(ucc_datatype_t datatype);

#ifdef __cplusplus
}
#endif

#endif
