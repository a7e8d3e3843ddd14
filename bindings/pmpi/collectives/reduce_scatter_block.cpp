// MPI_Reduce_scatter_block in its forms.
#include "bindings/pmpi/entry.hpp"
#include "bindings/pmpi/forms.hpp"

#define PARAMETERS(Count, Displacement) const void *in, void *out, Count count, MPI_Datatype type, MPI_Op op
#define ARGUMENTS in, out, count, type, op
#define PLAN plan_reduction(team, plan, in, out, count, type, op)
#define BYTES static_cast<std::uint64_t>(on.size) * bytes_of(type, count)
SUMAC_PMPI_ALL_FORMS(Reduce_scatter_block, reduce_scatter_block, SUMAC_COLL_REDUCE_SCATTER_BLOCK)
