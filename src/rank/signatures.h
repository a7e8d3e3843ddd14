#pragma once
/* The collectives of MPI and their parameters, once for both front ends: each expands the tables with the mpi.h of its MPI. A
 * list of parameters or arguments ends with a comma if it is not empty, because the communicator follows. A signature S has
 * SUMAC_PARAMETERS_S(Count, Displacement), SUMAC_ARGUMENTS_S, and SUMAC_GIVEN_S: the members of a struct sumac_arguments. */

#include "rank/arguments.h"
#include "rank/profile.h"

/** Calls X(Z, Name, name, number, signature) for each collective that teams do. */
#define SUMAC_EACH_COLLECTIVE(X, Z) \
  SUMAC_EACH_BARRIER(X, Z)          \
  SUMAC_EACH_ALLREDUCE(X, Z)        \
  SUMAC_EACH_BCAST(X, Z)            \
  SUMAC_EACH_PLANNED(X, Z)
/** The same for the three whose blocking form has a shorter way (forms.h), and for the others. */
#define SUMAC_EACH_BARRIER(X, Z) X(Z, Barrier, barrier, SUMAC_COLL_BARRIER, NOTHING)
#define SUMAC_EACH_ALLREDUCE(X, Z) X(Z, Allreduce, allreduce, SUMAC_COLL_ALLREDUCE, SUMS)
#define SUMAC_EACH_BCAST(X, Z) X(Z, Bcast, bcast, SUMAC_COLL_BCAST, BUFFER)
#define SUMAC_EACH_PLANNED(X, Z)                                                          \
  X(Z, Reduce, reduce, SUMAC_COLL_REDUCE, SUMS_AT_ROOT)                                   \
  X(Z, Allgather, allgather, SUMAC_COLL_ALLGATHER, BLOCKS)                                \
  X(Z, Allgatherv, allgatherv, SUMAC_COLL_ALLGATHERV, TO_SIZED)                           \
  X(Z, Alltoall, alltoall, SUMAC_COLL_ALLTOALL, BLOCKS)                                   \
  X(Z, Alltoallv, alltoallv, SUMAC_COLL_ALLTOALLV, SIZED)                                 \
  X(Z, Reduce_scatter_block, reduce_scatter_block, SUMAC_COLL_REDUCE_SCATTER_BLOCK, SUMS) \
  X(Z, Gather, gather, SUMAC_COLL_GATHER, BLOCKS_AT_ROOT)                                 \
  X(Z, Gatherv, gatherv, SUMAC_COLL_GATHERV, TO_SIZED_AT_ROOT)                            \
  X(Z, Scatter, scatter, SUMAC_COLL_SCATTER, BLOCKS_AT_ROOT)                              \
  X(Z, Scatterv, scatterv, SUMAC_COLL_SCATTERV, FROM_SIZED_AT_ROOT)                       \
  X(Z, Scan, scan, SUMAC_COLL_SCAN, SUMS)                                                 \
  X(Z, Exscan, exscan, SUMAC_COLL_EXSCAN, SUMS)                                           \
  X(Z, Reduce_scatter, reduce_scatter, SUMAC_COLL_REDUCE_SCATTER, SUMS_OF_SIZED)
/** The same for those that are always the MPI's: front ends have them to count them in a profile. */
#define SUMAC_EACH_LEFT(X, Z) X(Z, Alltoallw, alltoallw, SUMAC_PROFILE_ALLTOALLW, SIZED_OF_TYPES)

#define SUMAC_BLOCKS(counts, displacements) \
  { counts, displacements, 0, sizeof *(counts) == sizeof(int64_t) }

#define SUMAC_PARAMETERS_NOTHING(Count, Displacement)
#define SUMAC_ARGUMENTS_NOTHING
#define SUMAC_GIVEN_NOTHING .in = NULL

#define SUMAC_PARAMETERS_SUMS(Count, Displacement) const void *in, void *out, Count count, MPI_Datatype type, MPI_Op op,
#define SUMAC_ARGUMENTS_SUMS in, out, count, type, op,
#define SUMAC_GIVEN_SUMS .in = in, .out = out, .out_count = count, .out_type = SUMAC_BITS(type), .op = SUMAC_BITS(op)

#define SUMAC_PARAMETERS_SUMS_AT_ROOT(Count, Displacement) SUMAC_PARAMETERS_SUMS(Count, Displacement) int root,
#define SUMAC_ARGUMENTS_SUMS_AT_ROOT SUMAC_ARGUMENTS_SUMS root,
#define SUMAC_GIVEN_SUMS_AT_ROOT SUMAC_GIVEN_SUMS, .root = root

#define SUMAC_PARAMETERS_SUMS_OF_SIZED(Count, Displacement) \
  const void *in, void *out, const Count *counts, MPI_Datatype type, MPI_Op op,
#define SUMAC_ARGUMENTS_SUMS_OF_SIZED in, out, counts, type, op,
#define SUMAC_GIVEN_SUMS_OF_SIZED \
  .in = in, .out = out, .out_type = SUMAC_BITS(type), .out_blocks = SUMAC_BLOCKS(counts, NULL), .op = SUMAC_BITS(op)

#define SUMAC_PARAMETERS_BUFFER(Count, Displacement) void *buffer, Count count, MPI_Datatype type, int root,
#define SUMAC_ARGUMENTS_BUFFER buffer, count, type, root,
#define SUMAC_GIVEN_BUFFER .out = buffer, .out_count = count, .out_type = SUMAC_BITS(type), .root = root

#define SUMAC_PARAMETERS_BLOCKS(Count, Displacement) \
  const void *in, Count in_count, MPI_Datatype in_type, void *out, Count out_count, MPI_Datatype out_type,
#define SUMAC_ARGUMENTS_BLOCKS in, in_count, in_type, out, out_count, out_type,
#define SUMAC_GIVEN_BLOCKS                                                                            \
  .in = in, .out = out, .in_count = in_count, .out_count = out_count, .in_type = SUMAC_BITS(in_type), \
  .out_type = SUMAC_BITS(out_type)

#define SUMAC_PARAMETERS_BLOCKS_AT_ROOT(Count, Displacement) SUMAC_PARAMETERS_BLOCKS(Count, Displacement) int root,
#define SUMAC_ARGUMENTS_BLOCKS_AT_ROOT SUMAC_ARGUMENTS_BLOCKS root,
#define SUMAC_GIVEN_BLOCKS_AT_ROOT SUMAC_GIVEN_BLOCKS, .root = root

#define SUMAC_PARAMETERS_TO_SIZED(Count, Displacement)                                      \
  const void *in, Count in_count, MPI_Datatype in_type, void *out, const Count *out_counts, \
      const Displacement *out_displacements, MPI_Datatype out_type,
#define SUMAC_ARGUMENTS_TO_SIZED in, in_count, in_type, out, out_counts, out_displacements, out_type,
#define SUMAC_GIVEN_TO_SIZED                                                                                    \
  .in = in, .out = out, .in_count = in_count, .in_type = SUMAC_BITS(in_type), .out_type = SUMAC_BITS(out_type), \
  .out_blocks = SUMAC_BLOCKS(out_counts, out_displacements)

#define SUMAC_PARAMETERS_TO_SIZED_AT_ROOT(Count, Displacement) SUMAC_PARAMETERS_TO_SIZED(Count, Displacement) int root,
#define SUMAC_ARGUMENTS_TO_SIZED_AT_ROOT SUMAC_ARGUMENTS_TO_SIZED root,
#define SUMAC_GIVEN_TO_SIZED_AT_ROOT SUMAC_GIVEN_TO_SIZED, .root = root

#define SUMAC_PARAMETERS_FROM_SIZED_AT_ROOT(Count, Displacement)                                                 \
  const void *in, const Count *in_counts, const Displacement *in_displacements, MPI_Datatype in_type, void *out, \
      Count out_count, MPI_Datatype out_type, int root,
#define SUMAC_ARGUMENTS_FROM_SIZED_AT_ROOT in, in_counts, in_displacements, in_type, out, out_count, out_type, root,
#define SUMAC_GIVEN_FROM_SIZED_AT_ROOT                                                                            \
  .in = in, .out = out, .out_count = out_count, .in_type = SUMAC_BITS(in_type), .out_type = SUMAC_BITS(out_type), \
  .in_blocks = SUMAC_BLOCKS(in_counts, in_displacements), .root = root

#define SUMAC_PARAMETERS_SIZED(Count, Displacement)                                                              \
  const void *in, const Count *in_counts, const Displacement *in_displacements, MPI_Datatype in_type, void *out, \
      const Count *out_counts, const Displacement *out_displacements, MPI_Datatype out_type,
#define SUMAC_ARGUMENTS_SIZED in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type,
#define SUMAC_GIVEN_SIZED                                                                 \
  .in = in, .out = out, .in_type = SUMAC_BITS(in_type), .out_type = SUMAC_BITS(out_type), \
  .in_blocks = SUMAC_BLOCKS(in_counts, in_displacements), .out_blocks = SUMAC_BLOCKS(out_counts, out_displacements)

#define SUMAC_PARAMETERS_SIZED_OF_TYPES(Count, Displacement)                                                  \
  const void *in, const Count *in_counts, const Displacement *in_displacements, const MPI_Datatype *in_types, \
      void *out, const Count *out_counts, const Displacement *out_displacements, const MPI_Datatype *out_types,
#define SUMAC_ARGUMENTS_SIZED_OF_TYPES \
  in, in_counts, in_displacements, in_types, out, out_counts, out_displacements, out_types,
#define SUMAC_GIVEN_SIZED_OF_TYPES                                              \
  .in = in, .out = out, .in_blocks = SUMAC_BLOCKS(in_counts, in_displacements), \
  .out_blocks = SUMAC_BLOCKS(out_counts, out_displacements), .in_types = in_types, .out_types = out_types
