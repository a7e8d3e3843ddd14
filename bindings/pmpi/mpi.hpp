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

#elif MPI_VERSION >= 4
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
