// sharp_mpi_test: collectives of libsharp_coll over MPI's processes, checked or timed.
#include <cstdio>

#include "tools/sharp/mpi_test.hpp"

int main(int argc, char** argv) {
  using namespace sumac::mpi_test;
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int status = 0;
  if (const auto options = parse_options(argc, argv, rank == 0, &status)) {
    Group group;
    status = 1;
    if (make_group(*options, &group)) {
      int wrong = 0;
      if (group.mpi != MPI_COMM_NULL) {
        if (options->basic) wrong += check_basic(*options, group);
        if (options->complex) wrong += check_complex(*options, group);
        if (options->perf) wrong += measure(*options, group);
      }
      drop_group(&group);
      int all = 0;
      MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
      status = all == 0 ? 0 : 1;
      if (rank == 0) std::puts(all == 0 ? "Test Passed." : "Test FAILED.");
    }
  }
  MPI_Finalize();
  return status;
}
