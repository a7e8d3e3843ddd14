/* Every name of the interface with its number, size or form, for a C and a C++ compiler. */
#include <stddef.h>
#include <ucc/api/ucc.h>

#include "base/test_holds.h"

IS(UCC_VERSION(1, 8), (1 << 24) | (8 << 16));
IS(UCC_API_VERSION, UCC_VERSION(UCC_API_MAJOR, UCC_API_MINOR));
HOLDS(sizeof(UCC_VERSION_STRING) > 1 && sizeof(UCC_GIT_REVISION) > 1);
IS(UCC_BIT(3), 8);
IS(UCC_MASK(3), 7);

IS(UCC_OK, 0);
IS(UCC_INPROGRESS, 1);
IS(UCC_OPERATION_INITIALIZED, 2);
IS(UCC_ERR_NOT_SUPPORTED, -1);
IS(UCC_ERR_NOT_IMPLEMENTED, -2);
IS(UCC_ERR_INVALID_PARAM, -3);
IS(UCC_ERR_NO_MEMORY, -4);
IS(UCC_ERR_NO_RESOURCE, -5);
IS(UCC_ERR_NO_MESSAGE, -6);
IS(UCC_ERR_NOT_FOUND, -7);
IS(UCC_ERR_TIMED_OUT, -8);
IS(UCC_ERR_IO_ERROR, -9);
IS(UCC_ERR_LAST, -100);

IS(UCC_COLL_TYPE_ALLGATHER, 1 << 0);
IS(UCC_COLL_TYPE_ALLGATHERV, 1 << 1);
IS(UCC_COLL_TYPE_ALLREDUCE, 1 << 2);
IS(UCC_COLL_TYPE_ALLTOALL, 1 << 3);
IS(UCC_COLL_TYPE_ALLTOALLV, 1 << 4);
IS(UCC_COLL_TYPE_BARRIER, 1 << 5);
IS(UCC_COLL_TYPE_BCAST, 1 << 6);
IS(UCC_COLL_TYPE_FANIN, 1 << 7);
IS(UCC_COLL_TYPE_FANOUT, 1 << 8);
IS(UCC_COLL_TYPE_GATHER, 1 << 9);
IS(UCC_COLL_TYPE_GATHERV, 1 << 10);
IS(UCC_COLL_TYPE_REDUCE, 1 << 11);
IS(UCC_COLL_TYPE_REDUCE_SCATTER, 1 << 12);
IS(UCC_COLL_TYPE_REDUCE_SCATTERV, 1 << 13);
IS(UCC_COLL_TYPE_SCATTER, 1 << 14);
IS(UCC_COLL_TYPE_SCATTERV, 1 << 15);
IS(UCC_COLL_TYPE_LAST, 32769);

IS(UCC_MEMORY_TYPE_HOST, 0);
IS(UCC_MEMORY_TYPE_CUDA, 1);
IS(UCC_MEMORY_TYPE_CUDA_MANAGED, 2);
IS(UCC_MEMORY_TYPE_ROCM, 3);
IS(UCC_MEMORY_TYPE_ROCM_MANAGED, 4);
IS(UCC_MEMORY_TYPE_LAST, 5);
IS(UCC_MEMORY_TYPE_UNKNOWN, 5);

IS(UCC_DATATYPE_PREDEFINED, 0);
IS(UCC_DATATYPE_GENERIC, 1);
IS(UCC_DATATYPE_SHIFT, 3);
IS(UCC_DATATYPE_CLASS_MASK, 7);
IS(UCC_DT_INT8, 0 << 3);
IS(UCC_DT_INT16, 1 << 3);
IS(UCC_DT_INT32, 2 << 3);
IS(UCC_DT_INT64, 3 << 3);
IS(UCC_DT_INT128, 4 << 3);
IS(UCC_DT_UINT8, 5 << 3);
IS(UCC_DT_UINT16, 6 << 3);
IS(UCC_DT_UINT32, 7 << 3);
IS(UCC_DT_UINT64, 8 << 3);
IS(UCC_DT_UINT128, 9 << 3);
IS(UCC_DT_FLOAT16, 10 << 3);
IS(UCC_DT_FLOAT32, 11 << 3);
IS(UCC_DT_FLOAT64, 12 << 3);
IS(UCC_DT_BFLOAT16, 13 << 3);
IS(UCC_DT_FLOAT128, 14 << 3);
IS(UCC_DT_FLOAT32_COMPLEX, 15 << 3);
IS(UCC_DT_FLOAT64_COMPLEX, 16 << 3);
IS(UCC_DT_FLOAT128_COMPLEX, 17 << 3);
IS(UCC_DT_PREDEFINED_LAST, 18);
IS(UCC_GENERIC_DT_OPS_FIELD_FLAGS, 1);
IS(UCC_GENERIC_DT_OPS_FLAG_CONTIG, 1);
IS(UCC_GENERIC_DT_OPS_FLAG_REDUCE, 2);

IS(UCC_OP_SUM, 0);
IS(UCC_OP_PROD, 1);
IS(UCC_OP_MAX, 2);
IS(UCC_OP_MIN, 3);
IS(UCC_OP_LAND, 4);
IS(UCC_OP_LOR, 5);
IS(UCC_OP_LXOR, 6);
IS(UCC_OP_BAND, 7);
IS(UCC_OP_BOR, 8);
IS(UCC_OP_BXOR, 9);
IS(UCC_OP_MAXLOC, 10);
IS(UCC_OP_MINLOC, 11);
IS(UCC_OP_AVG, 12);
IS(UCC_OP_LAST, 13);

IS(UCC_CONFIG_PRINT_CONFIG, 1);
IS(UCC_CONFIG_PRINT_HEADER, 2);
IS(UCC_CONFIG_PRINT_DOC, 4);
IS(UCC_CONFIG_PRINT_HIDDEN, 8);
IS(UCC_THREAD_SINGLE, 0);
IS(UCC_THREAD_FUNNELED, 1);
IS(UCC_THREAD_MULTIPLE, 2);
IS(UCC_NO_SYNC_COLLECTIVES, 0);
IS(UCC_SYNC_COLLECTIVES, 1);
IS(UCC_CONTEXT_EXCLUSIVE, 0);
IS(UCC_CONTEXT_SHARED, 1);
IS(UCC_LIB_PARAM_FIELD_THREAD_MODE, 1);
IS(UCC_LIB_PARAM_FIELD_COLL_TYPES, 2);
IS(UCC_LIB_PARAM_FIELD_REDUCTION_TYPES, 4);
IS(UCC_LIB_PARAM_FIELD_SYNC_TYPE, 8);
IS(UCC_LIB_ATTR_FIELD_THREAD_MODE, 1);
IS(UCC_LIB_ATTR_FIELD_COLL_TYPES, 2);
IS(UCC_LIB_ATTR_FIELD_REDUCTION_TYPES, 4);
IS(UCC_LIB_ATTR_FIELD_SYNC_TYPE, 8);
IS(UCC_CONTEXT_PARAM_FIELD_TYPE, 1);
IS(UCC_CONTEXT_PARAM_FIELD_SYNC_TYPE, 2);
IS(UCC_CONTEXT_PARAM_FIELD_OOB, 4);
IS(UCC_CONTEXT_PARAM_FIELD_ID, 8);
IS(UCC_CONTEXT_PARAM_FIELD_MEM_PARAMS, 16);
IS(UCC_CONTEXT_ATTR_FIELD_TYPE, 1);
IS(UCC_CONTEXT_ATTR_FIELD_SYNC_TYPE, 2);
IS(UCC_CONTEXT_ATTR_FIELD_CTX_ADDR, 4);
IS(UCC_CONTEXT_ATTR_FIELD_CTX_ADDR_LEN, 8);
IS(UCC_CONTEXT_ATTR_FIELD_WORK_BUFFER_SIZE, 16);

IS(UCC_TEAM_PARAM_FIELD_ORDERING, 1 << 0);
IS(UCC_TEAM_PARAM_FIELD_OUTSTANDING_COLLS, 1 << 1);
IS(UCC_TEAM_PARAM_FIELD_EP, 1 << 2);
IS(UCC_TEAM_PARAM_FIELD_EP_LIST, 1 << 3);
IS(UCC_TEAM_PARAM_FIELD_EP_RANGE, 1 << 4);
IS(UCC_TEAM_PARAM_FIELD_TEAM_SIZE, 1 << 5);
IS(UCC_TEAM_PARAM_FIELD_SYNC_TYPE, 1 << 6);
IS(UCC_TEAM_PARAM_FIELD_OOB, 1 << 7);
IS(UCC_TEAM_PARAM_FIELD_P2P_CONN, 1 << 8);
IS(UCC_TEAM_PARAM_FIELD_MEM_PARAMS, 1 << 9);
IS(UCC_TEAM_PARAM_FIELD_EP_MAP, 1 << 10);
IS(UCC_TEAM_PARAM_FIELD_ID, 1 << 11);
IS(UCC_TEAM_PARAM_FIELD_FLAGS, 1 << 12);
IS(UCC_TEAM_ATTR_FIELD_POST_ORDERING, 1 << 0);
IS(UCC_TEAM_ATTR_FIELD_OUTSTANDING_CALLS, 1 << 1);
IS(UCC_TEAM_ATTR_FIELD_EP, 1 << 2);
IS(UCC_TEAM_ATTR_FIELD_EP_RANGE, 1 << 3);
IS(UCC_TEAM_ATTR_FIELD_SYNC_TYPE, 1 << 4);
IS(UCC_TEAM_ATTR_FIELD_MEM_PARAMS, 1 << 5);
IS(UCC_TEAM_ATTR_FIELD_SIZE, 1 << 6);
IS(UCC_TEAM_ATTR_FIELD_EPS, 1 << 7);
IS(UCC_TEAM_FLAG_COLL_WORK_BUFFER, 1);
IS(UCC_COLLECTIVE_POST_ORDERED, 0);
IS(UCC_COLLECTIVE_POST_UNORDERED, 1);
IS(UCC_COLLECTIVE_INIT_ORDERED, 2);
IS(UCC_COLLECTIVE_INIT_UNORDERED, 3);
IS(UCC_COLLECTIVE_INIT_AND_POST_ORDERED, 4);
IS(UCC_COLLECTIVE_INIT_AND_POST_UNORDERED, 5);
IS(UCC_COLLECTIVE_EP_RANGE_CONTIG, 0);
IS(UCC_COLLECTIVE_EP_RANGE_NONCONTIG, 1);
IS(UCC_EP_MAP_FULL, 1);
IS(UCC_EP_MAP_STRIDED, 2);
IS(UCC_EP_MAP_ARRAY, 3);
IS(UCC_EP_MAP_CB, 4);

IS(UCC_COLL_ARGS_FIELD_FLAGS, 1 << 0);
IS(UCC_COLL_ARGS_FIELD_TAG, 1 << 1);
IS(UCC_COLL_ARGS_FIELD_CB, 1 << 2);
IS(UCC_COLL_ARGS_FIELD_GLOBAL_WORK_BUFFER, 1 << 3);
IS(UCC_COLL_ARGS_FIELD_ACTIVE_SET, 1 << 4);
IS(UCC_COLL_ARGS_FIELD_MEM_MAP_SRC_MEMH, 1 << 5);
IS(UCC_COLL_ARGS_FIELD_MEM_MAP_DST_MEMH, 1 << 6);
IS(UCC_COLL_ARGS_FLAG_IN_PLACE, 1 << 0);
IS(UCC_COLL_ARGS_FLAG_PERSISTENT, 1 << 1);
IS(UCC_COLL_ARGS_FLAG_COUNT_64BIT, 1 << 2);
IS(UCC_COLL_ARGS_FLAG_DISPLACEMENTS_64BIT, 1 << 3);
IS(UCC_COLL_ARGS_FLAG_CONTIG_SRC_BUFFER, 1 << 4);
IS(UCC_COLL_ARGS_FLAG_CONTIG_DST_BUFFER, 1 << 5);
IS(UCC_COLL_ARGS_FLAG_TIMEOUT, 1 << 6);
IS(UCC_COLL_ARGS_FLAG_MEM_MAPPED_BUFFERS, 1 << 7);
IS(UCC_COLL_ARGS_FLAG_SRC_MEMH_GLOBAL, 1 << 8);
IS(UCC_COLL_ARGS_FLAG_DST_MEMH_GLOBAL, 1 << 9);
IS(UCC_COLL_ARGS_HINT_OPTIMIZE_OVERLAP_CPU, 1 << 24);
IS(UCC_COLL_ARGS_HINT_OPTIMIZE_OVERLAP_GPU, 1 << 25);
IS(UCC_COLL_ARGS_HINT_OPTIMIZE_LATENCY, 1 << 26);
IS(UCC_COLL_ARGS_HINT_CONTIG_SRC_BUFFER, 1 << 4);
IS(UCC_COLL_ARGS_HINT_CONTIG_DST_BUFFER, 1 << 5);
IS(UCC_ERR_TYPE_LOCAL, 0);
IS(UCC_ERR_TYPE_GLOBAL, 1);
IS(UCC_EVENT_COLLECTIVE_POST, 1);
IS(UCC_EVENT_COLLECTIVE_COMPLETE, 2);
IS(UCC_EVENT_COMPUTE_COMPLETE, 4);
IS(UCC_EVENT_OVERFLOW, 8);
IS(UCC_EE_FIRST, 0);
IS(UCC_EE_CUDA_STREAM, 0);
IS(UCC_EE_CPU_THREAD, 1);
IS(UCC_EE_ROCM_STREAM, 2);
IS(UCC_EE_LAST, 3);
IS(UCC_EE_UNKNOWN, 3);
IS(UCC_MEM_MAP_MODE_EXPORT, 0);
IS(UCC_MEM_MAP_MODE_IMPORT, 1);
IS(UCC_MEM_MAP_MODE_EXPORT_OFFLOAD, 2);
IS(UCC_MEM_MAP_MODE_IMPORT_OFFLOAD, 3);
IS(UCC_MEM_MAP_MODE_LAST, 4);

SIZE(ucc_lib_params_t, 40);
SIZE(ucc_lib_attr_t, 40);
SIZE(ucc_oob_coll_t, 40);
SIZE(ucc_context_oob_coll_t, 40);
SIZE(ucc_team_oob_coll_t, 40);
SIZE(ucc_mem_map_t, 16);
SIZE(ucc_mem_map_params_t, 16);
SIZE(ucc_context_params_t, 80);
AT(ucc_context_params_t, type, 8);
AT(ucc_context_params_t, sync_type, 12);
AT(ucc_context_params_t, oob, 16);
AT(ucc_context_params_t, ctx_id, 56);
AT(ucc_context_params_t, mem_params, 64);
SIZE(ucc_context_attr_t, 40);
SIZE(ucc_team_p2p_conn_t, 40);
SIZE(ucc_ep_map_t, 32);
SIZE(ucc_team_params_t, 208);
AT(ucc_team_params_t, flags, 8);
AT(ucc_team_params_t, ordering, 16);
AT(ucc_team_params_t, outstanding_colls, 24);
AT(ucc_team_params_t, ep, 32);
AT(ucc_team_params_t, ep_list, 40);
AT(ucc_team_params_t, ep_range, 48);
AT(ucc_team_params_t, team_size, 56);
AT(ucc_team_params_t, sync_type, 64);
AT(ucc_team_params_t, oob, 72);
AT(ucc_team_params_t, p2p_conn, 112);
AT(ucc_team_params_t, mem_params, 152);
AT(ucc_team_params_t, ep_map, 168);
AT(ucc_team_params_t, id, 200);
SIZE(ucc_team_attr_t, 72);
SIZE(ucc_coll_buffer_info_t, 32);
SIZE(ucc_coll_buffer_info_v_t, 40);
SIZE(ucc_coll_callback_t, 16);
SIZE(ucc_coll_args_t, 200);
AT(ucc_coll_args_t, coll_type, 8);
AT(ucc_coll_args_t, src, 16);
AT(ucc_coll_args_t, dst, 56);
AT(ucc_coll_args_t, op, 96);
AT(ucc_coll_args_t, flags, 104);
AT(ucc_coll_args_t, root, 112);
AT(ucc_coll_args_t, error_type, 120);
AT(ucc_coll_args_t, tag, 124);
AT(ucc_coll_args_t, global_work_buffer, 128);
AT(ucc_coll_args_t, cb, 136);
AT(ucc_coll_args_t, timeout, 152);
AT(ucc_coll_args_t, active_set, 160);
AT(ucc_coll_args_t, src_memh, 184);
AT(ucc_coll_args_t, dst_memh, 192);
AT(ucc_coll_req_t, status, 0);
SIZE(ucc_coll_req_t, 4);
SIZE(ucc_ev_t, 32);
SIZE(ucc_ee_params_t, 24);
SIZE(ucc_reduce_cb_params_t, 72);
SIZE(ucc_generic_dt_ops_t, 88);
SIZE(ucc_count_t, 8);
SIZE(ucc_aint_t, 8);
SIZE(ucc_coll_id_t, 2);
SIZE(ucc_datatype_t, 8);
SIZE(ucc_context_addr_len_t, sizeof(size_t));
SIZE(ucc_lib_h, sizeof(void*));
SIZE(ucc_context_addr_h, sizeof(void*));
SIZE(ucc_mem_h, sizeof(void*));
SIZE(ucc_mem_map_mem_h, sizeof(void*));
SIZE(ucc_p2p_conn_t, sizeof(void*));

/** Returns the functions, NULL at the end: each must be in the library. */
typedef void (*ucc_any_function)(void);
#define NAMES_OF_FUNCTIONS(F)                                                                                   \
  F(ucc_lib_config_read)                                                                                        \
  F(ucc_lib_config_release) F(ucc_lib_config_print) F(ucc_lib_config_modify) F(ucc_get_version)                 \
      F(ucc_get_version_string) F(ucc_init_version) F(ucc_init) F(ucc_finalize) F(ucc_lib_get_attr)             \
          F(ucc_context_config_read) F(ucc_context_config_release) F(ucc_context_config_print)                  \
              F(ucc_context_config_modify) F(ucc_context_create) F(ucc_context_progress) F(ucc_context_destroy) \
                  F(ucc_context_get_attr) F(ucc_team_create_post) F(ucc_team_create_test) F(ucc_team_destroy)   \
                      F(ucc_team_get_attr) F(ucc_team_create_from_parent) F(ucc_collective_init)                \
                          F(ucc_collective_post) F(ucc_collective_init_and_post) F(ucc_collective_test)         \
                              F(ucc_collective_finalize) F(ucc_ee_create) F(ucc_ee_destroy) F(ucc_ee_get_event) \
                                  F(ucc_ee_ack_event) F(ucc_ee_set_event) F(ucc_ee_wait)                        \
                                      F(ucc_collective_triggered_post) F(ucc_mem_map) F(ucc_mem_unmap)          \
                                          F(ucc_dt_create_generic) F(ucc_dt_destroy) F(ucc_status_string)
