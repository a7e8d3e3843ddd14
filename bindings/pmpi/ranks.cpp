#include "bindings/pmpi/ranks.hpp"

#include <cstdlib>

#include "bindings/pmpi/communicator.hpp"

namespace sumac::pmpi {
namespace {

MPI_Comm comm_of(void* context) { return *static_cast<MPI_Comm*>(context); }

int bcast(void* context, void* buffer, int bytes, int root) {
  return mpi.Bcast(buffer, bytes, MPI_BYTE, root, comm_of(context));
}
int barrier(void* context) { return mpi.Barrier(comm_of(context)); }
int gather(void* context, int root, void* in, void* out, int bytes) {
  return mpi.Gather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, root, comm_of(context));
}
int min(void* context, std::int64_t* values, int count) {
  return mpi.Allreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, MPI_MIN, comm_of(context));
}
int sum(void* context, std::int64_t* values, int count) {
  return mpi.Allreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, MPI_SUM, comm_of(context));
}
void abort_job(void* context) {
  (void)mpi.Abort(comm_of(context), 1);
  std::exit(1);
}

}  // namespace

CommunicatorOfMpi::CommunicatorOfMpi(MPI_Comm comm) : comm_(comm), name_(name_of(comm)) {
  record_ = {.context = &comm_,
             .rank = -1,
             .size = 0,
             .name = name_.c_str(),
             .bcast = bcast,
             .barrier = barrier,
             .gather = gather,
             .min = min,
             .sum = sum,
             .abort = abort_job};
  (void)mpi.Comm_rank(comm, &record_.rank);
  (void)mpi.Comm_size(comm, &record_.size);
}

}  // namespace sumac::pmpi
