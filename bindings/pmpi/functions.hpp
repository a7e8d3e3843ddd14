#pragma once
// The functions of the program's MPI, found when MPI_Init comes: the program may load its MPI late, as Python does.
//
// This library defines both names of what it interposes, MPI_X and PMPI_X: Open MPI's Fortran calls PMPI_X, and so does
// a profiling library that was loaded before us. A profiling library behind us has an MPI_X too; then our MPI_X calls
// that one, which calls our PMPI_X. So every profiling library sees every call, wherever it stands.
#include "bindings/pmpi/mpi.hpp"
#include "rank/signatures.h"

namespace sumac::pmpi {

/// The collectives, in the forms that this ABI has. Teams do most of them; the others are interposed to be counted.
#define SUMAC_PMPI_FORMS(X, Name, name, coll, S) X(Name) X(I##name) X(Name##_init)
#if defined(SUMAC_PMPI_HAS_LARGE)
#define SUMAC_PMPI_FORMS_WITH_DATA(X, Name, name, coll, S) \
  SUMAC_PMPI_FORMS(X, Name, name, coll, S) X(Name##_c) X(I##name##_c) X(Name##_init_c)
#else
#define SUMAC_PMPI_FORMS_WITH_DATA SUMAC_PMPI_FORMS
#endif
#define SUMAC_PMPI_COLLECTIVES(X)                     \
  SUMAC_EACH_BARRIER(SUMAC_PMPI_FORMS, X)             \
  SUMAC_EACH_ALLREDUCE(SUMAC_PMPI_FORMS_WITH_DATA, X) \
  SUMAC_EACH_PLANNED(SUMAC_PMPI_FORMS_WITH_DATA, X)   \
  SUMAC_EACH_LEFT(SUMAC_PMPI_FORMS_WITH_DATA, X)

// clang-format off
/// These are interposed for waits.cpp.
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

#define SUMAC_PMPI_INTERPOSED(X)     \
  SUMAC_PMPI_COLLECTIVES(X)          \
  SUMAC_PMPI_NEIGHBORS_PERSISTENT(X) \
  SUMAC_PMPI_LIFE(X)

#if defined(OPEN_MPI)
// Open MPI 5 has the persistent collectives of MPI 4 although its mpi.h says 3.1; Open MPI 4.1 has them as MPIX.
template <class Function>
struct Persistent;
template <class... Arguments>
struct Persistent<int(Arguments...)> {
  using Type = int(Arguments..., MPI_Info, MPI_Request*);
};
#define SUMAC_PMPI_DECLARE(X, Name, name, coll, S) \
  extern "C" Persistent<decltype(PMPI_##Name)>::Type PMPI_##Name##_init;
SUMAC_EACH_COLLECTIVE(SUMAC_PMPI_DECLARE, )
SUMAC_EACH_LEFT(SUMAC_PMPI_DECLARE, )
#undef SUMAC_PMPI_DECLARE
#endif

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
