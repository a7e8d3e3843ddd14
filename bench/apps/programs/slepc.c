/* SLEPc: eigenvalues of a matrix on a square grid, by the solver that its options name.
 * usage: slepc -n GRID [options of SLEPc] */

#include <slepceps.h>

#include "result.h"

static PetscErrorCode fill(Mat matrix, PetscInt n) {
  PetscInt first, last;
  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(matrix, &first, &last));
  for (PetscInt k = first; k < last; k++) {
    PetscInt x = k % n, y = k / n;
    PetscCall(MatSetValue(matrix, k, k, 4 + 0.001 * (double)(k % 5), INSERT_VALUES));
    if (y > 0) PetscCall(MatSetValue(matrix, k, k - n, -1, INSERT_VALUES));
    if (y < n - 1) PetscCall(MatSetValue(matrix, k, k + n, -1, INSERT_VALUES));
    if (x > 0) PetscCall(MatSetValue(matrix, k, k - 1, -1.1, INSERT_VALUES));
    if (x < n - 1) PetscCall(MatSetValue(matrix, k, k + 1, -1.1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

int main(int argc, char** argv) {
  PetscCall(SlepcInitialize(&argc, &argv, NULL, NULL));
  PetscInt n = 60, found = 0;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  Mat matrix;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n, 5, NULL, 5, NULL, &matrix));
  PetscCall(fill(matrix, n));
  int rank;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  double began = MPI_Wtime();
  EPS solver;
  PetscCall(EPSCreate(PETSC_COMM_WORLD, &solver));
  PetscCall(EPSSetOperators(solver, matrix, NULL));
  PetscCall(EPSSetProblemType(solver, EPS_HEP));
  PetscCall(EPSSetFromOptions(solver));
  PetscCall(EPSSolve(solver));
  double ended = MPI_Wtime();
  PetscCall(EPSGetConverged(solver, &found));
  for (PetscInt i = 0; i < found; i++) {
    PetscScalar value;
    PetscCall(EPSGetEigenpair(solver, i, &value, NULL, NULL, NULL));
    if (rank == 0) print_number("eigenvalue", value);
  }
  if (rank == 0) printf("RESULT converged %d\nSECONDS %.4f\n", found > 0, ended - began);
  PetscCall(EPSDestroy(&solver));
  PetscCall(MatDestroy(&matrix));
  PetscCall(SlepcFinalize());
  return 0;
}
