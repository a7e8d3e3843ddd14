/* ScaLAPACK: linear systems (pdgesv), then all eigenvectors of a symmetric matrix (pdsyev), on a grid of ranks that is as square as it can be.
 * usage: scalapack UNKNOWNS REPEATS EIGENVALUES */

#include <math.h>

#include "result.h"

enum { kBlock = 32 };

void Cblacs_pinfo(int* rank, int* ranks);
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
void Cblacs_gridexit(int context);
void Cblacs_exit(int keep);
int numroc_(const int* n, const int* block, const int* place, const int* first, const int* places);
void descinit_(int* desc, const int* m, const int* n, const int* mb, const int* nb, const int* r, const int* c,
               const int* context, const int* lld, int* info);
void pdgesv_(const int* n, const int* nrhs, double* a, const int* ia, const int* ja, const int* desca, int* pivots,
             double* b, const int* ib, const int* jb, const int* descb, int* info);
void pdsyev_(const char* job, const char* half, const int* n, double* a, const int* ia, const int* ja, const int* desca,
             double* w, double* z, const int* iz, const int* jz, const int* descz, double* work, const int* lwork,
             int* info);

static const int kZero = 0, kOne = 1, kNb = kBlock;
static int grid, rows, columns, row, column;

/* This rank's part of an m x n matrix, in blocks dealt out over the grid. */
struct part {
  int desc[9], rows, columns, stride;
  double* data;
};

static struct part make_part(int m, int n) {
  struct part p = {.rows = numroc_(&m, &kNb, &row, &kZero, &rows),
                   .columns = numroc_(&n, &kNb, &column, &kZero, &columns)};
  p.stride = p.rows > 1 ? p.rows : 1;
  int info;
  descinit_(p.desc, &m, &n, &kNb, &kNb, &kZero, &kZero, &grid, &p.stride, &info);
  p.data = calloc((size_t)p.stride * (size_t)(p.columns + 1), sizeof(double));
  return p;
}

static int global_row(int i) { return (i / kBlock * rows + row) * kBlock + i % kBlock; }
static int global_column(int j) { return (j / kBlock * columns + column) * kBlock + j % kBlock; }
static double* at(struct part* p, int i, int j) { return &p->data[i + (long)j * p->stride]; }

static void solve(int rank, int n, int turn) {
  struct part a = make_part(n, n), b = make_part(n, 1);
  int* pivots = calloc((size_t)(a.stride + kBlock), sizeof(int));
  for (int j = 0; j < a.columns; j++)
    for (int i = 0; i < a.rows; i++)
      *at(&a, i, j) =
          sin(1.0 * global_row(i) * n + global_column(j) + turn) + (global_row(i) == global_column(j) ? 3 : 0);
  for (int j = 0; j < b.columns; j++)
    for (int i = 0; i < b.rows; i++) *at(&b, i, j) = 1 + global_row(i) % 7;
  int info;
  pdgesv_(&n, &kOne, a.data, &kOne, &kOne, a.desc, pivots, b.data, &kOne, &kOne, b.desc, &info);
  double own = 0, sum = 0;
  for (int j = 0; j < b.columns; j++)
    for (int i = 0; i < b.rows; i++) own += *at(&b, i, j) * *at(&b, i, j);
  MPI_Reduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("RESULT gesv info %d\n", info);
    print_number("norm", sqrt(sum));
  }
  free(a.data), free(b.data), free(pivots);
}

static void eigenvalues(int rank, int n) {
  struct part a = make_part(n, n), z = make_part(n, n);
  double *w = calloc((size_t)n, sizeof(double)), needed = 0;
  for (int j = 0; j < a.columns; j++)
    for (int i = 0; i < a.rows; i++) {
      int gi = global_row(i), gj = global_column(j);
      *at(&a, i, j) = 1.0 / (1 + abs(gi - gj)) + (gi == gj ? gi % 11 : 0);
    }
  int info, length = -1; /* the first call asks how much memory the second needs */
  pdsyev_("V", "U", &n, a.data, &kOne, &kOne, a.desc, w, z.data, &kOne, &kOne, z.desc, &needed, &length, &info);
  length = (int)needed + 10;
  double* work = calloc((size_t)length, sizeof(double));
  pdsyev_("V", "U", &n, a.data, &kOne, &kOne, a.desc, w, z.data, &kOne, &kOne, z.desc, work, &length, &info);
  if (rank == 0) {
    printf("RESULT syev info %d\n", info);
    print_number("least", w[0]);
    print_number("most", w[n - 1]);
  }
  free(a.data), free(z.data), free(w), free(work);
}

int main(int argc, char** argv) {
  int rank, ranks;
  Cblacs_pinfo(&rank, &ranks);
  int n = word(argc, argv, 1, 600), repeats = word(argc, argv, 2, 2), values = word(argc, argv, 3, 150);
  rows = 1;
  for (int i = 1; i * i <= ranks; i++)
    if (ranks % i == 0) rows = i;
  columns = ranks / rows;
  Cblacs_get(-1, 0, &grid);
  Cblacs_gridinit(&grid, "Row", rows, columns);
  Cblacs_gridinfo(grid, &rows, &columns, &row, &column);
  double began = MPI_Wtime();
  for (int turn = 0; turn < repeats; turn++) {
    solve(rank, n, turn);
    eigenvalues(rank, values);
  }
  if (rank == 0) print_seconds(began);
  Cblacs_gridexit(grid);
  Cblacs_exit(0);
  return 0;
}
