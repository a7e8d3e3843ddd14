#pragma once
// The functions of the program's MPI, found when MPI_Init comes: the program may load its MPI late, as Python does.
//
// This library defines both names of what it interposes, MPI_X and PMPI_X: Open MPI's Fortran calls PMPI_X, and so does
// a profiling library that was loaded before us. A profiling library behind us has an MPI_X too; then our MPI_X calls
// that one, which calls our PMPI_X. So every profiling library sees every call, wherever it stands.
#include "bindings/pmpi/mpi.hpp"

namespace sumac::pmpi {

// clang-format off
/// The collectives of the table in their blocking form; each has a nonblocking and a persistent form besides.
#define SUMAC_PMPI_COLLECTIVES(X)                                                                                     \
  X(Barrier) X(Allreduce) X(Reduce) X(Bcast) X(Allgather) X(Allgatherv) X(Alltoall) X(Alltoallv)                      \
  X(Reduce_scatter_block) X(Gather) X(Gatherv) X(Scatter) X(Scatterv)
#define SUMAC_PMPI_NONBLOCKING(X)                                                                                     \
  X(Ibarrier) X(Iallreduce) X(Ireduce) X(Ibcast) X(Iallgather) X(Iallgatherv) X(Ialltoall) X(Ialltoallv)              \
  X(Ireduce_scatter_block) X(Igather) X(Igatherv) X(Iscatter) X(Iscatterv)
#define SUMAC_PMPI_PERSISTENT(X)                                                                                      \
  X(Barrier_init) X(Allreduce_init) X(Reduce_init) X(Bcast_init) X(Allgather_init) X(Allgatherv_init)                 \
  X(Alltoall_init) X(Alltoallv_init) X(Reduce_scatter_block_init) X(Gather_init) X(Gatherv_init) X(Scatter_init)      \
  X(Scatterv_init)
#ifdef SUMAC_PMPI_HAS_LARGE
#define SUMAC_PMPI_LARGE(X)                                                                                           \
  X(Allreduce_c) X(Reduce_c) X(Bcast_c) X(Allgather_c) X(Allgatherv_c) X(Alltoall_c) X(Alltoallv_c)                   \
  X(Reduce_scatter_block_c) X(Gather_c) X(Gatherv_c) X(Scatter_c) X(Scatterv_c)                                       \
  X(Iallreduce_c) X(Ireduce_c) X(Ibcast_c) X(Iallgather_c) X(Iallgatherv_c) X(Ialltoall_c) X(Ialltoallv_c)            \
  X(Ireduce_scatter_block_c) X(Igather_c) X(Igatherv_c) X(Iscatter_c) X(Iscatterv_c)                                  \
  X(Allreduce_init_c) X(Reduce_init_c) X(Bcast_init_c) X(Allgather_init_c) X(Allgatherv_init_c) X(Alltoall_init_c)    \
  X(Alltoallv_init_c) X(Reduce_scatter_block_init_c) X(Gather_init_c) X(Gatherv_init_c) X(Scatter_init_c)             \
  X(Scatterv_init_c)
#else
#define SUMAC_PMPI_LARGE(X)
#endif
/// The collectives that are always the MPI's: they are interposed to be counted.
#define SUMAC_PMPI_LEFT_PLAIN(X)                                                                                      \
  X(Reduce_scatter) X(Scan) X(Exscan) X(Alltoallw) X(Ireduce_scatter) X(Iscan) X(Iexscan) X(Ialltoallw)
#define SUMAC_PMPI_LEFT_PERSISTENT_FORMS(X)                                                                           \
  X(Reduce_scatter_init) X(Scan_init) X(Exscan_init) X(Alltoallw_init)
#ifdef SUMAC_PMPI_HAS_LARGE
#define SUMAC_PMPI_LEFT_LARGE(X)                                                                                      \
  X(Reduce_scatter_c) X(Scan_c) X(Exscan_c) X(Alltoallw_c) X(Ireduce_scatter_c) X(Iscan_c) X(Iexscan_c)               \
  X(Ialltoallw_c) X(Reduce_scatter_init_c) X(Scan_init_c) X(Exscan_init_c) X(Alltoallw_init_c)
#else
#define SUMAC_PMPI_LEFT_LARGE(X)
#endif
/// So are these, for waits.cpp.
#if !defined(OPEN_MPI)
#define SUMAC_PMPI_NEIGHBORS_PERSISTENT(X)                                                                            \
  X(Neighbor_allgather_init) X(Neighbor_allgatherv_init) X(Neighbor_alltoall_init) X(Neighbor_alltoallv_init)         \
  X(Neighbor_alltoallw_init) X(Neighbor_allgather_init_c) X(Neighbor_allgatherv_init_c)                               \
  X(Neighbor_alltoall_init_c) X(Neighbor_alltoallv_init_c) X(Neighbor_alltoallw_init_c)
#else
#define SUMAC_PMPI_NEIGHBORS_PERSISTENT(X)
#endif
/// The other functions that this library interposes.
#define SUMAC_PMPI_LIFE(X)                                                                                            \
  X(Init) X(Init_thread) X(Finalize) X(Comm_idup) X(Comm_disconnect) X(Op_free)                                                  \
  X(Wait) X(Waitall) X(Waitany) X(Waitsome) X(Test) X(Testall) X(Testany) X(Testsome)                                 \
  X(Start) X(Startall) X(Request_free) X(Request_get_status) X(Win_test)
/// The functions that it calls only.
#define SUMAC_PMPI_CALLED(X)                                                                                          \
  X(Abort) X(Add_error_code) X(Add_error_string) X(Comm_call_errhandler) X(Comm_create_keyval) X(Comm_dup)                       \
  X(Comm_remote_group) X(Comm_remote_size) X(Comm_free) X(Comm_free_keyval) X(Comm_get_attr) X(Comm_get_errhandler) X(Comm_get_name) X(Comm_get_parent) X(Comm_group) X(Comm_rank)    \
  X(Comm_set_attr) X(Comm_set_errhandler) X(Comm_size) X(Comm_split) X(Comm_test_inter) X(Errhandler_free) X(Error_string) X(Get_processor_name)         \
  X(Grequest_complete) X(Grequest_start) X(Group_free) X(Group_size) X(Group_translate_ranks) X(Iprobe) X(Irecv)      \
  X(Isend) X(Op_commutative) X(Pack) X(Query_thread) X(Recv_init) X(Reduce_local) X(Status_set_cancelled)             \
  X(Status_set_elements) X(T_cvar_get_index) X(T_cvar_handle_alloc) X(T_cvar_handle_free) X(T_cvar_read)             \
  X(T_finalize) X(T_init_thread) X(Type_commit) X(Type_contiguous) X(Type_create_hindexed) X(Type_create_keyval) X(Type_dup) X(Type_free) X(Type_free_keyval)     \
  X(Type_get_attr) X(Type_get_contents) X(Type_get_envelope) X(Type_get_extent) X(Type_get_true_extent)               \
  X(Type_set_attr) X(Type_size) X(Unpack)
// clang-format on

#define SUMAC_PMPI_INTERPOSED(X)      \
  SUMAC_PMPI_COLLECTIVES(X)           \
  SUMAC_PMPI_NONBLOCKING(X)           \
  SUMAC_PMPI_PERSISTENT(X)            \
  SUMAC_PMPI_LARGE(X)                 \
  SUMAC_PMPI_LEFT_PLAIN(X)            \
  SUMAC_PMPI_LEFT_PERSISTENT_FORMS(X) \
  SUMAC_PMPI_LEFT_LARGE(X)            \
  SUMAC_PMPI_NEIGHBORS_PERSISTENT(X)  \
  SUMAC_PMPI_LIFE(X)

/// Functions that an MPI may lack and that the mpi.h of this ABI need not declare: a communicator is revoked (User-Level
/// Failure Mitigation), and MPI 4.1's looks at several requests. Null: it lacks them.
struct Optional {
  int (*Comm_revoke)(MPI_Comm) = nullptr;
  int (*Comm_is_revoked)(MPI_Comm, int*) = nullptr;
  int (*Request_get_status_all)(int, const MPI_Request*, int*, MPI_Status*) = nullptr;
  int (*Request_get_status_any)(int, const MPI_Request*, int*, int*, MPI_Status*) = nullptr;
  int (*Request_get_status_some)(int, const MPI_Request*, int*, int*, MPI_Status*) = nullptr;
};

struct Functions {
#define SUMAC_PMPI_MEMBER(name) decltype(&PMPI_##name) name = nullptr;
  SUMAC_PMPI_INTERPOSED(SUMAC_PMPI_MEMBER)
  SUMAC_PMPI_CALLED(SUMAC_PMPI_MEMBER)
#undef SUMAC_PMPI_MEMBER
};

/// The MPI's own functions: its PMPI_X. A function that this MPI does not have is null.
extern Functions mpi;
extern Optional optional;
/// The MPI_X of a profiling library behind us; null where there is none.
extern Functions behind;

extern bool any_behind;  ///< There is one.

extern bool functions_found;
/// Fills both records, once. `caller` is an address in the code that called us: the MPI is looked for among the
/// libraries of that code if it is not in everybody's reach. Ends the process with one line if there is no MPI, or one of
/// another ABI than that of this library.
void find_functions(const void* caller);

}  // namespace sumac::pmpi
