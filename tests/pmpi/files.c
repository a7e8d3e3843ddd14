/* Opens a file with all ranks, writes and reads it by collective calls. ROMIO, the file part of MPICH and Intel MPI, calls collectives by
 * their public names, and one of them broadcasts a type of absolute addresses from MPI_BOTTOM. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2); /* files FILE */
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_File file;
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                &file);
  const int mine = 1000 + rank;
  MPI_File_write_at_all(file, (MPI_Offset)sizeof mine * rank, &mine, 1, MPI_INT, MPI_STATUS_IGNORE);
  // The standard's way to see what others have written.
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  const int other = (rank + 1) % size;
  int found = 0;
  MPI_File_read_at_all(file, (MPI_Offset)sizeof found * other, &found, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  const int right = found == 1000 + other;
  int all = 0;
  MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("files: right on %d ranks\n", all);
  MPI_Finalize();
  return all == size ? 0 : 1;
}
