// MPI's collectives in their forms, from the table in rank/signatures.h.
#include "bindings/pmpi/entry.hpp"
#include "bindings/pmpi/forms.hpp"
#include "bindings/pmpi/ops.hpp"
#include "rank/signatures.h"

#define SUMAC_BITS(handle) sumac::pmpi::bits_of(handle)
#define GIVEN(S) (sumac_arguments{SUMAC_GIVEN_##S})

namespace sumac::pmpi {
namespace {

/// The usual case of programs' shortest calls: no plan.
[[gnu::always_inline]] inline int serve_barrier(MPI_Comm comm) {
  Communicator* communicator = find(comm);
  if (communicator == nullptr) [[unlikely]]
    return mpi.Barrier(comm);
  const int rc = sumac_form_barrier(communicator);
  if (rc == MPI_SUCCESS) [[likely]]
    return rc;
  return not_served(*communicator, SUMAC_COLL_BARRIER, rc, mpi.Barrier, comm);
}

template <class Count>
[[gnu::always_inline]] inline int serve_allreduce(int (*next)(const void*, void*, Count, MPI_Datatype, MPI_Op,
                                                              MPI_Comm),
                                                  const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op,
                                                  MPI_Comm comm) {
  Communicator* communicator = find(comm);
  if (communicator != nullptr && communicator->life == SUMAC_LIFE_TEAM) [[likely]] {
    const sumac_pair* pair = count > 0 ? find_pair(type, op) : nullptr;
    if (pair != nullptr) [[likely]] {
      const int rc = sumac_form_allreduce(communicator, pair, in, out, static_cast<std::size_t>(count), MPI_IN_PLACE);
      if (rc == MPI_SUCCESS) [[likely]]
        return rc;
      return not_served(*communicator, SUMAC_COLL_ALLREDUCE, rc, next, in, out, count, type, op, comm);
    }
  }
  return serve_blocking(SUMAC_COLL_ALLREDUCE, comm, GIVEN(SUMS), next, in, out, count, type, op, comm);
}

template <class Count>
[[gnu::always_inline]] inline int serve_bcast(int (*next)(void*, Count, MPI_Datatype, int, MPI_Comm), void* buffer,
                                              Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  Communicator* communicator = find(comm);
  const sumac_layout* layout = layout_of(bits_of(type), nullptr);
  if (communicator == nullptr || !sumac_form_is_plain_bcast(communicator, layout, count, root)) [[unlikely]]
    return serve_blocking(SUMAC_COLL_BCAST, comm, GIVEN(BUFFER), next, buffer, count, type, root, comm);
  const int rc = sumac_form_bcast(communicator, layout, buffer, count, root);
  if (rc == MPI_SUCCESS) [[likely]]
    return rc;
  return not_served(*communicator, SUMAC_COLL_BCAST, rc, next, buffer, count, type, root, comm);
}

}  // namespace
}  // namespace sumac::pmpi

// The collective's functions of one width of counts: `_c` ends their names.
#define POSTED(name, coll, S, Count, Displacement)                                                         \
  SUMAC_PMPI_NAMES(name, (SUMAC_PARAMETERS_##S(Count, Displacement) MPI_Comm comm, MPI_Request * request), \
                   (SUMAC_ARGUMENTS_##S comm, request),                                                    \
                   sumac::pmpi::nonblocking(coll, comm, request, GIVEN(S), sumac::pmpi::mpi.name,          \
                                            SUMAC_ARGUMENTS_##S comm, request))
#define MADE(NAMES, name, coll, S, Count, Displacement)                                                               \
  NAMES(name, (SUMAC_PARAMETERS_##S(Count, Displacement) MPI_Comm comm, MPI_Info info, MPI_Request * request),        \
        (SUMAC_ARGUMENTS_##S comm, info, request),                                                                    \
        sumac::pmpi::persistent(coll, comm, request, GIVEN(S), sumac::pmpi::mpi.name, SUMAC_ARGUMENTS_##S comm, info, \
                                request))
#define BLOCKING(name, coll, S, Count, Displacement, ...)                                                          \
  SUMAC_PMPI_BLOCKING(name, (SUMAC_PARAMETERS_##S(Count, Displacement) MPI_Comm comm), (SUMAC_ARGUMENTS_##S comm), \
                      (__VA_ARGS__),                                                                               \
                      sumac::pmpi::blocking(coll, comm, GIVEN(S), sumac::pmpi::mpi.name, SUMAC_ARGUMENTS_##S comm))
#define PLANNED(name, coll, S, Count, Displacement) \
  BLOCKING(name, coll, S, Count, Displacement,      \
           sumac::pmpi::serve_blocking(coll, comm, GIVEN(S), sumac::pmpi::mpi.name, SUMAC_ARGUMENTS_##S comm))
#define ALLREDUCE(name, coll, S, Count, Displacement) \
  BLOCKING(name, coll, S, Count, Displacement,        \
           sumac::pmpi::serve_allreduce<Count>(sumac::pmpi::mpi.name, SUMAC_ARGUMENTS_##S comm))
#define BCAST(name, coll, S, Count, Displacement) \
  BLOCKING(name, coll, S, Count, Displacement,    \
           sumac::pmpi::serve_bcast<Count>(sumac::pmpi::mpi.name, SUMAC_ARGUMENTS_##S comm))
#define LEFT(name, coll, S, Count, Displacement)                                                                \
  SUMAC_PMPI_NAMES(name, (SUMAC_PARAMETERS_##S(Count, Displacement) MPI_Comm comm), (SUMAC_ARGUMENTS_##S comm), \
                   sumac::pmpi::blocking(coll, comm, GIVEN(S), sumac::pmpi::mpi.name, SUMAC_ARGUMENTS_##S comm))

#if defined(SUMAC_PMPI_HAS_LARGE)
#define LARGE(WHOLE, Name, name, coll, S)           \
  WHOLE(Name##_c, coll, S, MPI_Count, MPI_Aint)     \
  POSTED(I##name##_c, coll, S, MPI_Count, MPI_Aint) \
  MADE(SUMAC_PMPI_NAMES, Name##_init_c, coll, S, MPI_Count, MPI_Aint)
#else
#define LARGE(WHOLE, Name, name, coll, S)
#endif
#define FORMS(WHOLE, Name, name, coll, S) \
  WHOLE(Name, coll, S, int, int)          \
  POSTED(I##name, coll, S, int, int)      \
  MADE(SUMAC_PMPI_PERSISTENT_NAMES, Name##_init, coll, S, int, int)

#define ALL_FORMS(WHOLE, Name, name, coll, S) FORMS(WHOLE, Name, name, coll, S) LARGE(WHOLE, Name, name, coll, S)
#define BARRIER(name, coll, S, Count, Displacement) \
  BLOCKING(name, coll, S, Count, Displacement, sumac::pmpi::serve_barrier(comm))

SUMAC_EACH_BARRIER(FORMS, BARRIER)
SUMAC_EACH_ALLREDUCE(ALL_FORMS, ALLREDUCE)
SUMAC_EACH_BCAST(ALL_FORMS, BCAST)
SUMAC_EACH_PLANNED(ALL_FORMS, PLANNED)
SUMAC_EACH_LEFT(ALL_FORMS, LEFT)
