// MPI_Reduce in its forms.
#include "bindings/pmpi/entry.hpp"
#include "bindings/pmpi/forms.hpp"

namespace sumac::pmpi {
namespace {

Planned plan_reduce(const Communicator& team, Plan& plan, const void* in, void* out, MPI_Count count, MPI_Datatype type,
                    MPI_Op op, int root) {
  if (!is_rank(team, root)) return Planned::wrong;
  plan.call.root = root;
  return plan_reduction(team, plan, in, root == team.rank ? out : nullptr, count, type, op);
}

}  // namespace
}  // namespace sumac::pmpi

#define PARAMETERS(Count, Displacement) const void *in, void *out, Count count, MPI_Datatype type, MPI_Op op, int root
#define ARGUMENTS in, out, count, type, op, root
#define PLAN plan_reduce(team, plan, in, out, count, type, op, root)
#define BYTES root == MPI_PROC_NULL ? 0 : bytes_of(type, count)
SUMAC_PMPI_ALL_FORMS(Reduce, reduce, SUMAC_COLL_REDUCE)
