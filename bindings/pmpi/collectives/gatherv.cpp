// MPI_Gatherv in its forms.
#include "bindings/pmpi/entry.hpp"
#include "bindings/pmpi/forms.hpp"

namespace sumac::pmpi {
namespace {

template <class Count, class Displacement>
Planned plan_gatherv(const Communicator& team, Plan& plan, const void* in, Count in_count, MPI_Datatype in_type,
                     void* out, const Count* counts, const Displacement* displacements, MPI_Datatype out_type,
                     int root) {
  if (!is_rank(team, root)) return Planned::wrong;
  auto& call = plan.call;
  call.root = root;
  if (root == team.rank) {
    const Type* receives = find_type(out_type);
    sumac_blocks_t sized;
    if (receives == nullptr || !sized_of(team, counts, displacements, sized)) return Planned::wrong;
    call.out = plan_blocks(plan, plan.receive, call.out_blocks, out, sized, team.size, *receives);
    call.bytes = static_cast<std::size_t>(sumac_block_count(&sized, root)) * receives->size;
    if (in == MPI_IN_PLACE) {
      plan.shared = SUMAC_IN_IS_OUT;
      call.in = call.out;
      if (plan.receive.is_packed) plan.send = plan.receive;  // All blocks; those of others are overwritten.
      return Planned::run;
    }
  }
  const Type* sends = find_type(in_type);
  if (sends == nullptr || in_count < 0) return Planned::wrong;
  if (root != team.rank) call.bytes = static_cast<std::size_t>(in_count) * sends->size;
  call.in =
      call.bytes == 0 ? sumac_plan_no_data : plan_row(plan, plan.send, in, static_cast<std::size_t>(in_count), *sends);
  return Planned::run;
}

}  // namespace
}  // namespace sumac::pmpi

#define PARAMETERS(Count, Displacement)                                                 \
  const void *in, Count in_count, MPI_Datatype in_type, void *out, const Count *counts, \
      const Displacement *displacements, MPI_Datatype out_type, int root
#define ARGUMENTS in, in_count, in_type, out, counts, displacements, out_type, root
#define PLAN plan_gatherv(team, plan, in, in_count, in_type, out, counts, displacements, out_type, root)
#define BYTES \
  is_at_root_side(root) ? 0 : in != MPI_IN_PLACE ? bytes_of(in_type, in_count) : bytes_of(out_type, counts[on.rank])
SUMAC_PMPI_ALL_FORMS(Gatherv, gatherv, SUMAC_COLL_GATHERV)
