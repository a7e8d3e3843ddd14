/* Parallel HDF5: data sets of one file that all ranks write together in turns of one element, and read back in other parts.
 * usage: hdf5 SETS ELEMENTS_A_RANK */

#include <hdf5.h>

#include "result.h"

static void write_set(hid_t file, hid_t transfer, int set, int rank, int ranks, hsize_t n, double* data) {
  char name[32];
  snprintf(name, sizeof name, "set%d", set);
  hsize_t total = n * (hsize_t)ranks, first = (hsize_t)rank, step = (hsize_t)ranks;
  hid_t space = H5Screate_simple(1, &total, NULL), memory = H5Screate_simple(1, &n, NULL),
        layout = H5Pcreate(H5P_DATASET_CREATE);
  if (set % 2) H5Pset_chunk(layout, 1, &n);
  hid_t data_set = H5Dcreate(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
  for (hsize_t i = 0; i < n; i++) data[i] = set + (double)((hsize_t)rank * n + i);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, &step, &n, NULL);
  if (H5Dwrite(data_set, H5T_NATIVE_DOUBLE, memory, space, transfer, data) < 0) MPI_Abort(MPI_COMM_WORLD, 1);
  H5Dclose(data_set), H5Sclose(space), H5Sclose(memory), H5Pclose(layout);
}

static double read_set(hid_t file, hid_t transfer, int set, int rank, int ranks, hsize_t n, double* data) {
  char name[32];
  snprintf(name, sizeof name, "set%d", set);
  hsize_t first = n * (hsize_t)((rank + 1) % ranks);
  hid_t data_set = H5Dopen(file, name, H5P_DEFAULT), space = H5Dget_space(data_set),
        memory = H5Screate_simple(1, &n, NULL);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &n, NULL);
  if (H5Dread(data_set, H5T_NATIVE_DOUBLE, memory, space, transfer, data) < 0) MPI_Abort(MPI_COMM_WORLD, 1);
  double sum = 0;
  for (hsize_t i = 0; i < n; i++) sum += data[i] * (double)(1 + i % 3);
  H5Dclose(data_set), H5Sclose(space), H5Sclose(memory);
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, sets = word(argc, argv, 1, 20);
  hsize_t n = (hsize_t)word(argc, argv, 2, 4096);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double began = MPI_Wtime(), *data = calloc(n, sizeof(double)), own = 0, sum = 0;
  hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  H5Pset_coll_metadata_write(access, 1);
  H5Pset_all_coll_metadata_ops(access, 1);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  hid_t file = H5Fcreate("sets.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  for (int set = 0; set < sets; set++) write_set(file, transfer, set, rank, ranks, n, data);
  H5Fclose(file);
  file = H5Fopen("sets.h5", H5F_ACC_RDONLY, access);
  for (int set = 0; set < sets; set++) own += read_set(file, transfer, set, rank, ranks, n, data);
  H5Fclose(file);
  MPI_Reduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    print_number("sum", sum);
    print_seconds(began);
  }
  MPI_Finalize();
  return 0;
}
