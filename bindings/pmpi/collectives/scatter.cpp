// MPI_Scatter in its forms. In place, a team's call has the root's blocks on both sides.
#include "bindings/pmpi/entry.hpp"
#include "bindings/pmpi/forms.hpp"

namespace sumac::pmpi {
namespace {

Planned plan_scatter(const Communicator& team, Plan& plan, const void* in, MPI_Count in_count, MPI_Datatype in_type,
                     void* out, MPI_Count out_count, MPI_Datatype out_type, int root) {
  if (!is_rank(team, root)) return Planned::wrong;
  const bool is_root = root == team.rank, in_place = is_root && out == MPI_IN_PLACE;
  const Type *sends = is_root ? find_type(in_type) : nullptr, *receives = in_place ? sends : find_type(out_type);
  if ((is_root && (sends == nullptr || in_count < 0)) || receives == nullptr || (!in_place && out_count < 0))
    return Planned::wrong;
  auto& call = plan.call;
  call.root = root;
  call.bytes =
      is_root ? static_cast<std::size_t>(in_count) * sends->size : static_cast<std::size_t>(out_count) * receives->size;
  if (call.bytes == 0) return Planned::nothing;
  if (is_root)
    call.in =
        plan_row(plan, plan.send, in, static_cast<std::size_t>(team.size) * static_cast<std::size_t>(in_count), *sends);
  if (in_place) {
    plan.shared = SUMAC_OUT_IS_IN;
    call.out = const_cast<void*>(call.in);
    return Planned::run;
  }
  call.out = plan_row(plan, plan.receive, out, static_cast<std::size_t>(out_count), *receives);
  return Planned::run;
}

}  // namespace
}  // namespace sumac::pmpi

#define PARAMETERS(Count, Displacement) \
  const void *in, Count in_count, MPI_Datatype in_type, void *out, Count out_count, MPI_Datatype out_type, int root
#define ARGUMENTS in, in_count, in_type, out, out_count, out_type, root
#define PLAN plan_scatter(team, plan, in, in_count, in_type, out, out_count, out_type, root)
#define BYTES \
  is_at_root_side(root) ? 0 : out != MPI_IN_PLACE ? bytes_of(out_type, out_count) : bytes_of(in_type, in_count)
SUMAC_PMPI_ALL_FORMS(Scatter, scatter, SUMAC_COLL_SCATTER)
