// MPI_Gather in its forms.
#include "bindings/pmpi/entry.hpp"
#include "bindings/pmpi/forms.hpp"

namespace sumac::pmpi {
namespace {

Planned plan_gather(const Communicator& team, Plan& plan, const void* in, MPI_Count in_count, MPI_Datatype in_type,
                    void* out, MPI_Count out_count, MPI_Datatype out_type, int root) {
  if (!is_rank(team, root)) return Planned::wrong;
  plan.call.root = root;
  if (root == team.rank)
    return plan_equal_blocks(team, plan, in, in_count, in_type, 1, out, out_count, out_type,
                             static_cast<std::size_t>(team.rank));
  const Type* type = find_type(in_type);
  if (type == nullptr || in_count < 0) return Planned::wrong;
  plan.call.bytes = static_cast<std::size_t>(in_count) * type->size;
  if (plan.call.bytes == 0) return Planned::nothing;
  plan.call.in = plan_row(plan, plan.send, in, static_cast<std::size_t>(in_count), *type);
  return Planned::run;
}

}  // namespace
}  // namespace sumac::pmpi

#define PARAMETERS(Count, Displacement) \
  const void *in, Count in_count, MPI_Datatype in_type, void *out, Count out_count, MPI_Datatype out_type, int root
#define ARGUMENTS in, in_count, in_type, out, out_count, out_type, root
#define PLAN plan_gather(team, plan, in, in_count, in_type, out, out_count, out_type, root)
#define BYTES \
  is_at_root_side(root) ? 0 : in != MPI_IN_PLACE ? bytes_of(in_type, in_count) : bytes_of(out_type, out_count)
SUMAC_PMPI_ALL_FORMS(Gather, gather, SUMAC_COLL_GATHER)
