// MPI_Scatterv in its forms. In place, a team's call has the root's blocks on both sides.
#include "bindings/pmpi/entry.hpp"
#include "bindings/pmpi/forms.hpp"

namespace sumac::pmpi {
namespace {

template <class Count, class Displacement>
Planned plan_scatterv(const Communicator& team, Plan& plan, const void* in, const Count* counts,
                      const Displacement* displacements, MPI_Datatype in_type, void* out, Count out_count,
                      MPI_Datatype out_type, int root) {
  if (!is_rank(team, root)) return Planned::wrong;
  auto& call = plan.call;
  call.root = root;
  if (root == team.rank) {
    const Type* sends = find_type(in_type);
    sumac_blocks_t sized;
    if (sends == nullptr || !sized_of(team, counts, displacements, sized)) return Planned::wrong;
    call.in = plan_blocks(plan, plan.send, call.in_blocks, in, sized, team.size, *sends);
    call.bytes = static_cast<std::size_t>(sumac_block_count(&sized, root)) * sends->size;
    if (out == MPI_IN_PLACE) {
      plan.shared = SUMAC_OUT_IS_IN;
      call.out = const_cast<void*>(call.in);
      return Planned::run;
    }
  }
  const Type* receives = find_type(out_type);
  if (receives == nullptr || out_count < 0) return Planned::wrong;
  if (root != team.rank) call.bytes = static_cast<std::size_t>(out_count) * receives->size;
  if (call.bytes != 0) call.out = plan_row(plan, plan.receive, out, static_cast<std::size_t>(out_count), *receives);
  return Planned::run;
}

}  // namespace
}  // namespace sumac::pmpi

#define PARAMETERS(Count, Displacement)                                                                    \
  const void *in, const Count *counts, const Displacement *displacements, MPI_Datatype in_type, void *out, \
      Count out_count, MPI_Datatype out_type, int root
#define ARGUMENTS in, counts, displacements, in_type, out, out_count, out_type, root
#define PLAN plan_scatterv(team, plan, in, counts, displacements, in_type, out, out_count, out_type, root)
#define BYTES \
  is_at_root_side(root) ? 0 : out != MPI_IN_PLACE ? bytes_of(out_type, out_count) : bytes_of(in_type, counts[on.rank])
SUMAC_PMPI_ALL_FORMS(Scatterv, scatterv, SUMAC_COLL_SCATTERV)
