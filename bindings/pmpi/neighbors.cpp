// The persistent collectives among neighbors are always the MPI's. They are here to be listed (note_the_mpis()).
#include "bindings/pmpi/entry.hpp"
#include "bindings/pmpi/requests.hpp"

#if !defined(OPEN_MPI)

#define SUMAC_PMPI_NEIGHBOR(name, parameters, arguments) \
  SUMAC_PMPI_NAMES(name, parameters, arguments, sumac::pmpi::note_the_mpis(sumac::pmpi::mpi.name arguments, request))
#define TO_ALL(Count) \
  (const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count, MPI_Datatype out_type, COMMON)
#define COMMON MPI_Comm comm, MPI_Info info, MPI_Request *request
#define SUMAC_PMPI_NEIGHBORS(_c, Count, Displacement, ByteDisplacement)                                                \
  SUMAC_PMPI_NEIGHBOR(Neighbor_allgather_init##_c, TO_ALL(Count),                                                      \
                      (in, in_count, in_type, out, out_count, out_type, comm, info, request))                          \
  SUMAC_PMPI_NEIGHBOR(Neighbor_alltoall_init##_c, TO_ALL(Count),                                                       \
                      (in, in_count, in_type, out, out_count, out_type, comm, info, request))                          \
  SUMAC_PMPI_NEIGHBOR(Neighbor_allgatherv_init##_c,                                                                    \
                      (const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* out_counts,       \
                       const Displacement* out_displacements, MPI_Datatype out_type, COMMON),                          \
                      (in, in_count, in_type, out, out_counts, out_displacements, out_type, comm, info, request))      \
  SUMAC_PMPI_NEIGHBOR(                                                                                                 \
      Neighbor_alltoallv_init##_c,                                                                                     \
      (const void* in, const Count* in_counts, const Displacement* in_displacements, MPI_Datatype in_type, void* out,  \
       const Count* out_counts, const Displacement* out_displacements, MPI_Datatype out_type, COMMON),                 \
      (in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type, comm, info, request))   \
  SUMAC_PMPI_NEIGHBOR(                                                                                                 \
      Neighbor_alltoallw_init##_c,                                                                                     \
      (const void* in, const Count* in_counts, const ByteDisplacement* in_displacements, const MPI_Datatype* in_types, \
       void* out, const Count* out_counts, const ByteDisplacement* out_displacements, const MPI_Datatype* out_types,   \
       COMMON),                                                                                                        \
      (in, in_counts, in_displacements, in_types, out, out_counts, out_displacements, out_types, comm, info, request))

SUMAC_PMPI_NEIGHBORS(, int, int, MPI_Aint)
SUMAC_PMPI_NEIGHBORS(_c, MPI_Count, MPI_Aint, MPI_Aint)

#endif
