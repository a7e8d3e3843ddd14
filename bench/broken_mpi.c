/* collbench_test.py preloads this file: it makes an MPI that is slightly wrong, so that the test sees that the benchmark finds
 * the error. The values of BROKEN_MPI are
 *   sum      the sum that rank 1 receives is wrong in its last element, once
 *   barrier  rank 1 does not wait
 *   bcast    rank 1 receives a wrong last byte in the seventh bcast of 1 KiB
 *   reduce   the sum that the root receives is wrong in its last element, once
 *   fail     the seventh allreduce of a sum returns an error on all ranks */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int broken(const char* how) {
  const char* wanted = getenv("BROKEN_MPI");
  return wanted != NULL && strcmp(wanted, how) == 0;
}

static void spoil(void* data, int count, MPI_Datatype type) {
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  ((unsigned char*)data)[(size_t)count * (size_t)bytes - 1] ^= 0x10;
}

int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  static int sums;
  const int code = PMPI_Allreduce(send, receive, count, type, op, comm);
  if (op != MPI_SUM || ++sums != 7) return code;
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  if (broken("fail")) return MPI_ERR_OTHER;
  if (broken("sum") && rank == 1) spoil(receive, count, type);
  return code;
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  static int bcasts;
  int rank = 0, bytes = 0;
  const int code = PMPI_Bcast(buffer, count, type, root, comm);
  PMPI_Comm_rank(comm, &rank);
  PMPI_Type_size(type, &bytes);
  if (count * bytes == 1024 && ++bcasts == 7 && rank == 1 && broken("bcast")) spoil(buffer, count, type);
  return code;
}

int MPI_Reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  static int sums;
  int rank = 0;
  const int code = PMPI_Reduce(send, receive, count, type, op, root, comm);
  PMPI_Comm_rank(comm, &rank);
  if (++sums == 7 && rank == root && broken("reduce")) spoil(receive, count, type);
  return code;
}

int MPI_Barrier(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  if (!broken("barrier")) return PMPI_Barrier(comm);
  return rank == 1 ? MPI_SUCCESS : PMPI_Barrier(MPI_COMM_SELF);
}
