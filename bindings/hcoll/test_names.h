/* Every name of the interface with its number, size or form, for a C and a C++ compiler. */
#include <hcoll/api/hcoll_api.h>
#include <stddef.h>

#include "base/test_holds.h"

#define HCOLL_VERSION(major, minor) (((major) << HCOLL_MAJOR_BIT) | ((minor) << HCOLL_MINOR_BIT))
#if HCOLL_API < HCOLL_VERSION(4, 8) || HCOLL_API >= HCOLL_VERSION(4, 9) || HCOLL_API <= HCOLL_VERSION(4, 5)
#error "clients compare the level so"
#endif
IS(HCOLL_API, 0x04080000);
IS(HCOLL_VERNO_MAJOR, 4);
IS(HCOLL_VERNO_MINOR, 8);
IS(HCOLL_MINOR_BIT, 16);
IS(HCOLL_MAJOR_BIT, 24);
HOLDS(sizeof(HCOLL_VERNO_STRING) > 1 && sizeof(HCOLL_GIT_SHA) > 1 && HCOLL_VERNO_MICRO >= 0);

IS(HCOLL_ERR_BASE, 0);
IS(HCOLL_SUCCESS, 0);
IS(HCOLL_ERROR, -1);
IS(HCOLL_ERR_OUT_OF_RESOURCE, -2);
IS(HCOLL_ERR_TEMP_OUT_OF_RESOURCE, -3);
IS(HCOLL_ERR_RESOURCE_BUSY, -4);
IS(HCOLL_ERR_BAD_PARAM, -5);
IS(HCOLL_ERR_FATAL, -6);
IS(HCOLL_ERR_NOT_IMPLEMENTED, -7);
IS(HCOLL_ERR_NOT_SUPPORTED, -8);
IS(HCOLL_ERR_INTERUPTED, -9);
IS(HCOLL_ERR_WOULD_BLOCK, -10);
IS(HCOLL_ERR_IN_ERRNO, -11);
IS(HCOLL_ERR_UNREACH, -12);
IS(HCOLL_ERR_NOT_FOUND, -13);
IS(HCOLL_EXISTS, -14);
IS(HCOLL_ERR_TIMEOUT, -15);
IS(HCOLL_ERR_NOT_AVAILABLE, -16);
IS(HCOLL_ERR_PERM, -17);
IS(HCOLL_ERR_VALUE_OUT_OF_BOUNDS, -18);
IS(HCOLL_ERR_FILE_READ_FAILURE, -19);
IS(HCOLL_ERR_FILE_WRITE_FAILURE, -20);
IS(HCOLL_ERR_FILE_OPEN_FAILURE, -21);
IS(HCOLL_ERR_PACK_MISMATCH, -22);
IS(HCOLL_ERR_PACK_FAILURE, -23);
IS(HCOLL_ERR_UNPACK_FAILURE, -24);
IS(HCOLL_ERR_UNPACK_INADEQUATE_SPACE, -25);
IS(HCOLL_ERR_UNPACK_READ_PAST_END_OF_BUFFER, -26);
IS(HCOLL_ERR_TYPE_MISMATCH, -27);
IS(HCOLL_ERR_OPERATION_UNSUPPORTED, -28);
IS(HCOLL_ERR_UNKNOWN_DATA_TYPE, -29);
IS(HCOLL_ERR_BUFFER, -30);
IS(HCOLL_ERR_DATA_TYPE_REDEF, -31);
IS(HCOLL_ERR_DATA_OVERWRITE_ATTEMPT, -32);
IS(HCOLL_ERR_MODULE_NOT_FOUND, -33);
IS(HCOLL_ERR_TOPO_SLOT_LIST_NOT_SUPPORTED, -34);
IS(HCOLL_ERR_TOPO_SOCKET_NOT_SUPPORTED, -35);
IS(HCOLL_ERR_TOPO_CORE_NOT_SUPPORTED, -36);
IS(HCOLL_ERR_NOT_ENOUGH_SOCKETS, -37);
IS(HCOLL_ERR_NOT_ENOUGH_CORES, -38);
IS(HCOLL_ERR_INVALID_PHYS_CPU, -39);
IS(HCOLL_ERR_MULTIPLE_AFFINITIES, -40);
IS(HCOLL_ERR_SLOT_LIST_RANGE, -41);
IS(HCOLL_ERR_NETWORK_NOT_PARSEABLE, -42);
IS(HCOLL_ERR_SILENT, -43);
IS(HCOLL_ERR_NOT_INITIALIZED, -44);
IS(HCOLL_ERR_NO_MATCH_YET, -45);
IS(HCOLL_ERR_MAX, -100);

IS(HCOL_DTE_ZERO, 0);
IS(HCOL_DTE_BYTE, 1);
IS(HCOL_DTE_INT16, 2);
IS(HCOL_DTE_INT32, 3);
IS(HCOL_DTE_INT64, 4);
IS(HCOL_DTE_INT128, 5);
IS(HCOL_DTE_UBYTE, 6);
IS(HCOL_DTE_UINT16, 7);
IS(HCOL_DTE_UINT32, 8);
IS(HCOL_DTE_UINT64, 9);
IS(HCOL_DTE_UINT128, 10);
IS(HCOL_DTE_FLOAT32, 11);
IS(HCOL_DTE_FLOAT64, 12);
IS(HCOL_DTE_FLOAT96, 13);
IS(HCOL_DTE_FLOAT128, 14);
IS(HCOL_DTE_FLOAT32_COMPLEX, 15);
IS(HCOL_DTE_FLOAT64_COMPLEX, 16);
IS(HCOL_DTE_FLOAT128_COMPLEX, 17);
IS(HCOL_DTE_FLOAT_INT, 18);
IS(HCOL_DTE_DOUBLE_INT, 19);
IS(HCOL_DTE_LONG_INT, 20);
IS(HCOL_DTE_2INT, 21);
IS(HCOL_DTE_SHORT_INT, 22);
IS(HCOL_DTE_LONG_DOUBLE_INT, 23);
IS(HCOL_DTE_2INT64, 24);
IS(HCOL_DTE_2FLOAT32, 25);
IS(HCOL_DTE_2FLOAT64, 26);
IS(HCOL_DTE_LB, 27);
IS(HCOL_DTE_UB, 28);
IS(HCOL_DTE_BOOL, 29);
IS(HCOL_DTE_WCHAR, 30);
IS(HCOL_DTE_MPI, 31);
IS(HCOL_DTE_FLOAT16, 32);
IS(HCOL_DTE_MAX_PREDEFINED, 33);
IS(HCOL_DTE_OP_NULL, 0);
IS(HCOL_DTE_OP_MAX, 1);
IS(HCOL_DTE_OP_MIN, 2);
IS(HCOL_DTE_OP_SUM, 3);
IS(HCOL_DTE_OP_PROD, 4);
IS(HCOL_DTE_OP_LAND, 5);
IS(HCOL_DTE_OP_BAND, 6);
IS(HCOL_DTE_OP_LOR, 7);
IS(HCOL_DTE_OP_BOR, 8);
IS(HCOL_DTE_OP_LXOR, 9);
IS(HCOL_DTE_OP_BXOR, 10);
IS(HCOL_DTE_OP_MAXLOC, 11);
IS(HCOL_DTE_OP_MINLOC, 12);
IS(HCOL_DTE_OP_REPLACE, 13);
IS(HCOL_DTE_OP_NUM_OF_TYPES, 14);
IS(HCOL_FIXED_SIZE_TYPE, 0);
IS(HCOL_FLOATING_POINT_TYPE, 1);

IS(HCOLRTE_REQUEST_DONE, 0);
IS(HCOLRTE_REQUEST_IDLE, 1);
IS(HCOLRTE_REQUEST_ACTIVE, 2);
IS(HCOLRTE_REQUEST_LAST, 3);
IS(HCOLL_MPI_COMBINER_DUP, 0);
IS(HCOLL_MPI_COMBINER_CONTIGUOUS, 1);
IS(HCOLL_MPI_COMBINER_VECTOR, 2);
IS(HCOLL_MPI_COMBINER_HVECTOR, 3);
IS(HCOLL_MPI_COMBINER_INDEXED, 4);
IS(HCOLL_MPI_COMBINER_HINDEXED, 5);
IS(HCOLL_MPI_COMBINER_INDEXED_BLOCK, 6);
IS(HCOLL_MPI_COMBINER_HINDEXED_BLOCK, 7);
IS(HCOLL_MPI_COMBINER_STRUCT, 8);
IS(HCOLL_MPI_COMBINER_SUBARRAY, 9);
IS(HCOLL_MPI_COMBINER_DARRAY, 10);
IS(HCOLL_MPI_COMBINER_F90_REAL, 11);
IS(HCOLL_MPI_COMBINER_F90_COMPLEX, 12);
IS(HCOLL_MPI_COMBINER_F90_INTEGER, 13);
IS(HCOLL_MPI_COMBINER_RESIZED, 14);
IS(HCOLL_MPI_COMBINER_LAST, 15);

SIZE(struct dte_in_line_t, 10);
AT(struct dte_in_line_t, packed_size, 1);
AT(struct dte_in_line_t, mantisa_size, 2);
AT(struct dte_in_line_t, data_extent, 4);
AT(struct dte_in_line_t, offset_from_base, 6);
AT(struct dte_in_line_t, alignment, 8);
SIZE(struct dte_data_rep_t, 16);
SIZE(struct dte_data_representation_t, 24);
SIZE(hcoll_datatype_t, 24);
AT(dte_data_representation_t, rep.in_line_rep.data_handle.in_line, 0);
AT(dte_data_representation_t, rep.in_line_rep.data_handle.pointer_to_handle, 0);
AT(dte_data_representation_t, rep.in_line_rep.data_handle.raw, 0);
AT(dte_data_representation_t, rep.ptr, 0);
AT(dte_data_representation_t, rep.general_rep, 0);
AT(dte_data_representation_t, id, 16);
SIZE(hcoll_dte_op_t, 4);
AT(hcoll_dte_op_t, id, 0);
SIZE(hcoll_init_opts_t, 16);
AT(hcoll_init_opts_t, base_tag, 0);
AT(hcoll_init_opts_t, max_tag, 4);
AT(hcoll_init_opts_t, enable_thread_support, 8);
AT(hcoll_init_opts_t, mem_hook_needed, 12);
SIZE(rte_ec_handle_t, 16);
AT(rte_ec_handle_t, rank, 0);
AT(rte_ec_handle_t, handle, 8);
SIZE(rte_request_handle_t, 16);
AT(rte_request_handle_t, data, 0);
AT(rte_request_handle_t, status, 8);
AT(rte_request_handle_t, ops_num, 8);
SIZE(rte_iovec_t, sizeof(struct iovec));
SIZE(rte_get_my_ec, sizeof(void*));

SIZE(rte_comm_fns_t, 184);
AT(struct rte_comm_fns, recv_fn, 0);
AT(struct rte_comm_fns, send_fn, 8);
AT(struct rte_comm_fns, test_fn, 16);
AT(struct rte_comm_fns, ec_cmp_fn, 24);
AT(struct rte_comm_fns, get_ec_handles_fn, 32);
AT(struct rte_comm_fns, rte_group_size_fn, 40);
AT(struct rte_comm_fns, rte_my_rank_fn, 48);
AT(struct rte_comm_fns, rte_ec_on_local_node_fn, 56);
AT(struct rte_comm_fns, rte_world_group_fn, 64);
AT(struct rte_comm_fns, rte_jobid_fn, 72);
AT(struct rte_comm_fns, rte_progress_fn, 80);
AT(struct rte_comm_fns, rte_get_coll_handle_fn, 88);
AT(struct rte_comm_fns, rte_coll_handle_test_fn, 96);
AT(struct rte_comm_fns, rte_coll_handle_free_fn, 104);
AT(struct rte_comm_fns, rte_coll_handle_complete_fn, 112);
AT(struct rte_comm_fns, rte_wait_completion_fn, 120);
AT(struct rte_comm_fns, rte_group_id_fn, 128);
AT(struct rte_comm_fns, rte_world_rank_fn, 136);
AT(struct rte_comm_fns, rte_get_mpi_constants_fn, 144);
AT(struct rte_comm_fns, rte_get_mpi_type_envelope_fn, 152);
AT(struct rte_comm_fns, rte_get_mpi_type_contents_fn, 160);
AT(struct rte_comm_fns, rte_get_hcoll_type_fn, 168);
AT(struct rte_comm_fns, rte_set_hcoll_type_fn, 176);

SIZE(struct hcoll_collectives_t, 200);
AT(hcoll_collectives_t, coll_allgather, 0);
SIZE(hcoll_allgather_fn_t, 8);
AT(hcoll_collectives_t, coll_allgatherv, 8);
SIZE(hcoll_allgatherv_fn_t, 8);
AT(hcoll_collectives_t, coll_allreduce, 16);
SIZE(hcoll_allreduce_fn_t, 8);
AT(hcoll_collectives_t, coll_alltoall, 24);
SIZE(hcoll_alltoall_fn_t, 8);
AT(hcoll_collectives_t, coll_alltoallv, 32);
SIZE(hcoll_alltoallv_fn_t, 8);
AT(hcoll_collectives_t, coll_alltoallw, 40);
SIZE(hcoll_alltoallw_fn_t, 8);
AT(hcoll_collectives_t, coll_barrier, 48);
SIZE(hcoll_barrier_fn_t, 8);
AT(hcoll_collectives_t, coll_bcast, 56);
SIZE(hcoll_bcast_fn_t, 8);
AT(hcoll_collectives_t, coll_exscan, 64);
SIZE(hcoll_exscan_fn_t, 8);
AT(hcoll_collectives_t, coll_gather, 72);
SIZE(hcoll_gather_fn_t, 8);
AT(hcoll_collectives_t, coll_gatherv, 80);
SIZE(hcoll_gatherv_fn_t, 8);
AT(hcoll_collectives_t, coll_reduce, 88);
SIZE(hcoll_reduce_fn_t, 8);
AT(hcoll_collectives_t, coll_reduce_scatter, 96);
SIZE(hcoll_reduce_scatter_fn_t, 8);
AT(hcoll_collectives_t, coll_reduce_scatter_block, 104);
SIZE(hcoll_reduce_scatter_block_fn_t, 8);
AT(hcoll_collectives_t, coll_scan, 112);
SIZE(hcoll_scan_fn_t, 8);
AT(hcoll_collectives_t, coll_scatter, 120);
SIZE(hcoll_scatter_fn_t, 8);
AT(hcoll_collectives_t, coll_scatterv, 128);
SIZE(hcoll_scatterv_fn_t, 8);
AT(hcoll_collectives_t, coll_ibarrier, 136);
SIZE(hcoll_ibarrier_fn_t, 8);
AT(hcoll_collectives_t, coll_ibcast, 144);
SIZE(hcoll_ibcast_fn_t, 8);
AT(hcoll_collectives_t, coll_iallgather, 152);
SIZE(hcoll_iallgather_fn_t, 8);
AT(hcoll_collectives_t, coll_iallgatherv, 160);
SIZE(hcoll_iallgatherv_fn_t, 8);
AT(hcoll_collectives_t, coll_iallreduce, 168);
SIZE(hcoll_iallreduce_fn_t, 8);
AT(hcoll_collectives_t, coll_ireduce, 176);
SIZE(hcoll_ireduce_fn_t, 8);
AT(hcoll_collectives_t, coll_igatherv, 184);
SIZE(hcoll_igatherv_fn_t, 8);
AT(hcoll_collectives_t, coll_ialltoallv, 192);
SIZE(hcoll_ialltoallv_fn_t, 8);

/* Clients test for the macros, and take addresses. */
#if !defined(DTE_ZERO) || !defined(DTE_BYTE) || !defined(DTE_INT16) || !defined(DTE_INT32) || !defined(DTE_INT64) || \
    !defined(DTE_INT128) || !defined(DTE_UBYTE) || !defined(DTE_UINT16) || !defined(DTE_UINT32) ||                   \
    !defined(DTE_UINT64) || !defined(DTE_UINT128) || !defined(DTE_FLOAT32) || !defined(DTE_FLOAT64) ||               \
    !defined(DTE_FLOAT96) || !defined(DTE_FLOAT128) || !defined(DTE_FLOAT32_COMPLEX) ||                              \
    !defined(DTE_FLOAT64_COMPLEX) || !defined(DTE_FLOAT128_COMPLEX) || !defined(DTE_FLOAT_INT) ||                    \
    !defined(DTE_DOUBLE_INT) || !defined(DTE_LONG_INT) || !defined(DTE_2INT) || !defined(DTE_SHORT_INT) ||           \
    !defined(DTE_LONG_DOUBLE_INT) || !defined(DTE_2INT64) || !defined(DTE_2FLOAT32) || !defined(DTE_2FLOAT64) ||     \
    !defined(DTE_LB) || !defined(DTE_UB) || !defined(DTE_BOOL) || !defined(DTE_WCHAR) || !defined(DTE_FLOAT16)
#error "a type has no macro"
#endif
#define ADDRESSES_OF_TYPES(F)                                                                                      \
  F(DTE_ZERO)                                                                                                      \
  F(DTE_BYTE)                                                                                                      \
  F(DTE_INT16)                                                                                                     \
  F(DTE_INT32)                                                                                                     \
  F(DTE_INT64) F(DTE_INT128) F(DTE_UBYTE) F(DTE_UINT16) F(DTE_UINT32) F(DTE_UINT64) F(DTE_UINT128) F(DTE_FLOAT32)  \
      F(DTE_FLOAT64) F(DTE_FLOAT96) F(DTE_FLOAT128) F(DTE_FLOAT32_COMPLEX) F(DTE_FLOAT64_COMPLEX)                  \
          F(DTE_FLOAT128_COMPLEX) F(DTE_FLOAT_INT) F(DTE_DOUBLE_INT) F(DTE_LONG_INT) F(DTE_2INT) F(DTE_SHORT_INT)  \
              F(DTE_LONG_DOUBLE_INT) F(DTE_2INT64) F(DTE_2FLOAT32) F(DTE_2FLOAT64) F(DTE_LB) F(DTE_UB) F(DTE_BOOL) \
                  F(DTE_WCHAR) F(DTE_FLOAT16)
#define ADDRESSES_OF_OPS(F) \
  F(HCOL_OP_NULL)           \
  F(HCOL_OP_MAX)            \
  F(HCOL_OP_MIN)            \
  F(HCOL_OP_SUM)            \
  F(HCOL_OP_PROD) F(HCOL_OP_LAND) F(HCOL_OP_BAND) F(HCOL_OP_LOR) F(HCOL_OP_BOR) F(HCOL_OP_LXOR) F(HCOL_OP_BXOR)

typedef void (*hcoll_any_function)(void);
/** The functions, and the data, that the library exports. */
#define NAMES_OF_FUNCTIONS(F)                                                                                 \
  F(hcoll_get_version)                                                                                        \
  F(hcoll_init)                                                                                               \
  F(hcoll_read_init_opts)                                                                                     \
  F(hcoll_init_with_opts)                                                                                     \
  F(hcoll_free_init_opts) F(hcoll_create_context) F(hcoll_context_free) F(hcoll_destroy_context)              \
      F(hcoll_group_destroy_notify) F(hcoll_finalize) F(hcoll_mem_unmap) F(hcoll_check_mem_release_cb_needed) \
          F(hcoll_set_runtime_tag_offset) F(hcoll_create_mpi_type) F(hcoll_dt_destroy) F(hcoll_get_info)      \
              F(init_hcoll_collectives) F(hcoll_rte_p2p_disabled_notify)
#define NAMES_OF_DATA(F)                                                                                               \
  F(hcoll_collectives)                                                                                                 \
  F(hcoll_rte_functions)                                                                                               \
  F(hcoll_progress_fn)                                                                                                 \
  F(rte_ec_any_source)                                                                                                 \
  F(zero_dte) F(byte_dte) F(integer16_dte) F(integer32_dte) F(integer64_dte) F(integer128_dte) F(u_byte_dte)           \
      F(u_integer16_dte) F(u_integer32_dte) F(u_integer64_dte) F(u_integer128_dte) F(float32_dte) F(float64_dte)       \
          F(float96_dte) F(float128_dte) F(float32_complex_dte) F(float64_complex_dte) F(float128_complex_dte)         \
              F(hcol_dte_float_int) F(hcol_dte_double_int) F(hcol_dte_long_int) F(hcol_dte_2int) F(hcol_dte_short_int) \
                  F(hcol_dte_long_double_int) F(hcol_dte_2int64) F(hcol_dte_2float32) F(hcol_dte_2float64)             \
                      F(hcol_dte_lb) F(hcol_dte_ub) F(hcol_dte_bool) F(hcol_dte_wchar) F(float16_dte)                  \
                          F(hcoll_dte_op_null) F(hcoll_dte_op_max) F(hcoll_dte_op_min) F(hcoll_dte_op_sum)             \
                              F(hcoll_dte_op_prod) F(hcoll_dte_op_land) F(hcoll_dte_op_band) F(hcoll_dte_op_lor)       \
                                  F(hcoll_dte_op_bor) F(hcoll_dte_op_lxor) F(hcoll_dte_op_bxor)
