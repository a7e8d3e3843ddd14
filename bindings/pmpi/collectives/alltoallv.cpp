// MPI_Alltoallv in its forms.
#include "bindings/pmpi/entry.hpp"
#include "bindings/pmpi/forms.hpp"

namespace sumac::pmpi {
namespace {

template <class Count, class Displacement>
Planned plan_alltoallv(const Communicator& team, Plan& plan, const void* in, const Count* in_counts,
                       const Displacement* in_displacements, MPI_Datatype in_type, void* out, const Count* out_counts,
                       const Displacement* out_displacements, MPI_Datatype out_type) {
  const Type* receives = find_type(out_type);
  sumac_blocks_t sized;
  if (receives == nullptr || !sized_of(team, out_counts, out_displacements, sized)) return Planned::wrong;
  auto& call = plan.call;
  call.out = plan_blocks(plan, plan.receive, call.out_blocks, out, sized, team.size, *receives);
  if (in == MPI_IN_PLACE) {
    plan.shared = SUMAC_IN_IS_OUT;
    call.in = call.out;
    call.in_blocks = call.out_blocks;
    if (plan.receive.is_packed) plan.send = plan.receive;
    return Planned::run;
  }
  const Type* sends = find_type(in_type);
  if (sends == nullptr || !sized_of(team, in_counts, in_displacements, sized)) return Planned::wrong;
  call.in = plan_blocks(plan, plan.send, call.in_blocks, in, sized, team.size, *sends);
  if (!plan.send.is_packed && (call.in == nullptr || call.in == call.out))
    call.in = sumac_plan_no_data;  // Legal only if this rank sends nothing.
  return Planned::run;
}

}  // namespace
}  // namespace sumac::pmpi

#define PARAMETERS(Count, Displacement)                                                                          \
  const void *in, const Count *in_counts, const Displacement *in_displacements, MPI_Datatype in_type, void *out, \
      const Count *out_counts, const Displacement *out_displacements, MPI_Datatype out_type
#define ARGUMENTS in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type
#define PLAN \
  plan_alltoallv(team, plan, in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type)
#define BYTES \
  in != MPI_IN_PLACE ? bytes_of_all(in_type, in_counts, on.peers) : bytes_of_all(out_type, out_counts, on.peers)
SUMAC_PMPI_ALL_FORMS(Alltoallv, alltoallv, SUMAC_COLL_ALLTOALLV)
