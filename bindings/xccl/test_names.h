/* Every name of the interface with its number, size or offset, for a C and a C++ compiler. */
#include <api/xccl.h>

#include "base/test_holds.h"

IS(XCCL_VERSION(1, 2), (1 << 24) | (2 << 16));
IS(XCCL_API_MAJOR, 1);
IS(XCCL_API_MINOR, 0);
IS(XCCL_API_VERSION, 1 << 24);

IS(XCCL_OK, 0);
IS(XCCL_INPROGRESS, 1);
IS(XCCL_ERR_NO_MESSAGE, -1);
IS(XCCL_ERR_NO_RESOURCE, -2);
IS(XCCL_ERR_NO_MEMORY, -4);
IS(XCCL_ERR_INVALID_PARAM, -5);
IS(XCCL_ERR_UNREACHABLE, -6);
IS(XCCL_ERR_NOT_IMPLEMENTED, -8);
IS(XCCL_ERR_MESSAGE_TRUNCATED, -9);
IS(XCCL_ERR_NO_PROGRESS, -10);
IS(XCCL_ERR_BUFFER_TOO_SMALL, -11);
IS(XCCL_ERR_NO_ELEM, -12);
IS(XCCL_ERR_UNSUPPORTED, -22);
IS(XCCL_ERR_LAST, -100);

IS(XCCL_TL_UCX, 1 << 0);
IS(XCCL_TL_HIER, 1 << 1);
IS(XCCL_TL_SHARP, 1 << 2);
IS(XCCL_TL_HMC, 1 << 3);
IS(XCCL_TL_SHMSEG, 1 << 4);
IS(XCCL_TL_MRAIL, 1 << 5);
IS(XCCL_TL_NCCL, 1 << 6);
IS(XCCL_TL_MPOD, 1 << 7);

IS(XCCL_LIB_PARAM_FIELD_REPRODUCIBLE, 1 << 0);
IS(XCCL_LIB_PARAM_FIELD_THREAD_MODE, 1 << 1);
IS(XCCL_LIB_PARAM_FIELD_TEAM_USAGE, 1 << 2);
IS(XCCL_LIB_PARAM_FIELD_COLL_TYPES, 1 << 4);

IS(XCCL_REPRODUCIBILITY_MODE_REPRODUCIBLE, 1 << 0);
IS(XCCL_REPRODUCIBILITY_MODE_NON_REPRODUCIBLE, 1 << 1);

IS(XCCL_THREAD_MODE_MULTIPLE, 1 << 0);
IS(XCCL_THREAD_MODE_SINGLE, 1 << 1);

IS(XCCL_LIB_PARAMS_TEAM_USAGE_HW_COLLECTIVES, 1 << 0);
IS(XCCL_LIB_PARAMS_TEAM_USAGE_SW_COLLECTIVES, 1 << 1);

IS(XCCL_COLL_CAP_BARRIER, 1 << 0);
IS(XCCL_COLL_CAP_BCAST, 1 << 1);
IS(XCCL_COLL_CAP_ALLREDUCE, 1 << 2);
IS(XCCL_COLL_CAP_REDUCE, 1 << 3);
IS(XCCL_COLL_CAP_ALLTOALL, 1 << 4);
IS(XCCL_COLL_CAP_ALLTOALLV, 1 << 5);
IS(XCCL_COLL_CAP_ALLGATHER, 1 << 6);
IS(XCCL_COLL_CAP_FANIN, 1 << 7);
IS(XCCL_COLL_CAP_FANOUT, 1 << 8);
IS(XCCL_COLL_CAP_FANOUT_GET, 1 << 9);

IS(XCCL_TL_ATTR_FIELD_CONTEXT_CREATE_MODE, 1 << 0);
IS(XCCL_TL_ATTR_FIELD_DEVICES_COUNT, 1 << 1);
IS(XCCL_TL_ATTR_FILED_DEVICES, 1 << 2);

IS(XCCL_CTX_ATTR_FIELD_SUPPORTED_COLLS, 1 << 0);

IS(XCCL_CONTEXT_PARAM_FIELD_THREAD_MODE, 1 << 0);
IS(XCCL_CONTEXT_PARAM_FIELD_TEAM_COMPLETION_TYPE, 1 << 1);
IS(XCCL_CONTEXT_PARAM_FIELD_OOB, 1 << 2);
IS(XCCL_CONTEXT_PARAM_FIELD_TLS, 1 << 3);

IS(XCCL_TEAM_PARAM_FIELD_EP_RANGE, 1 << 0);
IS(XCCL_TEAM_PARAM_FIELD_OOB, 1 << 1);

IS(XCCL_COLL_OP_ARGS_FIELD_STREAM, 1 << 0);

IS(XCCL_MEM_MAP_PARAM_FIELD_ADDRESS, 1 << 0);
IS(XCCL_MEM_MAP_PARAM_FIELD_LENGTH, 1 << 1);
IS(XCCL_MEM_MAP_PARAM_FIELD_ROOT, 1 << 2);

IS(XCCL_TL_NULL, 0);
IS(XCCL_TL_LAST, 129);
IS(XCCL_TL_ALL, 255);
IS(XCCL_COLL_CAP_ALL, 1023);

IS(XCCL_BARRIER, 0);
IS(XCCL_BCAST, 1);
IS(XCCL_ALLREDUCE, 2);
IS(XCCL_REDUCE, 3);
IS(XCCL_ALLTOALL, 4);
IS(XCCL_ALLTOALLV, 5);
IS(XCCL_ALLGATHER, 6);
IS(XCCL_FANIN, 7);
IS(XCCL_FANOUT, 8);
IS(XCCL_FANOUT_GET, 9);
IS(XCCL_COLL_LAST, 10);

IS(XCCL_TEAM_LIB_CONTEXT_CREATE_MODE_LOCAL, 0);
IS(XCCL_TEAM_LIB_CONTEXT_CREATE_MODE_GLOBAL, 1);

IS(XCCL_TEAM_COMPLETION_TYPE_BLOCKING, 0);
IS(XCCL_TEAM_COMPLETION_TYPE_NONBLOCKING, 1);
IS(XCCL_TEAM_COMPLETION_TYPE_SPLIT_PHASE, 2);

IS(XCCL_EP_RANGE_UNDEFINED, 0);
IS(XCCL_EP_RANGE_FULL, 1);
IS(XCCL_EP_RANGE_STRIDED, 2);
IS(XCCL_EP_RANGE_MAP, 3);
IS(XCCL_EP_RANGE_CB, 4);

IS(XCCL_OP_MAX, 0);
IS(XCCL_OP_MIN, 1);
IS(XCCL_OP_SUM, 2);
IS(XCCL_OP_PROD, 3);
IS(XCCL_OP_AND, 4);
IS(XCCL_OP_OR, 5);
IS(XCCL_OP_XOR, 6);
IS(XCCL_OP_LAND, 7);
IS(XCCL_OP_LOR, 8);
IS(XCCL_OP_LXOR, 9);
IS(XCCL_OP_BAND, 10);
IS(XCCL_OP_BOR, 11);
IS(XCCL_OP_BXOR, 12);
IS(XCCL_OP_MAXLOC, 13);
IS(XCCL_OP_MINLOC, 14);
IS(XCCL_OP_LAST_PREDEFINED, 15);
IS(XCCL_OP_UNSUPPORTED, 16);

IS(XCCL_DT_INT8, 0);
IS(XCCL_DT_INT16, 1);
IS(XCCL_DT_INT32, 2);
IS(XCCL_DT_INT64, 3);
IS(XCCL_DT_INT128, 4);
IS(XCCL_DT_UINT8, 5);
IS(XCCL_DT_UINT16, 6);
IS(XCCL_DT_UINT32, 7);
IS(XCCL_DT_UINT64, 8);
IS(XCCL_DT_UINT128, 9);
IS(XCCL_DT_FLOAT16, 10);
IS(XCCL_DT_FLOAT32, 11);
IS(XCCL_DT_FLOAT64, 12);
IS(XCCL_DT_LAST_PREDEFINED, 13);
IS(XCCL_DT_UNSUPPORTED, 14);

IS(XCCL_STREAM_TYPE_CUDA, 0);
SIZE(xccl_lib_params_t, 32);
AT(xccl_lib_params_t, field_mask, 0);
AT(xccl_lib_params_t, reproducible, 8);
AT(xccl_lib_params_t, thread_mode, 12);
AT(xccl_lib_params_t, team_usage, 16);
AT(xccl_lib_params_t, coll_types, 24);
SIZE(xccl_tl_attr_t, 24);
AT(xccl_tl_attr_t, field_mask, 0);
AT(xccl_tl_attr_t, context_create_mode, 8);
AT(xccl_tl_attr_t, devices_count, 12);
AT(xccl_tl_attr_t, devices, 16);
SIZE(xccl_ctx_attr_t, 16);
AT(xccl_ctx_attr_t, field_mask, 0);
AT(xccl_ctx_attr_t, supported_colls, 8);
SIZE(xccl_ep_range_t, 24);
AT(xccl_ep_range_t, type, 0);
AT(xccl_ep_range_t, ep_num, 4);
AT(xccl_ep_range_t, strided, 8);
AT(xccl_ep_range_t, map, 8);
AT(xccl_ep_range_t, cb, 8);
SIZE(xccl_oob_collectives_t, 40);
AT(xccl_oob_collectives_t, allgather, 0);
AT(xccl_oob_collectives_t, req_test, 8);
AT(xccl_oob_collectives_t, req_free, 16);
AT(xccl_oob_collectives_t, coll_context, 24);
AT(xccl_oob_collectives_t, rank, 32);
AT(xccl_oob_collectives_t, size, 36);
SIZE(xccl_context_params_t, 64);
AT(xccl_context_params_t, field_mask, 0);
AT(xccl_context_params_t, thread_mode, 8);
AT(xccl_context_params_t, completion_type, 12);
AT(xccl_context_params_t, oob, 16);
AT(xccl_context_params_t, tls, 56);
SIZE(xccl_team_params_t, 72);
AT(xccl_team_params_t, field_mask, 0);
AT(xccl_team_params_t, range, 8);
AT(xccl_team_params_t, oob, 32);
SIZE(xccl_reduce_info_t, 16);
AT(xccl_reduce_info_t, dt, 0);
AT(xccl_reduce_info_t, op, 4);
AT(xccl_reduce_info_t, count, 8);
SIZE(xccl_coll_buffer_info_t, 72);
AT(xccl_coll_buffer_info_t, src_buffer, 0);
AT(xccl_coll_buffer_info_t, src_counts, 8);
AT(xccl_coll_buffer_info_t, src_displacements, 16);
AT(xccl_coll_buffer_info_t, src_datatype, 24);
AT(xccl_coll_buffer_info_t, dst_buffer, 32);
AT(xccl_coll_buffer_info_t, dst_counts, 40);
AT(xccl_coll_buffer_info_t, dst_displacements, 48);
AT(xccl_coll_buffer_info_t, dst_datatype, 56);
AT(xccl_coll_buffer_info_t, len, 64);
SIZE(xccl_coll_get_info_t, 32);
AT(xccl_coll_get_info_t, memh, 0);
AT(xccl_coll_get_info_t, offset, 8);
AT(xccl_coll_get_info_t, local_buffer, 16);
AT(xccl_coll_get_info_t, len, 24);
SIZE(xccl_coll_algorithm_t, 1);
SIZE(xccl_stream_t, 16);
AT(xccl_stream_t, type, 0);
AT(xccl_stream_t, stream, 8);
SIZE(xccl_coll_op_args_t, 128);
AT(xccl_coll_op_args_t, field_mask, 0);
AT(xccl_coll_op_args_t, coll_type, 8);
AT(xccl_coll_op_args_t, buffer_info, 16);
AT(xccl_coll_op_args_t, get_info, 16);
AT(xccl_coll_op_args_t, reduce_info, 88);
AT(xccl_coll_op_args_t, root, 104);
AT(xccl_coll_op_args_t, alg, 108);
AT(xccl_coll_op_args_t, tag, 110);
AT(xccl_coll_op_args_t, stream, 112);
SIZE(xccl_mem_map_params_t, 32);
AT(xccl_mem_map_params_t, field_mask, 0);
AT(xccl_mem_map_params_t, address, 8);
AT(xccl_mem_map_params_t, length, 16);
AT(xccl_mem_map_params_t, root, 24);

typedef void (*xccl_any_function)(void);
#define NAMES_OF_FUNCTIONS(OF) \
  OF(xccl_lib_config_read) \
  OF(xccl_lib_config_release) \
  OF(xccl_lib_config_print) \
  OF(xccl_lib_init) \
  OF(xccl_lib_cleanup) \
  OF(xccl_get_tl_list) \
  OF(xccl_free_tl_list) \
  OF(xccl_tl_query) \
  OF(xccl_free_tl_attr) \
  OF(xccl_ctx_query) \
  OF(xccl_free_ctx_attr) \
  OF(xccl_context_config_read) \
  OF(xccl_context_config_modify) \
  OF(xccl_context_config_release) \
  OF(xccl_context_create) \
  OF(xccl_context_progress) \
  OF(xccl_context_destroy) \
  OF(xccl_team_create_post) \
  OF(xccl_team_create_test) \
  OF(xccl_team_destroy) \
  OF(xccl_collective_init) \
  OF(xccl_collective_post) \
  OF(xccl_collective_wait) \
  OF(xccl_collective_test) \
  OF(xccl_collective_finalize) \
  OF(xccl_global_mem_map_start) \
  OF(xccl_global_mem_map_test) \
  OF(xccl_global_mem_unmap)
