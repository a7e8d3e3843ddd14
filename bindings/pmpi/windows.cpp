// MPI_Win_test behind a barrier. A program looks there once for what the others completed before it: the MPI's own barrier has received that
// on its way, ours is in shared memory and has not. MPICH's MPI_Win_test says what had come before it looked (4.0: behind our barriers
// all of 2,000 first tests said no, and all second ones yes), so one more test says what the first has received.
#include "bindings/pmpi/entry.hpp"

namespace sumac::pmpi {
namespace {

int test_window(MPI_Win window, int* flag) {
  const int rc = mpi.Win_test(window, flag);
  if (rc != MPI_SUCCESS || *flag != 0 || !library.on) return rc;
  return mpi.Win_test(window, flag);
}

}  // namespace
}  // namespace sumac::pmpi

SUMAC_PMPI_NAMES(Win_test, (MPI_Win window, int* flag), (window, flag), sumac::pmpi::test_window(window, flag))
