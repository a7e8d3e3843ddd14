#include "tests/host/calls.hpp"

// Open MPI 4.1 has persistent collectives under the names of the proposal.
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define PERSISTENT(name) MPIX_##name##_init
#else
#define PERSISTENT(name) MPI_##name##_init
#endif

namespace sumac::tests {

#define IN_EVERY_FORM(name, ...)                                                         \
  switch (form) {                                                                        \
    case Form::blocking: return MPI_##name(__VA_ARGS__);                                 \
    case Form::nonblocking: return MPI_I##name(__VA_ARGS__, request);                    \
    case Form::persistent: return PERSISTENT(name)(__VA_ARGS__, MPI_INFO_NULL, request); \
  }                                                                                      \
  return MPI_ERR_INTERN

// MPI's nonblocking names continue in lower case.
#define MPI_IBarrier MPI_Ibarrier
#define MPI_IAllreduce MPI_Iallreduce
#define MPI_IReduce MPI_Ireduce
#define MPI_IBcast MPI_Ibcast
#define MPI_IAllgather MPI_Iallgather
#define MPI_IAllgatherv MPI_Iallgatherv
#define MPI_IAlltoall MPI_Ialltoall
#define MPI_IAlltoallv MPI_Ialltoallv
#define MPI_IReduce_scatter_block MPI_Ireduce_scatter_block
#define MPI_IGather MPI_Igather
#define MPI_IGatherv MPI_Igatherv
#define MPI_IScatter MPI_Iscatter
#define MPI_IScatterv MPI_Iscatterv
#define MPI_IScan MPI_Iscan
#define MPI_IExscan MPI_Iexscan
#define MPI_IReduce_scatter MPI_Ireduce_scatter

int call(Coll coll, Form form, const Arguments& a, MPI_Request* request) {
  switch (coll) {
    case Coll::barrier: IN_EVERY_FORM(Barrier, a.comm);
    case Coll::allreduce:
      IN_EVERY_FORM(Allreduce, a.in.address, a.out.address, a.out.units, a.out.type, a.operation, a.comm);
    case Coll::reduce:
      IN_EVERY_FORM(Reduce, a.in.address, a.out.address, a.out.units, a.out.type, a.operation, a.root, a.comm);
    case Coll::bcast: IN_EVERY_FORM(Bcast, a.out.address, a.out.units, a.out.type, a.root, a.comm);
    case Coll::allgather:
      IN_EVERY_FORM(Allgather, a.in.address, a.in.units, a.in.type, a.out.address, a.out.units, a.out.type, a.comm);
    case Coll::allgatherv:
      IN_EVERY_FORM(Allgatherv, a.in.address, a.in.units, a.in.type, a.out.address, a.out.counts, a.out.displacements,
                    a.out.type, a.comm);
    case Coll::alltoall:
      IN_EVERY_FORM(Alltoall, a.in.address, a.in.units, a.in.type, a.out.address, a.out.units, a.out.type, a.comm);
    case Coll::alltoallv:
      IN_EVERY_FORM(Alltoallv, a.in.address, a.in.counts, a.in.displacements, a.in.type, a.out.address, a.out.counts,
                    a.out.displacements, a.out.type, a.comm);
    case Coll::reduce_scatter_block:
      IN_EVERY_FORM(Reduce_scatter_block, a.in.address, a.out.address, a.out.units, a.out.type, a.operation, a.comm);
    case Coll::gather:
      IN_EVERY_FORM(Gather, a.in.address, a.in.units, a.in.type, a.out.address, a.out.units, a.out.type, a.root,
                    a.comm);
    case Coll::gatherv:
      IN_EVERY_FORM(Gatherv, a.in.address, a.in.units, a.in.type, a.out.address, a.out.counts, a.out.displacements,
                    a.out.type, a.root, a.comm);
    case Coll::scatter:
      IN_EVERY_FORM(Scatter, a.in.address, a.in.units, a.in.type, a.out.address, a.out.units, a.out.type, a.root,
                    a.comm);
    case Coll::scatterv:
      IN_EVERY_FORM(Scatterv, a.in.address, a.in.counts, a.in.displacements, a.in.type, a.out.address, a.out.units,
                    a.out.type, a.root, a.comm);
    case Coll::scan: IN_EVERY_FORM(Scan, a.in.address, a.out.address, a.out.units, a.out.type, a.operation, a.comm);
    case Coll::exscan: IN_EVERY_FORM(Exscan, a.in.address, a.out.address, a.out.units, a.out.type, a.operation, a.comm);
    case Coll::reduce_scatter:
      IN_EVERY_FORM(Reduce_scatter, a.in.address, a.out.address, a.in.counts, a.out.type, a.operation, a.comm);
  }
  return MPI_ERR_INTERN;
}

}  // namespace sumac::tests
