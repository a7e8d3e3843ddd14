// MPI_Alltoall in its forms.
#include "bindings/pmpi/entry.hpp"
#include "bindings/pmpi/forms.hpp"

#define PARAMETERS(Count, Displacement) \
  const void *in, Count in_count, MPI_Datatype in_type, void *out, Count out_count, MPI_Datatype out_type
#define ARGUMENTS in, in_count, in_type, out, out_count, out_type
#define PLAN \
  plan_equal_blocks(team, plan, in, in_count, in_type, static_cast<std::size_t>(team.size), out, out_count, out_type, 0)
#define BYTES                            \
  static_cast<std::uint64_t>(on.peers) * \
      (in != MPI_IN_PLACE ? bytes_of(in_type, in_count) : bytes_of(out_type, out_count))
SUMAC_PMPI_ALL_FORMS(Alltoall, alltoall, SUMAC_COLL_ALLTOALL)
