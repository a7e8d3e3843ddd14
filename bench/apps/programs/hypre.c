/* hypre: conjugate gradients with algebraic multigrid, of a Laplacian on a cube, several times with its setup.
 * usage: hypre EDGE REPEATS */

#include <HYPRE.h>
#include <HYPRE_parcsr_ls.h>

#include "result.h"

static HYPRE_ParCSRMatrix laplacian(int n, HYPRE_Int first, HYPRE_Int last) {
  HYPRE_IJMatrix matrix;
  HYPRE_IJMatrixCreate(MPI_COMM_WORLD, first, last, first, last, &matrix);
  HYPRE_IJMatrixSetObjectType(matrix, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(matrix);
  for (HYPRE_Int i = first; i <= last; i++) {
    int x = i % n, y = i / n % n, z = i / n / n;
    const struct {
      int inside;
      HYPRE_Int column;
    } sides[] = {{x > 0, i - 1},     {x < n - 1, i + 1}, {y > 0, i - n},
                 {y < n - 1, i + n}, {z > 0, i - n * n}, {z < n - 1, i + n * n}};
    HYPRE_Int columns[7] = {i}, count = 1;
    double values[7] = {6};
    for (int side = 0; side < 6; side++)
      if (sides[side].inside) {
        columns[count] = sides[side].column;
        values[count++] = -1;
      }
    HYPRE_IJMatrixSetValues(matrix, 1, &count, &i, columns, values);
  }
  HYPRE_IJMatrixAssemble(matrix);
  HYPRE_ParCSRMatrix found;
  HYPRE_IJMatrixGetObject(matrix, (void**)&found);
  return found;
}

static HYPRE_ParVector vector(HYPRE_Int first, HYPRE_Int last, int modulus) {
  HYPRE_IJVector made;
  HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, last, &made);
  HYPRE_IJVectorSetObjectType(made, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(made);
  for (HYPRE_Int i = first; i <= last; i++) {
    double value = modulus ? 1 + i % modulus : 0;
    HYPRE_IJVectorSetValues(made, 1, &i, &value);
  }
  HYPRE_IJVectorAssemble(made);
  HYPRE_ParVector found;
  HYPRE_IJVectorGetObject(made, (void**)&found);
  return found;
}

static void solve(int rank, HYPRE_ParCSRMatrix matrix, HYPRE_ParVector right, HYPRE_ParVector x) {
  HYPRE_ParVectorSetConstantValues(x, 0.0);
  HYPRE_Solver gradients, multigrid;
  HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &gradients);
  HYPRE_PCGSetMaxIter(gradients, 200);
  HYPRE_PCGSetTol(gradients, 1e-10);
  HYPRE_PCGSetTwoNorm(gradients, 1);
  HYPRE_BoomerAMGCreate(&multigrid);
  HYPRE_BoomerAMGSetCoarsenType(multigrid, 8); /* PMIS */
  HYPRE_BoomerAMGSetRelaxType(multigrid, 6);   /* symmetric Gauss-Seidel in each rank */
  HYPRE_BoomerAMGSetNumSweeps(multigrid, 1);
  HYPRE_BoomerAMGSetTol(multigrid, 0); /* a preconditioner: one cycle */
  HYPRE_BoomerAMGSetMaxIter(multigrid, 1);
  HYPRE_PCGSetPrecond(gradients, (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve, (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup,
                      multigrid);
  HYPRE_ParCSRPCGSetup(gradients, matrix, right, x);
  HYPRE_ParCSRPCGSolve(gradients, matrix, right, x);
  HYPRE_Int iterations;
  double square;
  HYPRE_PCGGetNumIterations(gradients, &iterations);
  HYPRE_ParVectorInnerProd(x, x, &square);
  if (rank == 0) {
    printf("RESULT iterations %d\n", (int)iterations);
    print_number("square", square);
  }
  HYPRE_ParCSRPCGDestroy(gradients);
  HYPRE_BoomerAMGDestroy(multigrid);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, n = word(argc, argv, 1, 30), repeats = word(argc, argv, 2, 3);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  HYPRE_Init();
  long all = (long)n * n * n;
  HYPRE_Int first = (HYPRE_Int)(all * rank / ranks), last = (HYPRE_Int)(all * (rank + 1) / ranks - 1);
  HYPRE_ParCSRMatrix matrix = laplacian(n, first, last);
  HYPRE_ParVector right = vector(first, last, 7), x = vector(first, last, 0);
  double began = MPI_Wtime();
  for (int turn = 0; turn < repeats; turn++) solve(rank, matrix, right, x);
  if (rank == 0) print_seconds(began);
  MPI_Finalize();
  return 0;
}
