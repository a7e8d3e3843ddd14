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
  SUMAC_EACH_BCAST(SUMAC_PMPI_FORMS_WITH_DATA, X)     \
  SUMAC_EACH_PLANNED(SUMAC_PMPI_FORMS_WITH_DATA, X)   \
  SUMAC_EACH_LEFT(SUMAC_PMPI_FORMS_WITH_DATA, X)

/// The persistent collectives among neighbors are interposed for waits.cpp: calls X(Z, Name, signature, Displacement), with the type
/// of a displacement in the form whose counts are ints.
#if !defined(OPEN_MPI)
#define SUMAC_PMPI_EACH_NEIGHBOR(X, Z)     \
  X(Z, Neighbor_allgather, BLOCKS, int)    \
  X(Z, Neighbor_allgatherv, TO_SIZED, int) \
  X(Z, Neighbor_alltoall, BLOCKS, int)     \
  X(Z, Neighbor_alltoallv, SIZED, int)     \
  X(Z, Neighbor_alltoallw, SIZED_OF_TYPES, MPI_Aint)
#else
#define SUMAC_PMPI_EACH_NEIGHBOR(X, Z)
#endif
#define SUMAC_PMPI_NEIGHBOR_NAMES(X, Name, S, Displacement) X(Name##_init) X(Name##_init_c)

// clang-format off
/// The other functions that this library interposes.
#define SUMAC_PMPI_LIFE(X)                                                                                            \
  X(Init) X(Init_thread) X(Finalize) X(Comm_idup) X(Comm_disconnect) X(Comm_free) X(Op_free) X(Type_free)                                  \
  X(Wait) X(Waitall) X(Waitany) X(Waitsome) X(Test) X(Testall) X(Testany) X(Testsome)                                 \
  X(Start) X(Startall) X(Request_free) X(Request_get_status) X(Win_test)
/// The functions that it calls only.
#define SUMAC_PMPI_CALLED(X)                                                                                          \
  X(Abort) X(Add_error_code) X(Add_error_string) X(Comm_call_errhandler) X(Comm_create_keyval) X(Comm_dup)                       \
  X(Comm_remote_group) X(Comm_remote_size) X(Comm_get_attr) X(Comm_get_errhandler) X(Comm_get_name) X(Comm_get_parent) X(Comm_group) X(Comm_rank)    \
  X(Comm_set_attr) X(Comm_set_errhandler) X(Comm_size) X(Comm_split) X(Comm_test_inter) X(Errhandler_free) X(Error_string) X(Get_processor_name)         \
  X(Grequest_complete) X(Grequest_start) X(Group_free) X(Group_translate_ranks) X(Iprobe) X(Irecv)      \
  X(Isend) X(Op_commutative) X(Pack) X(Query_thread) X(Recv_init) X(Reduce_local) X(Status_set_cancelled)             \
  X(Status_set_elements) X(T_cvar_get_index) X(T_cvar_handle_alloc) X(T_cvar_handle_free) X(T_cvar_read)             \
  X(T_finalize) X(T_init_thread) X(Type_commit) X(Type_create_hindexed) X(Type_create_keyval) X(Type_dup)     \
  X(Type_get_attr) X(Type_get_contents) X(Type_get_envelope) X(Type_get_extent) X(Type_get_true_extent)               \
  X(Type_set_attr) X(Type_size) X(Unpack)
// clang-format on

#define SUMAC_PMPI_INTERPOSED(X)                         \
  SUMAC_PMPI_COLLECTIVES(X)                              \
  SUMAC_PMPI_EACH_NEIGHBOR(SUMAC_PMPI_NEIGHBOR_NAMES, X) \
  SUMAC_PMPI_LIFE(X)

#define SUMAC_PMPI_DECLARE_INIT(Name, S, Count, Displacement)                                        \
  extern "C" int PMPI_##Name(SUMAC_PARAMETERS_##S(Count, Displacement) MPI_Comm comm, MPI_Info info, \
                             MPI_Request* request);
#if defined(OPEN_MPI)
// Open MPI 5 has the persistent collectives of MPI 4 although its mpi.h says 3.1; Open MPI 4.1 has them as MPIX.
#define SUMAC_PMPI_DECLARE(_, Name, name, coll, S) SUMAC_PMPI_DECLARE_INIT(Name##_init, S, int, int)
SUMAC_EACH_COLLECTIVE(SUMAC_PMPI_DECLARE, )
SUMAC_EACH_LEFT(SUMAC_PMPI_DECLARE, )
#undef SUMAC_PMPI_DECLARE
#elif defined(MPI_ABI_VERSION)
// Our mpi.h of the standard ABI leaves the collectives to the tables. The mpi.h of the other two libraries are their proof.
#define SUMAC_PMPI_DECLARE_ONE(Name, Iname, Name_init, S, Count, Displacement)                                \
  extern "C" int PMPI_##Name(SUMAC_PARAMETERS_##S(Count, Displacement) MPI_Comm comm);                        \
  extern "C" int PMPI_##Iname(SUMAC_PARAMETERS_##S(Count, Displacement) MPI_Comm comm, MPI_Request* request); \
  SUMAC_PMPI_DECLARE_INIT(Name_init, S, Count, Displacement)
#define SUMAC_PMPI_DECLARE(_, Name, name, coll, S) SUMAC_PMPI_DECLARE_ONE(Name, I##name, Name##_init, S, int, int)
#define SUMAC_PMPI_DECLARE_BOTH(_, Name, name, coll, S) \
  SUMAC_PMPI_DECLARE(_, Name, name, coll, S)            \
  SUMAC_PMPI_DECLARE_ONE(Name##_c, I##name##_c, Name##_init_c, S, MPI_Count, MPI_Aint)
#define SUMAC_PMPI_DECLARE_NEIGHBOR(_, Name, S, Displacement) \
  SUMAC_PMPI_DECLARE_INIT(Name##_init, S, int, Displacement)  \
  SUMAC_PMPI_DECLARE_INIT(Name##_init_c, S, MPI_Count, MPI_Aint)
SUMAC_EACH_BARRIER(SUMAC_PMPI_DECLARE, )
SUMAC_EACH_ALLREDUCE(SUMAC_PMPI_DECLARE_BOTH, )
SUMAC_EACH_BCAST(SUMAC_PMPI_DECLARE_BOTH, )
SUMAC_EACH_PLANNED(SUMAC_PMPI_DECLARE_BOTH, )
SUMAC_EACH_LEFT(SUMAC_PMPI_DECLARE_BOTH, )
SUMAC_PMPI_EACH_NEIGHBOR(SUMAC_PMPI_DECLARE_NEIGHBOR, )
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
