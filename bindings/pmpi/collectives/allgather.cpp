// MPI_Allgather in its forms.
#include "bindings/pmpi/entry.hpp"
#include "bindings/pmpi/forms.hpp"

#define PARAMETERS(Count, Displacement) \
  const void *in, Count in_count, MPI_Datatype in_type, void *out, Count out_count, MPI_Datatype out_type
#define ARGUMENTS in, in_count, in_type, out, out_count, out_type
#define PLAN \
  plan_equal_blocks(team, plan, in, in_count, in_type, 1, out, out_count, out_type, static_cast<std::size_t>(team.rank))
#define BYTES in != MPI_IN_PLACE ? bytes_of(in_type, in_count) : bytes_of(out_type, out_count)
SUMAC_PMPI_ALL_FORMS(Allgather, allgather, SUMAC_COLL_ALLGATHER)
