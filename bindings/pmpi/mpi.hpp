#pragma once
// The mpi.h of the ABI that this library is compiled for, made fit for a library that is loaded before its MPI. Open
// MPI's predefined handles are addresses of variables of libmpi. A preloaded library must not name such a variable: the
// loader would refuse every program without that MPI, a shell for instance. So each address is looked up when it is
// first used.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sumac::pmpi {

/// Returns the address of a variable of the program's MPI; null if that MPI does not have it.
void* mpi_variable(const char* name) noexcept;

template <std::size_t N>
struct Name {
  char text[N];
  consteval Name(const char (&from)[N]) { std::copy_n(from, N, text); }
};

template <Name kName>
void* mpi_variable() noexcept {
  static void* const address = mpi_variable(kName.text);
  return address;
}

/// Returns a handle as a number: MPICH's handles are integers, those of the others are pointers.
template <class Handle>
std::uintptr_t bits_of(Handle handle) noexcept {
  if constexpr (sizeof(Handle) == sizeof(void*))
    return reinterpret_cast<std::uintptr_t>(handle);
  else
    return static_cast<std::uint32_t>(handle);
}

template <class Handle>
Handle handle_from(std::uintptr_t bits) noexcept {
  if constexpr (sizeof(Handle) == sizeof(void*))
    return reinterpret_cast<Handle>(bits);
  else
    return static_cast<Handle>(bits);
}

}  // namespace sumac::pmpi

#if defined(OPEN_MPI)
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) (static_cast<type>(sumac::pmpi::mpi_variable<#global>()))

// Open MPI 5 has the persistent collectives of MPI 4 although its mpi.h says 3.1; Open MPI 4.1 has them as MPIX.
extern "C" {
int PMPI_Barrier_init(MPI_Comm, MPI_Info, MPI_Request*);
int PMPI_Allreduce_init(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request*);
int PMPI_Reduce_init(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Info, MPI_Request*);
int PMPI_Bcast_init(void*, int, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request*);
int PMPI_Allgather_init(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*);
int PMPI_Allgatherv_init(const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype, MPI_Comm,
                         MPI_Info, MPI_Request*);
int PMPI_Alltoall_init(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*);
int PMPI_Alltoallv_init(const void*, const int*, const int*, MPI_Datatype, void*, const int*, const int*, MPI_Datatype,
                        MPI_Comm, MPI_Info, MPI_Request*);
int PMPI_Reduce_scatter_block_init(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request*);
int PMPI_Gather_init(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request*);
int PMPI_Gatherv_init(const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype, int, MPI_Comm,
                      MPI_Info, MPI_Request*);
int PMPI_Scatter_init(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request*);
int PMPI_Scatterv_init(const void*, const int*, const int*, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm,
                       MPI_Info, MPI_Request*);
int PMPI_Reduce_scatter_init(const void*, void*, const int*, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request*);
int PMPI_Scan_init(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request*);
int PMPI_Exscan_init(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request*);
int PMPI_Alltoallw_init(const void*, const int*, const int*, const MPI_Datatype*, void*, const int*, const int*,
                        const MPI_Datatype*, MPI_Comm, MPI_Info, MPI_Request*);
}
#define SUMAC_PMPI_HAS_PERSISTENT 1
#elif MPI_VERSION >= 4
#define SUMAC_PMPI_HAS_PERSISTENT 1
#define SUMAC_PMPI_HAS_LARGE 1  // The forms with MPI_Count, named _c.
#else
#error "this mpi.h is neither Open MPI's nor one of MPI 4 or later"
#endif

#if defined(OPEN_MPI)
#define SUMAC_PMPI_ABI "Open MPI"
#elif defined(MPI_ABI_VERSION)
#define SUMAC_PMPI_ABI "MPI's standard ABI"
#else
#define SUMAC_PMPI_ABI "MPICH"
#endif
