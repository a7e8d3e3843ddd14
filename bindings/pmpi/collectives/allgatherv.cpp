// MPI_Allgatherv in its forms.
#include "bindings/pmpi/entry.hpp"
#include "bindings/pmpi/forms.hpp"

namespace sumac::pmpi {
namespace {

template <class Count, class Displacement>
Planned plan_allgatherv(const Communicator& team, Plan& plan, const void* in, Count in_count, MPI_Datatype in_type,
                        void* out, const Count* counts, const Displacement* displacements, MPI_Datatype out_type) {
  const Type* receives = find_type(out_type);
  sumac_blocks_t sized;
  if (receives == nullptr || !sized_of(team, counts, displacements, sized)) return Planned::wrong;
  const std::size_t own = static_cast<std::size_t>(sumac_block_count(&sized, team.rank)) * receives->size;
  plan.call.out = plan_blocks(plan, plan.receive, plan.call.out_blocks, out, sized, team.size, *receives);
  if (in != MPI_IN_PLACE) {
    const Type* sends = find_type(in_type);
    if (sends == nullptr || in_count < 0) return Planned::wrong;
    plan.call.in =
        own == 0 ? sumac_plan_no_data : plan_row(plan, plan.send, in, static_cast<std::size_t>(in_count), *sends);
    return Planned::run;
  }
  plan.shared = SUMAC_IN_IS_OUT;
  plan.call.in = plan.call.out;
  if (plan.receive.is_packed) plan.send = plan.receive;  // All blocks; those of others are overwritten.
  return Planned::run;
}

}  // namespace
}  // namespace sumac::pmpi

#define PARAMETERS(Count, Displacement)                                                 \
  const void *in, Count in_count, MPI_Datatype in_type, void *out, const Count *counts, \
      const Displacement *displacements, MPI_Datatype out_type
#define ARGUMENTS in, in_count, in_type, out, counts, displacements, out_type
#define PLAN plan_allgatherv(team, plan, in, in_count, in_type, out, counts, displacements, out_type)
#define BYTES in != MPI_IN_PLACE ? bytes_of(in_type, in_count) : bytes_of(out_type, counts[on.rank])
SUMAC_PMPI_ALL_FORMS(Allgatherv, allgatherv, SUMAC_COLL_ALLGATHERV)
