/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions of the client, mostly an MPI, that this library calls: messages among the ranks of a group, and the objects by
 * which nonblocking collectives end. The client fills hcoll_rte_functions before hcoll_init_with_opts(). */
#ifndef HCOLL_RUNTIME_API_H_
#define HCOLL_RUNTIME_API_H_

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "hcoll_dte.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A group of ranks: the client's communicator. */
typedef void* rte_grp_handle_t;

/** A rank of a group. `handle` tells the process, the same in all groups. */
typedef struct rte_ec_handle_t {
#if defined(RTE_DEBUG) && RTE_DEBUG > 0
  rte_grp_handle_t group;
#endif
  int rank;
  void* handle;
} rte_ec_handle_t;

enum { HCOLRTE_REQUEST_DONE = 0, HCOLRTE_REQUEST_IDLE = 1, HCOLRTE_REQUEST_ACTIVE = 2, HCOLRTE_REQUEST_LAST = 3 };

/** A message under way. */
typedef struct rte_request_handle_t {
  void* data;
  union {
    int status;
    int ops_num;
  };
} rte_request_handle_t;

typedef struct iovec rte_iovec_t;

/** Tells how a derived type was made. */
typedef enum {
  HCOLL_MPI_COMBINER_DUP = 0,
  HCOLL_MPI_COMBINER_CONTIGUOUS = 1,
  HCOLL_MPI_COMBINER_VECTOR = 2,
  HCOLL_MPI_COMBINER_HVECTOR = 3,
  HCOLL_MPI_COMBINER_INDEXED = 4,
  HCOLL_MPI_COMBINER_HINDEXED = 5,
  HCOLL_MPI_COMBINER_INDEXED_BLOCK = 6,
  HCOLL_MPI_COMBINER_HINDEXED_BLOCK = 7,
  HCOLL_MPI_COMBINER_STRUCT = 8,
  HCOLL_MPI_COMBINER_SUBARRAY = 9,
  HCOLL_MPI_COMBINER_DARRAY = 10,
  HCOLL_MPI_COMBINER_F90_REAL = 11,
  HCOLL_MPI_COMBINER_F90_COMPLEX = 12,
  HCOLL_MPI_COMBINER_F90_INTEGER = 13,
  HCOLL_MPI_COMBINER_RESIZED = 14,
  HCOLL_MPI_COMBINER_LAST = 15
} hcoll_mpi_type_combiner_t;

/** Each starts a message of packed_size x count / 8 bytes and returns at once. */
typedef int (*rte_recv_nb)(dte_data_representation_t data, uint32_t count, void* buffer, rte_ec_handle_t from,
                           rte_grp_handle_t group, uint32_t tag, rte_request_handle_t* request);
typedef int (*rte_send_nb)(dte_data_representation_t data, uint32_t count, void* buffer, rte_ec_handle_t to,
                           rte_grp_handle_t group, uint32_t tag, rte_request_handle_t* request);
/** Looks whether it has ended, which frees it. It moves nothing: rte_progress does. */
typedef int (*rte_test)(rte_request_handle_t* request, int* completed);
typedef int (*rte_ec_handle_compare)(rte_ec_handle_t one, rte_grp_handle_t group_of_one, rte_ec_handle_t other,
                                     rte_grp_handle_t group_of_other);
typedef int (*rte_get_ec_handles)(int count, int* ranks, rte_grp_handle_t group, rte_ec_handle_t* handles);
typedef int (*rte_get_my_ec)(rte_grp_handle_t group, rte_ec_handle_t* handle);
typedef int (*rte_group_size)(rte_grp_handle_t group);
typedef int (*rte_my_rank)(rte_grp_handle_t group);
typedef int (*rte_ec_on_local_node)(rte_ec_handle_t handle, rte_grp_handle_t group);
typedef rte_grp_handle_t (*rte_world_group)(void);
typedef uint32_t (*rte_jobid)(void);
typedef void (*rte_progress)(void);
/** The objects of nonblocking collectives, which are the program's requests. */
typedef void* (*rte_get_coll_handle)(void);
typedef int (*rte_coll_handle_test)(void* handle);
typedef void (*rte_coll_handle_free)(void* handle);
typedef void (*rte_coll_handle_complete)(void* handle);
typedef int (*rte_wait_completion)(rte_request_handle_t* request);
typedef int (*rte_group_id)(rte_grp_handle_t group);
typedef int (*rte_world_rank)(rte_grp_handle_t group, rte_ec_handle_t handle);
/** Derived types. */
typedef int (*rte_get_mpi_constants)(size_t* datatype_bytes, int* order_c, int* order_fortran, int* distribute_block,
                                     int* distribute_cyclic, int* distribute_none, int* distribute_dflt_darg);
typedef int (*rte_get_mpi_type_envelope)(void* type, int* integers, int* addresses, int* types,
                                         hcoll_mpi_type_combiner_t* combiner);
typedef int (*rte_get_mpi_type_contents)(void* type, int integers_max, int addresses_max, int types_max, int* integers,
                                         void* addresses, void* types);
typedef int (*rte_get_hcoll_type)(void* type, hcoll_datatype_t* found);
typedef int (*rte_set_hcoll_type)(void* type, hcoll_datatype_t made);

/** The optional ones are NULL where the client lacks them. */
typedef struct rte_comm_fns {
  rte_recv_nb recv_fn;
  rte_send_nb send_fn;
  rte_test test_fn;
  rte_ec_handle_compare ec_cmp_fn; /* optional */
  rte_get_ec_handles get_ec_handles_fn;
  rte_group_size rte_group_size_fn;
  rte_my_rank rte_my_rank_fn;
  rte_ec_on_local_node rte_ec_on_local_node_fn; /* optional */
  rte_world_group rte_world_group_fn;           /* optional */
  rte_jobid rte_jobid_fn;                       /* optional */
  rte_progress rte_progress_fn;
  rte_get_coll_handle rte_get_coll_handle_fn; /* this and the next three: without them there are no nonblocking ones */
  rte_coll_handle_test rte_coll_handle_test_fn;
  rte_coll_handle_free rte_coll_handle_free_fn;
  rte_coll_handle_complete rte_coll_handle_complete_fn;
  rte_wait_completion rte_wait_completion_fn; /* the library sets it */
  rte_group_id rte_group_id_fn;               /* this and all below: optional */
  rte_world_rank rte_world_rank_fn;
  rte_get_mpi_constants rte_get_mpi_constants_fn;
  rte_get_mpi_type_envelope rte_get_mpi_type_envelope_fn;
  rte_get_mpi_type_contents rte_get_mpi_type_contents_fn;
  rte_get_hcoll_type rte_get_hcoll_type_fn;
  rte_set_hcoll_type rte_set_hcoll_type_fn;
} rte_comm_fns_t;

extern rte_comm_fns_t hcoll_rte_functions;
/** A receive from any rank. */
extern rte_ec_handle_t rte_ec_any_source;

#ifdef __cplusplus
}
#endif

#endif
