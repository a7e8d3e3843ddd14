/* Ranks disagree: every rank gets MPI_ERR_OTHER, and stderr names the rank that differed, and the argument.
 *
 *     disagree [count|type|op|collective [fatal]]   rank 1 is the one that differs, in its second call; with `fatal` the
 *                                                   program leaves the error to MPI, which ends the job */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* what = argc > 1 ? argv[1] : "count";
  int rank, in[8] = {1, 1, 1, 1, 1, 1, 1, 1}, out[8];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 3) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int first = MPI_Allreduce(in, out, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD), second;
  int count = 4;
  MPI_Datatype type = MPI_INT;
  MPI_Op op = MPI_SUM;
  if (1 == rank && 0 == strcmp(what, "count")) count = 8;
  if (1 == rank && 0 == strcmp(what, "type")) type = MPI_FLOAT;
  if (1 == rank && 0 == strcmp(what, "op")) op = MPI_MAX;
  if (1 == rank && 0 == strcmp(what, "collective")) {
    second = MPI_Barrier(MPI_COMM_WORLD);
  } else {
    second = MPI_Allreduce(in, out, count, type, op, MPI_COMM_WORLD);
  }
  int class = MPI_SUCCESS;
  if (MPI_SUCCESS != second) MPI_Error_class(second, &class);
  printf("disagree: rank %d first %s second %s\n", rank, MPI_SUCCESS == first ? "ok" : "failed",
         MPI_ERR_OTHER == class ? "MPI_ERR_OTHER" : "not MPI_ERR_OTHER");
  char words[MPI_MAX_ERROR_STRING] = "";
  int length;
  if (MPI_SUCCESS != second) MPI_Error_string(second, words, &length);
  printf("disagree: rank %d reads: %s\n", rank, words);
  fflush(stdout);
  MPI_Finalize();
  return MPI_SUCCESS == first && MPI_ERR_OTHER == class ? 0 : 1;
}
