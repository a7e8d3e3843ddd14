/* collbench_test.py preloads this file: it makes an MPI that is slightly wrong, so that the test sees that the benchmark finds
 * the error. The values of BROKEN_MPI are
 *   sum      the sum that rank 1 receives is wrong in its last element, once
 *   barrier  rank 1 does not wait
 *   bcast    rank 1 receives a wrong last byte in the seventh bcast of 1 KiB
 *   reduce   the sum that the root receives is wrong in its last element, once
 *   uneven   rank 1 receives a wrong last byte of its last block in the seventh allgatherv or alltoallv
 *   maxloc   rank 1 receives a wrong last byte in the seventh allreduce of MAXLOC
 *   fail     the seventh allreduce of a sum returns an error on all ranks */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int broken(const char* how) {
  const char* wanted = getenv("BROKEN_MPI");
  return wanted != NULL && strcmp(wanted, how) == 0;
}

/* The last byte that belongs to an element. */
static void spoil(void* data, int count, MPI_Datatype type) {
  MPI_Aint unused = 0, extent = 0, first = 0, length = 0;
  PMPI_Type_get_extent(type, &unused, &extent);
  PMPI_Type_get_true_extent(type, &first, &length);
  ((unsigned char*)data)[(count - 1) * extent + first + length - 1] ^= 0x10;
}

int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  static int sums, choices;
  const int code = PMPI_Allreduce(send, receive, count, type, op, comm);
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  if (op == MPI_MAXLOC && ++choices == 7 && rank == 1 && broken("maxloc")) spoil(receive, count, type);
  if (op != MPI_SUM || ++sums != 7) return code;
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

static void spoil_last_block(void* receive, const int counts[], const int places[], MPI_Datatype type, MPI_Comm comm) {
  static int calls;
  MPI_Aint first = 0, extent = 0;
  int rank = 0, size = 0;
  PMPI_Type_get_extent(type, &first, &extent);
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  if (++calls == 7 && rank == 1 && broken("uneven"))
    spoil((char*)receive + places[size - 1] * extent, counts[size - 1], type);
}

int MPI_Allgatherv(const void* send, int count, MPI_Datatype type, void* receive, const int counts[],
                   const int places[], MPI_Datatype receive_type, MPI_Comm comm) {
  const int code = PMPI_Allgatherv(send, count, type, receive, counts, places, receive_type, comm);
  spoil_last_block(receive, counts, places, receive_type, comm);
  return code;
}

int MPI_Alltoallv(const void* send, const int counts[], const int places[], MPI_Datatype type, void* receive,
                  const int receive_counts[], const int receive_places[], MPI_Datatype receive_type, MPI_Comm comm) {
  const int code =
      PMPI_Alltoallv(send, counts, places, type, receive, receive_counts, receive_places, receive_type, comm);
  spoil_last_block(receive, receive_counts, receive_places, receive_type, comm);
  return code;
}
