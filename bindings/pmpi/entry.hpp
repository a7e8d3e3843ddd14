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

/// A blocking collective. Programs wait for it, so the usual case keeps the arguments in registers: one flag, then the
/// team. A library that is off passes the call on after four looks.
#define SUMAC_PMPI_BLOCKING(name, parameters, arguments, served, ...)     \
  static int serve_##name parameters { served }                           \
  [[gnu::noinline, gnu::cold]] static int do_##name parameters{           \
      __VA_ARGS__} SUMAC_PMPI_EXPORT int PMPI_##name parameters {         \
    if (sumac::pmpi::library.plain) [[likely]]                            \
      return serve_##name arguments;                                      \
    SUMAC_PMPI_FIND();                                                    \
    if (!sumac::pmpi::library.on) return sumac::pmpi::mpi.name arguments; \
    return do_##name arguments;                                           \
  }                                                                       \
  SUMAC_PMPI_EXPORT int MPI_##name parameters {                           \
    if (sumac::pmpi::library.direct) [[likely]]                           \
      return serve_##name arguments;                                      \
    SUMAC_PMPI_FIND();                                                    \
    const auto theirs = sumac::pmpi::behind.name;                         \
    if (theirs != nullptr) return theirs arguments;                       \
    if (!sumac::pmpi::library.on) return sumac::pmpi::mpi.name arguments; \
    return do_##name arguments;                                           \
  }

/// The body of such a call in the usual case: nothing of it is called, all is one function.
#define SUMAC_PMPI_SERVE(coll, function, arguments, make_plan)                                                    \
  using namespace sumac::pmpi;                                                                                    \
  return serve_blocking(                                                                                          \
      coll, comm, [&](const Communicator& team, Plan& plan) __attribute__((always_inline)) { return make_plan; }, \
      [&]() __attribute__((always_inline)) { return mpi.function arguments; });

/// The body of a blocking, nonblocking or persistent form: the plan is made by the function make_plan. BYTES is a macro of
/// the collective's file: the bytes of the call for a profile, by `on` (watch.hpp).
#define SUMAC_PMPI_FORM(form, coll, function, arguments, make_plan, ...)                      \
  using namespace sumac::pmpi;                                                                \
  return form(                                                                                \
      coll, comm, __VA_ARGS__[&](const Communicator& team, Plan& plan) { return make_plan; }, \
      [&] { return mpi.function arguments; },                                                 \
      [&]([[maybe_unused]] const Shape& on) -> std::uint64_t { return BYTES; });

/// A collective in all forms, with the macros PARAMETERS(Count, Displacement), ARGUMENTS, PLAN and BYTES of its file.
#define SUMAC_PMPI_ALL_FORMS(Name, name, coll)                                                                         \
  SUMAC_PMPI_BLOCKING(Name, (PARAMETERS(int, int), MPI_Comm comm), (ARGUMENTS, comm),                                  \
                      SUMAC_PMPI_SERVE(coll, Name, (ARGUMENTS, comm), PLAN),                                           \
                      SUMAC_PMPI_FORM(blocking, coll, Name, (ARGUMENTS, comm), PLAN))                                  \
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
  SUMAC_PMPI_BLOCKING(Name##_c, (PARAMETERS(MPI_Count, MPI_Aint), MPI_Comm comm), (ARGUMENTS, comm),                 \
                      SUMAC_PMPI_SERVE(coll, Name##_c, (ARGUMENTS, comm), PLAN),                                     \
                      SUMAC_PMPI_FORM(blocking, coll, Name##_c, (ARGUMENTS, comm), PLAN))                            \
  SUMAC_PMPI_NAMES(I##name##_c, (PARAMETERS(MPI_Count, MPI_Aint), MPI_Comm comm, MPI_Request * request),             \
                   (ARGUMENTS, comm, request),                                                                       \
                   SUMAC_PMPI_FORM(nonblocking, coll, I##name##_c, (ARGUMENTS, comm, request), PLAN, request, ))     \
  SUMAC_PMPI_PERSISTENT_BODY(Name##_init_c,                                                                          \
                             (PARAMETERS(MPI_Count, MPI_Aint), MPI_Comm comm, MPI_Info info, MPI_Request * request), \
                             (ARGUMENTS, comm, info, request), coll)
#else
#define SUMAC_PMPI_LARGE_FORMS(Name, name, coll)
#endif
