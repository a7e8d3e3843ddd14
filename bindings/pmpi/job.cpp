#include "bindings/pmpi/job.hpp"

#include <atomic>
#include <cstdlib>

#include "bindings/pmpi/communicator.hpp"
#include "bindings/pmpi/progress.hpp"
#include "rank/job.h"
#include "rank/say.h"

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

std::atomic<bool> any_leaves{false};
void watch_leaves(bool any) { any_leaves = any; }

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

void begin_job() {
  if (sumac_job_refusal(&library.process.settings, library.hosts) != nullptr) return;
  static CommunicatorOfMpi world(MPI_COMM_WORLD);  // Until the end of the job.
  const sumac_job_spec spec{.world = world.record(),
                            .id = library.job_id,
                            .local_rank = library.local_rank,
                            .threads = library.threads,
                            .places = library.places.data(),
                            .settings = &library.process.settings,
                            .options = library.process.options,
                            .progress = drive,
                            .progress_context = nullptr,
                            .watch_leaves = watch_leaves};
  if (sumac_job_begin(&spec) != 0) SUMAC_SAY("the tree's job could not begin: there is no random number");
}

void reap_job() {
  if (any_leaves.load(std::memory_order_relaxed)) (void)sumac_job_reap();
}

void end_job() { sumac_job_end(); }

}  // namespace sumac::pmpi
