#include "bindings/pmpi/tally.hpp"

#include <mutex>

#include "bindings/pmpi/communicator.hpp"
#include "rank/explain.h"
#include "rank/job.h"
#include "rank/tally.h"

namespace sumac::pmpi {
namespace {

std::mutex lock;
sumac_tally gone{};  ///< The sum of communicators that were freed.

void add(sumac_tally& sum, const Communicator& communicator) {
  sumac_tally_add_team(&sum, communicator.ordinary.team, communicator.rank);
  for (const auto& lane : communicator.lanes)
    if (lane) sumac_tally_add_team(&sum, lane->team, communicator.rank);
  if (!communicator.is_counted) return;
  sum.no_group += communicator.no_group ? 1 : 0;
  sumac_tally_add_passed(&sum, communicator.passed);
}

}  // namespace

void add_to_tally(const Communicator& communicator) {
  const std::lock_guard guard(lock);
  add(gone, communicator);
}

void print_tally() {
  sumac_tally mine = gone, sum{};
  each_communicator([](Communicator& each, void* to) { add(*static_cast<sumac_tally*>(to), each); }, &mine);
  sumac_explain_end(library.options, "MPI");
  const int rc = mpi.Allreduce(&mine, &sum, SUMAC_TALLY_NUMBERS, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  // Rank 0 alone decides: mpirun takes the shell's variables to its own host alone, so ranks may have others.
  if (rc == MPI_SUCCESS && library.rank == 0 && library.settings.last_line != 0)
    sumac_tally_print(&sum, sumac_job_id(), library.settings.level > 0, "MPI");
}

}  // namespace sumac::pmpi
