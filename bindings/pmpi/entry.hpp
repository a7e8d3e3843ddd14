#pragma once
// A function of MPI that this library interposes, under both of its names (functions.hpp says why).
#include "bindings/pmpi/library.hpp"

#define SUMAC_PMPI_EXPORT extern "C" __attribute__((visibility("default")))

/// Any function may be a program's first: one that uses sessions never calls MPI_Init.
#define SUMAC_PMPI_FIND()                                       \
  do {                                                          \
    if (!sumac::pmpi::functions_found) [[unlikely]]             \
      sumac::pmpi::find_functions(__builtin_return_address(0)); \
  } while (false)

/// The last arguments are the function's body.
#define SUMAC_PMPI_NAMES(name, parameters, arguments, ...)                                    \
  static int do_##name parameters{__VA_ARGS__} SUMAC_PMPI_EXPORT int PMPI_##name parameters { \
    SUMAC_PMPI_FIND();                                                                        \
    return do_##name arguments;                                                               \
  }                                                                                           \
  SUMAC_PMPI_EXPORT int MPI_##name parameters {                                               \
    SUMAC_PMPI_FIND();                                                                        \
    const auto theirs = sumac::pmpi::behind.name;                                             \
    if (theirs != nullptr) [[unlikely]]                                                       \
      return theirs arguments;                                                                \
    return do_##name arguments;                                                               \
  }

/// The body of a blocking, nonblocking or persistent form: the plan is made by the function make_plan. BYTES is a macro of
/// the collective's file: the bytes of the call for a profile, by `on` (watch.hpp).
#define SUMAC_PMPI_FORM(form, coll, function, arguments, make_plan, ...)                      \
  using namespace sumac::pmpi;                                                                \
  return form(                                                                                \
      coll, comm, __VA_ARGS__[&](const Communicator& team, Plan& plan) { return make_plan; }, \
      [&] { return mpi.function arguments; },                                                 \
      [&]([[maybe_unused]] const Shape& on) -> std::uint64_t { return BYTES; });

/// The blocking form is the hot path, so what a profile needs of it is in a function of its own.
#define SUMAC_PMPI_BLOCKING(name, parameters, arguments, coll)                                                   \
  [[gnu::noinline, gnu::cold]] static int unusual_##name parameters{SUMAC_PMPI_FORM(                             \
      unusual_blocking, coll, name, arguments,                                                                   \
      PLAN)} SUMAC_PMPI_NAMES(name, parameters, arguments, using namespace sumac::pmpi;                          \
                              if (!library.plain) [[unlikely]] return unusual_##name arguments; return blocking( \
                                  coll, comm, [&](const Communicator& team, Plan& plan) { return PLAN; },        \
                                  [&] { return mpi.name arguments; });)

/// A collective in all forms, with the macros PARAMETERS(Count, Displacement), ARGUMENTS, PLAN and BYTES of its file.
#define SUMAC_PMPI_ALL_FORMS(Name, name, coll)                                                                         \
  SUMAC_PMPI_BLOCKING(Name, (PARAMETERS(int, int), MPI_Comm comm), (ARGUMENTS, comm), coll)                            \
  SUMAC_PMPI_NAMES(I##name, (PARAMETERS(int, int), MPI_Comm comm, MPI_Request * request), (ARGUMENTS, comm, request),  \
                   SUMAC_PMPI_FORM(nonblocking, coll, I##name, (ARGUMENTS, comm, request), PLAN, request, ))           \
  SUMAC_PMPI_PERSISTENT_FORM(Name##_init, (PARAMETERS(int, int), MPI_Comm comm, MPI_Info info, MPI_Request * request), \
                             (ARGUMENTS, comm, info, request), coll)                                                   \
  SUMAC_PMPI_LARGE_FORMS(Name, name, coll)

#define SUMAC_PMPI_PERSISTENT_BODY(name, parameters, arguments, coll) \
  SUMAC_PMPI_NAMES(name, parameters, arguments, SUMAC_PMPI_FORM(persistent, coll, name, arguments, PLAN, request, ))

// Open MPI 4.1 has the persistent forms under names of its own.
#if defined(OPEN_MPI)
#define SUMAC_PMPI_PERSISTENT_FORM(name, parameters, arguments, coll)           \
  SUMAC_PMPI_PERSISTENT_BODY(name, parameters, arguments, coll)                 \
  SUMAC_PMPI_EXPORT int PMPIX_##name parameters { return do_##name arguments; } \
  SUMAC_PMPI_EXPORT int MPIX_##name parameters { return do_##name arguments; }
#else
#define SUMAC_PMPI_PERSISTENT_FORM(name, parameters, arguments, coll) \
  SUMAC_PMPI_PERSISTENT_BODY(name, parameters, arguments, coll)
#endif

#if defined(SUMAC_PMPI_HAS_LARGE)
#define SUMAC_PMPI_LARGE_FORMS(Name, name, coll)                                                                     \
  SUMAC_PMPI_BLOCKING(Name##_c, (PARAMETERS(MPI_Count, MPI_Aint), MPI_Comm comm), (ARGUMENTS, comm), coll)           \
  SUMAC_PMPI_NAMES(I##name##_c, (PARAMETERS(MPI_Count, MPI_Aint), MPI_Comm comm, MPI_Request * request),             \
                   (ARGUMENTS, comm, request),                                                                       \
                   SUMAC_PMPI_FORM(nonblocking, coll, I##name##_c, (ARGUMENTS, comm, request), PLAN, request, ))     \
  SUMAC_PMPI_PERSISTENT_BODY(Name##_init_c,                                                                          \
                             (PARAMETERS(MPI_Count, MPI_Aint), MPI_Comm comm, MPI_Info info, MPI_Request * request), \
                             (ARGUMENTS, comm, info, request), coll)
#else
#define SUMAC_PMPI_LARGE_FORMS(Name, name, coll)
#endif
