/* FFTW between processes: two plans of a cube, then transforms to and fro. Its planner makes many communicators.
 * usage: fftw EDGE REPEATS */

#include <fftw3-mpi.h>
#include <math.h>

#include "result.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double began = MPI_Wtime();
  fftw_mpi_init();
  int rank, repeats = word(argc, argv, 2, 20);
  ptrdiff_t n = word(argc, argv, 1, 64), slabs, first;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  ptrdiff_t room = fftw_mpi_local_size_3d(n, n, n, MPI_COMM_WORLD, &slabs, &first), own = slabs * n * n;
  fftw_complex* data = fftw_alloc_complex((size_t)room);
  fftw_plan there = fftw_mpi_plan_dft_3d(n, n, n, data, data, MPI_COMM_WORLD, FFTW_FORWARD, FFTW_ESTIMATE);
  fftw_plan back = fftw_mpi_plan_dft_3d(n, n, n, data, data, MPI_COMM_WORLD, FFTW_BACKWARD, FFTW_ESTIMATE);
  for (ptrdiff_t i = 0; i < own; i++) {
    data[i][0] = sin((double)(i + first * n * n));
    data[i][1] = cos(0.5 * (double)(i + first * n * n));
  }
  double scale = (double)n * (double)n * (double)n, energy = 0, sum = 0;
  for (int turn = 0; turn < repeats; turn++) {
    fftw_execute(there);
    fftw_execute(back);
    for (ptrdiff_t i = 0; i < own; i++) {
      data[i][0] /= scale;
      data[i][1] /= scale;
    }
  }
  for (ptrdiff_t i = 0; i < own; i++) energy += data[i][0] * data[i][0] + data[i][1] * data[i][1];
  MPI_Allreduce(&energy, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    print_number("energy", sum);
    print_seconds(began);
  }
  MPI_Finalize();
  return 0;
}
