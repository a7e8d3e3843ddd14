/* SPDX-License-Identifier: BSD-3-Clause
 *
 * HCOLL's interface, level 4.8, as libhcoll.so.1 of Sumac has it. An MPI
 *
 *   1. fills hcoll_rte_functions (hcoll_runtime_api.h),
 *   2. calls hcoll_read_init_opts(), sets the fields, and calls hcoll_init_with_opts();
 *   3. makes a context for each of its communicators, whose collectives are then those of hcoll_collectives;
 *   4. frees the contexts, and calls hcoll_finalize().
 *
 * It calls hcoll_progress_fn in its own progress, also before 2. and after 4.
 *
 * Threads: with `enable_thread_support` any thread may call for any context, but only one at a time for the blocking
 * collectives of one context. */
#ifndef HCOLL_API_H_
#define HCOLL_API_H_

#include <stddef.h>

#include "hcoll_constants.h"
#include "hcoll_dte.h"
#include "hcoll_runtime_api.h"
#include "hcoll_version.h"

#ifdef __cplusplus
extern "C" {
#endif

/** In place of a send buffer, and at the root of a scatter(v) of the receive buffer. */
#define HCOLL_IN_PLACE ((void*)1)

typedef struct hcoll_init_opts_t {
  int base_tag; /* in: the client's first tag that is free for this library. Negative: the next is one less */
  int max_tag;  /* in: the last one, where base_tag is positive */
  int enable_thread_support; /* in: several threads may call at the same time */
  int mem_hook_needed;       /* out: 0, memory that the program releases need not be told */
} hcoll_init_opts_t;

const char* hcoll_get_version(void);

/** Returns options in memory of the library. */
int hcoll_read_init_opts(hcoll_init_opts_t** opts);
/** Sends no message. A variable of the environment that is wrong makes no error here, since other ranks may have no such one: there
 *  are no contexts then. */
int hcoll_init_with_opts(hcoll_init_opts_t** opts);
void hcoll_free_init_opts(hcoll_init_opts_t* opts);
/** The same with tags of hcoll_set_runtime_tag_offset(). */
int hcoll_init(void);
int hcoll_set_runtime_tag_offset(int base_tag, int max_tag);
/** Destroys the contexts that are left. It calls none of the client's functions, and sends no message of them. */
int hcoll_finalize(void);

/** Collective over the group, by the client's messages. NULL, at all ranks alike: the client does its collectives. */
void* hcoll_create_context(rte_grp_handle_t group);
/** Operations that are not done are dropped. `group` may go afterwards. */
int hcoll_context_free(void* context, rte_grp_handle_t group);
/** The older form. `*context_destroyed` is set to 1. */
int hcoll_destroy_context(void* context, rte_grp_handle_t group, int* context_destroyed);
int hcoll_group_destroy_notify(void* context);

/** Makes a type of a derived one of MPI, and gives it to rte_set_hcoll_type_fn. Of a type that this library does not serve it makes
 *  the zero type, and returns HCOLL_SUCCESS all the same. */
int hcoll_create_mpi_type(void* mpi_type, hcoll_datatype_t* made);
int hcoll_dt_destroy(hcoll_datatype_t type);

int hcoll_check_mem_release_cb_needed(void);
void hcoll_mem_unmap(void* buffer, size_t bytes, void* context, int from_alloc);
int hcoll_rte_p2p_disabled_notify(void);
/** Prints what the tool hcoll_info prints. */
void hcoll_get_info(int argc, char** argv);

/** Moves nonblocking collectives; returns how many it ended. */
extern int (*hcoll_progress_fn)(void);

/* ---- the collectives, as MPI defines them ---- */

typedef int (*hcoll_allgather_fn_t)(void* sbuf, int scount, dte_data_representation_t stype, void* rbuf, int rcount,
                                    dte_data_representation_t rtype, void* context);
typedef int (*hcoll_allgatherv_fn_t)(void* sbuf, int scount, dte_data_representation_t stype, void* rbuf, int* rcounts,
                                     int* displs, dte_data_representation_t rtype, void* context);
typedef int (*hcoll_allreduce_fn_t)(void* sbuf, void* rbuf, int count, dte_data_representation_t type,
                                    hcoll_dte_op_t* op, void* context);
typedef int (*hcoll_alltoall_fn_t)(void* sbuf, int scount, dte_data_representation_t stype, void* rbuf, int rcount,
                                   dte_data_representation_t rtype, void* context);
typedef int (*hcoll_alltoallv_fn_t)(void* sbuf, int* scounts, int* sdispls, dte_data_representation_t stype, void* rbuf,
                                    int* rcounts, int* rdispls, dte_data_representation_t rtype, void* context);
typedef int (*hcoll_alltoallw_fn_t)(void* sbuf, int* scounts, int* sdispls, dte_data_representation_t** stypes,
                                    void* rbuf, int* rcounts, int* rdispls, dte_data_representation_t** rtypes,
                                    void* context);
typedef int (*hcoll_barrier_fn_t)(void* context);
typedef int (*hcoll_bcast_fn_t)(void* buffer, int count, dte_data_representation_t type, int root, void* context);
typedef int (*hcoll_exscan_fn_t)(void* sbuf, void* rbuf, int count, dte_data_representation_t type, hcoll_dte_op_t* op,
                                 void* context);
typedef int (*hcoll_gather_fn_t)(void* sbuf, int scount, dte_data_representation_t stype, void* rbuf, int rcount,
                                 dte_data_representation_t rtype, int root, void* context);
typedef int (*hcoll_gatherv_fn_t)(void* sbuf, int scount, dte_data_representation_t stype, void* rbuf, int* rcounts,
                                  int* displs, dte_data_representation_t rtype, int root, void* context);
typedef int (*hcoll_reduce_fn_t)(void* sbuf, void* rbuf, int count, dte_data_representation_t type, hcoll_dte_op_t* op,
                                 int root, void* context);
typedef int (*hcoll_reduce_scatter_fn_t)(void* sbuf, void* rbuf, int* rcounts, dte_data_representation_t type,
                                         hcoll_dte_op_t* op, void* context);
typedef int (*hcoll_reduce_scatter_block_fn_t)(void* sbuf, void* rbuf, int rcount, dte_data_representation_t type,
                                               hcoll_dte_op_t* op, void* context);
typedef int (*hcoll_scan_fn_t)(void* sbuf, void* rbuf, int count, dte_data_representation_t type, hcoll_dte_op_t* op,
                               void* context);
typedef int (*hcoll_scatter_fn_t)(void* sbuf, int scount, dte_data_representation_t stype, void* rbuf, int rcount,
                                  dte_data_representation_t rtype, int root, void* context);
typedef int (*hcoll_scatterv_fn_t)(void* sbuf, int* scounts, int* displs, dte_data_representation_t stype, void* rbuf,
                                   int rcount, dte_data_representation_t rtype, int root, void* context);
typedef int (*hcoll_ibarrier_fn_t)(void* context, void** handle);
typedef int (*hcoll_ibcast_fn_t)(void* buffer, int count, dte_data_representation_t type, int root, void** handle,
                                 void* context);
typedef int (*hcoll_iallgather_fn_t)(void* sbuf, int scount, dte_data_representation_t stype, void* rbuf, int rcount,
                                     dte_data_representation_t rtype, void* context, void** handle);
typedef int (*hcoll_iallgatherv_fn_t)(void* sbuf, int scount, dte_data_representation_t stype, void* rbuf, int* rcounts,
                                      int* displs, dte_data_representation_t rtype, void* context, void** handle);
typedef int (*hcoll_iallreduce_fn_t)(void* sbuf, void* rbuf, int count, dte_data_representation_t type,
                                     hcoll_dte_op_t* op, void* context, void** handle);
typedef int (*hcoll_ireduce_fn_t)(void* sbuf, void* rbuf, int count, dte_data_representation_t type, hcoll_dte_op_t* op,
                                  int root, void* context, void** handle);
typedef int (*hcoll_igatherv_fn_t)(void* sbuf, int scount, dte_data_representation_t stype, void* rbuf, int* rcounts,
                                   int* displs, dte_data_representation_t rtype, int root, void* context,
                                   void** handle);
typedef int (*hcoll_ialltoallv_fn_t)(void* sbuf, int* scounts, int* sdispls, dte_data_representation_t stype,
                                     void* rbuf, int* rcounts, int* rdispls, dte_data_representation_t rtype,
                                     void* context, void** handle);

/** A nonblocking one sets `*handle` to the client's object, and ends by rte_coll_handle_complete_fn. A NULL member is not
 *  offered. */
typedef struct hcoll_collectives_t {
  hcoll_allgather_fn_t coll_allgather;
  hcoll_allgatherv_fn_t coll_allgatherv;
  hcoll_allreduce_fn_t coll_allreduce;
  hcoll_alltoall_fn_t coll_alltoall;
  hcoll_alltoallv_fn_t coll_alltoallv;
  hcoll_alltoallw_fn_t coll_alltoallw;
  hcoll_barrier_fn_t coll_barrier;
  hcoll_bcast_fn_t coll_bcast;
  hcoll_exscan_fn_t coll_exscan;
  hcoll_gather_fn_t coll_gather;
  hcoll_gatherv_fn_t coll_gatherv;
  hcoll_reduce_fn_t coll_reduce;
  hcoll_reduce_scatter_fn_t coll_reduce_scatter;
  hcoll_reduce_scatter_block_fn_t coll_reduce_scatter_block;
  hcoll_scan_fn_t coll_scan;
  hcoll_scatter_fn_t coll_scatter;
  hcoll_scatterv_fn_t coll_scatterv;
  hcoll_ibarrier_fn_t coll_ibarrier;
  hcoll_ibcast_fn_t coll_ibcast;
  hcoll_iallgather_fn_t coll_iallgather;
  hcoll_iallgatherv_fn_t coll_iallgatherv;
  hcoll_iallreduce_fn_t coll_iallreduce;
  hcoll_ireduce_fn_t coll_ireduce;
  hcoll_igatherv_fn_t coll_igatherv;
  hcoll_ialltoallv_fn_t coll_ialltoallv;
} hcoll_collectives_t;

extern hcoll_collectives_t hcoll_collectives;
/** Fills hcoll_collectives; hcoll_init_with_opts() does. */
int init_hcoll_collectives(void);

#ifdef __cplusplus
}
#endif

#endif
