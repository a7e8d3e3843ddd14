// The persistent collectives among neighbors are always the MPI's. They are here to be listed (note_the_mpis()).
#include "bindings/pmpi/entry.hpp"
#include "bindings/pmpi/requests.hpp"

#define NEIGHBOR(name, S, Count, Displacement)                                                               \
  SUMAC_PMPI_NAMES(                                                                                          \
      name, (SUMAC_PARAMETERS_##S(Count, Displacement) MPI_Comm comm, MPI_Info info, MPI_Request * request), \
      (SUMAC_ARGUMENTS_##S comm, info, request),                                                             \
      sumac::pmpi::note_the_mpis(sumac::pmpi::mpi.name(SUMAC_ARGUMENTS_##S comm, info, request), request))
#define BOTH(_, Name, S, Displacement)        \
  NEIGHBOR(Name##_init, S, int, Displacement) \
  NEIGHBOR(Name##_init_c, S, MPI_Count, MPI_Aint)

SUMAC_PMPI_EACH_NEIGHBOR(BOTH, )
