/* MUMPS: analysis, factors and solution of a convection on a square grid, several times.
 * usage: mumps GRID REPEATS */

#include <dmumps_c.h>
#include <math.h>

#include "result.h"

enum { kWorld = -987654, kStart = -1, kEnd = -2, kAll = 6 };

static void put(DMUMPS_STRUC_C* id, int i, int j, double value) {
  id->irn[id->nz] = i + 1;
  id->jcn[id->nz] = j + 1;
  id->a[id->nz++] = value;
}

/* Rank 0 holds the whole matrix and distributes it. */
static void fill(DMUMPS_STRUC_C* id, int n) {
  id->n = n * n;
  id->nz = 0;
  id->irn = calloc((size_t)id->n * 5, sizeof(MUMPS_INT));
  id->jcn = calloc((size_t)id->n * 5, sizeof(MUMPS_INT));
  id->a = calloc((size_t)id->n * 5, sizeof(double));
  id->rhs = calloc((size_t)id->n, sizeof(double));
  for (int i = 0; i < id->n; i++) {
    int x = i % n, y = i / n;
    put(id, i, i, 4.1);
    if (x > 0) put(id, i, i - 1, -1);
    if (x < n - 1) put(id, i, i + 1, -1.1);
    if (y > 0) put(id, i, i - n, -1);
    if (y < n - 1) put(id, i, i + n, -0.9);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, n = word(argc, argv, 1, 80), repeats = word(argc, argv, 2, 3);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  DMUMPS_STRUC_C id = {.comm_fortran = kWorld, .par = 1, .sym = 0, .job = kStart};
  dmumps_c(&id);
  if (rank == 0) fill(&id, n);
  id.icntl[0] = id.icntl[1] = id.icntl[2] = -1; /* it prints nothing */
  id.icntl[3] = 0;
  double began = MPI_Wtime();
  for (int turn = 0; turn < repeats; turn++) {
    for (int i = 0; rank == 0 && i < id.n; i++) id.rhs[i] = 1 + (i + turn) % 5;
    id.job = kAll;
    dmumps_c(&id);
    double sum = 0;
    for (int i = 0; rank == 0 && i < id.n; i++) sum += id.rhs[i] * id.rhs[i];
    if (rank == 0) {
      printf("RESULT info %d\n", id.infog[0]);
      print_number("norm", sqrt(sum));
    }
  }
  if (rank == 0) print_seconds(began);
  id.job = kEnd;
  dmumps_c(&id);
  MPI_Finalize();
  return 0;
}
