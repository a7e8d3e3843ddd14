#pragma once
// A function of MPI that this library interposes, under both of its names (functions.hpp says why).
#include "bindings/pmpi/library.hpp"

namespace sumac::pmpi {

/// Any function may be a program's first: one that uses sessions never calls MPI_Init.
[[gnu::always_inline]] inline void find_first() {
  if (!functions_found) [[unlikely]]
    find_functions(__builtin_return_address(0));
}

}  // namespace sumac::pmpi

/// The one macro here that hides a `return`. The last arguments are what the function returns.
#define SUMAC_PMPI_FUNCTION(head, name, parameters, ...) \
  head name parameters { return __VA_ARGS__; }

#define SUMAC_PMPI_EXPORT extern "C" __attribute__((visibility("default"))) int
/// A name that leaves the library.
#define SUMAC_PMPI_NAME(name, parameters, ...) \
  SUMAC_PMPI_FUNCTION(SUMAC_PMPI_EXPORT, name, parameters, (sumac::pmpi::find_first(), __VA_ARGS__))

#define SUMAC_PMPI_NAMES(name, parameters, arguments, ...)                                                          \
  SUMAC_PMPI_FUNCTION(static int, do_##name, parameters, __VA_ARGS__)                                               \
  SUMAC_PMPI_NAME(PMPI_##name, parameters, do_##name arguments)                                                     \
  SUMAC_PMPI_NAME(MPI_##name, parameters,                                                                           \
                  __builtin_expect(sumac::pmpi::behind.name != nullptr, false) ? sumac::pmpi::behind.name arguments \
                                                                               : do_##name arguments)

/// A blocking collective. Programs wait for it, so the usual case, `served`, keeps the arguments in registers: one flag, then
/// the team. A library that is off passes the call on after four looks.
#define SUMAC_PMPI_BLOCKING(name, parameters, arguments, served, ...)                           \
  SUMAC_PMPI_FUNCTION(static int, serve_##name, parameters, served)                             \
  SUMAC_PMPI_FUNCTION(__attribute__((noinline, cold)) static int, do_##name, parameters,        \
                      !sumac::pmpi::library.on ? sumac::pmpi::mpi.name arguments : __VA_ARGS__) \
  SUMAC_PMPI_FUNCTION(SUMAC_PMPI_EXPORT, PMPI_##name, parameters,                               \
                      __builtin_expect(sumac::pmpi::library.plain, true)                        \
                          ? serve_##name arguments                                              \
                          : (sumac::pmpi::find_first(), do_##name arguments))                   \
  SUMAC_PMPI_FUNCTION(                                                                          \
      SUMAC_PMPI_EXPORT, MPI_##name, parameters,                                                \
      __builtin_expect(sumac::pmpi::library.direct, true)                                       \
          ? serve_##name arguments                                                              \
          : (sumac::pmpi::find_first(),                                                         \
             sumac::pmpi::behind.name != nullptr ? sumac::pmpi::behind.name arguments : do_##name arguments))

/// A persistent collective. Open MPI 4.1 has them under names of its own.
#if defined(OPEN_MPI)
#define SUMAC_PMPI_PERSISTENT_NAMES(name, parameters, arguments, ...)              \
  SUMAC_PMPI_NAMES(name, parameters, arguments, __VA_ARGS__)                       \
  SUMAC_PMPI_EXPORT PMPIX_##name parameters __attribute__((alias("PMPI_" #name))); \
  SUMAC_PMPI_EXPORT MPIX_##name parameters __attribute__((alias("PMPI_" #name)));
#else
#define SUMAC_PMPI_PERSISTENT_NAMES SUMAC_PMPI_NAMES
#endif
