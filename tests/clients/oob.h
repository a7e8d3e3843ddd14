/* Helpers of the client programs: out-of-band functions over MPI as real clients have them, and the message with
 * which a program ends. */
#ifndef SUMAC_TESTS_CLIENTS_OOB_H
#define SUMAC_TESTS_CLIENTS_OOB_H

#include <mpi.h>
#include <sharp/api/sharp_coll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(condition)                                                         \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                             \
    }                                                                           \
  } while (0)

/* Clears nothing: a field that a client leaves unset has the stack's old content. */
#define POISON(object) memset(&(object), 0xA5, sizeof(object))

/* The context of each function is an MPI_Comm*. */
static int oob_bcast(void* comm, void* buffer, int length, int root) {
  return MPI_Bcast(buffer, length, MPI_BYTE, root, *(MPI_Comm*)comm) == MPI_SUCCESS ? 0 : -1;
}
static int oob_barrier(void* comm) { return MPI_Barrier(*(MPI_Comm*)comm) == MPI_SUCCESS ? 0 : -1; }
static int oob_gather(void* comm, int root, void* mine, void* all, int length) {
  return MPI_Gather(mine, length, MPI_BYTE, all, length, MPI_BYTE, root, *(MPI_Comm*)comm) == MPI_SUCCESS ? 0 : -1;
}

static inline void describe(struct sharp_coll_data_desc* desc, void* buffer, size_t bytes, void* handle) {
  desc->type = SHARP_DATA_BUFFER;
  desc->mem_type = SHARP_MEM_TYPE_HOST;
  desc->buffer.ptr = buffer;
  desc->buffer.length = bytes;
  desc->buffer.mem_handle = handle;
}

/* Makes a number that no other job has, as the clients do: rank 0 draws it and broadcasts it. */
static uint64_t job_id_of(MPI_Comm comm) {
  static uint64_t count = 0;
  uint64_t id = ((uint64_t)(uintptr_t)&count << 20) ^ ((uint64_t)(MPI_Wtime() * 1e6) << 8) ^ ++count;
  MPI_Bcast(&id, 1, MPI_UINT64_T, 0, comm);
  return id;
}

/* Sets the fields that all clients set alike for a job of `world`'s ranks, and no others. */
static inline void describe_job(struct sharp_coll_init_spec* init, MPI_Comm* world, int rank, int size) {
  init->job_id = job_id_of(*world);
  init->world_rank = rank;
  init->world_size = size;
  init->world_local_rank = rank;
  init->oob_colls.barrier = oob_barrier;
  init->oob_colls.bcast = oob_bcast;
  init->oob_colls.gather = oob_gather;
  init->oob_ctx = world;
}

#endif
