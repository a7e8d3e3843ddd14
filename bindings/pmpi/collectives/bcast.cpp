// MPI_Bcast in its forms.
#include "bindings/pmpi/entry.hpp"
#include "bindings/pmpi/forms.hpp"

namespace sumac::pmpi {
namespace {

Planned plan_bcast(const Communicator& team, Plan& plan, void* buffer, MPI_Count count, MPI_Datatype handle, int root) {
  const Type* type = find_type(handle);
  if (type == nullptr || count < 0 || !is_rank(team, root)) return Planned::wrong;
  plan.call.bytes = static_cast<std::size_t>(count) * type->size;
  plan.call.root = root;
  if (plan.call.bytes == 0) return Planned::nothing;
  const bool is_root = root == team.rank;
  plan.call.out = plan_row(plan, is_root ? plan.send : plan.receive, buffer, static_cast<std::size_t>(count), *type);
  if (is_root) plan.shared = SUMAC_OUT_IS_IN;
  return Planned::run;
}

}  // namespace
}  // namespace sumac::pmpi

#define PARAMETERS(Count, Displacement) void *buffer, Count count, MPI_Datatype type, int root
#define ARGUMENTS buffer, count, type, root
#define PLAN plan_bcast(team, plan, buffer, count, type, root)
#define BYTES root == MPI_PROC_NULL ? 0 : bytes_of(type, count)
SUMAC_PMPI_ALL_FORMS(Bcast, bcast, SUMAC_COLL_BCAST)
