// MPI_Allreduce in its forms.
#include "bindings/pmpi/entry.hpp"
#include "bindings/pmpi/forms.hpp"

#define PARAMETERS(Count, Displacement) const void *in, void *out, Count count, MPI_Datatype type, MPI_Op op
#define ARGUMENTS in, out, count, type, op
#define PLAN plan_reduction(team, plan, in, out, count, type, op)
#define BYTES bytes_of(type, count)
SUMAC_PMPI_ALL_FORMS(Allreduce, allreduce, SUMAC_COLL_ALLREDUCE)
