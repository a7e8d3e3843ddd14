// The collectives that are always the MPI's: MPI_Reduce_scatter, MPI_Scan, MPI_Exscan and MPI_Alltoallw. They are here to
// be counted in a profile, and their persistent forms to be listed (note_the_mpis()).
#include "bindings/pmpi/entry.hpp"
#include "bindings/pmpi/requests.hpp"
#include "bindings/pmpi/watch.hpp"

/// The last argument is the call.
#define SUMAC_PMPI_LEFT_BODY(form, coll, ...)                                                     \
  using namespace sumac::pmpi;                                                                    \
  return left_to_mpi(                                                                             \
      coll, form, comm, [&]([[maybe_unused]] const Shape& on) -> std::uint64_t { return BYTES; }, \
      [&] { return __VA_ARGS__; });
#define SUMAC_PMPI_LEFT_PERSISTENT(name, parameters, arguments, coll) \
  SUMAC_PMPI_NAMES(name, parameters, arguments,                       \
                   SUMAC_PMPI_LEFT_BODY(SUMAC_FORM_PERSISTENT, coll, note_the_mpis(mpi.name arguments, request)))
#if defined(OPEN_MPI)
#define SUMAC_PMPI_LEFT_INIT(name, parameters, arguments, coll)                 \
  SUMAC_PMPI_LEFT_PERSISTENT(name, parameters, arguments, coll)                 \
  SUMAC_PMPI_EXPORT int PMPIX_##name parameters { return do_##name arguments; } \
  SUMAC_PMPI_EXPORT int MPIX_##name parameters { return do_##name arguments; }
#else
#define SUMAC_PMPI_LEFT_INIT SUMAC_PMPI_LEFT_PERSISTENT
#endif
#define SUMAC_PMPI_LEFT_FORMS(Name, name, coll, _c, init, Count, Displacement)                                    \
  SUMAC_PMPI_NAMES(Name##_c, (PARAMETERS(Count, Displacement), MPI_Comm comm), (ARGUMENTS, comm),                 \
                   SUMAC_PMPI_LEFT_BODY(SUMAC_FORM_BLOCKING, coll, mpi.Name##_c(ARGUMENTS, comm)))                \
  SUMAC_PMPI_NAMES(I##name##_c, (PARAMETERS(Count, Displacement), MPI_Comm comm, MPI_Request * request),          \
                   (ARGUMENTS, comm, request),                                                                    \
                   SUMAC_PMPI_LEFT_BODY(SUMAC_FORM_NONBLOCKING, coll, mpi.I##name##_c(ARGUMENTS, comm, request))) \
  init(Name##_init##_c, (PARAMETERS(Count, Displacement), MPI_Comm comm, MPI_Info info, MPI_Request * request),   \
       (ARGUMENTS, comm, info, request), coll)
#if defined(SUMAC_PMPI_HAS_LARGE)
#define SUMAC_PMPI_LEFT(Name, name, coll)                                   \
  SUMAC_PMPI_LEFT_FORMS(Name, name, coll, , SUMAC_PMPI_LEFT_INIT, int, int) \
  SUMAC_PMPI_LEFT_FORMS(Name, name, coll, _c, SUMAC_PMPI_LEFT_PERSISTENT, MPI_Count, MPI_Aint)
#else
#define SUMAC_PMPI_LEFT(Name, name, coll) SUMAC_PMPI_LEFT_FORMS(Name, name, coll, , SUMAC_PMPI_LEFT_INIT, int, int)
#endif

#define PARAMETERS(Count, Displacement) const void *in, void *out, Count count, MPI_Datatype type, MPI_Op op
#define ARGUMENTS in, out, count, type, op
#define BYTES bytes_of(type, count)
SUMAC_PMPI_LEFT(Scan, scan, SUMAC_PROFILE_SCAN)
SUMAC_PMPI_LEFT(Exscan, exscan, SUMAC_PROFILE_EXSCAN)
#undef PARAMETERS
#undef ARGUMENTS
#undef BYTES

#define PARAMETERS(Count, Displacement) const void *in, void *out, const Count *counts, MPI_Datatype type, MPI_Op op
#define ARGUMENTS in, out, counts, type, op
#define BYTES bytes_of_all(type, counts, on.size)
SUMAC_PMPI_LEFT(Reduce_scatter, reduce_scatter, SUMAC_PROFILE_REDUCE_SCATTER)
#undef PARAMETERS
#undef ARGUMENTS
#undef BYTES

#define PARAMETERS(Count, Displacement)                                                                       \
  const void *in, const Count *in_counts, const Displacement *in_displacements, const MPI_Datatype *in_types, \
      void *out, const Count *out_counts, const Displacement *out_displacements, const MPI_Datatype *out_types
#define ARGUMENTS in, in_counts, in_displacements, in_types, out, out_counts, out_displacements, out_types
#define BYTES \
  in != MPI_IN_PLACE ? bytes_of_each(in_types, in_counts, on.peers) : bytes_of_each(out_types, out_counts, on.peers)
SUMAC_PMPI_LEFT(Alltoallw, alltoallw, SUMAC_PROFILE_ALLTOALLW)
