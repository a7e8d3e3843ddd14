#include "bindings/pmpi/plan.hpp"

#include <algorithm>

#include "bindings/pmpi/communicator.hpp"

namespace sumac::pmpi {

char* plan_row(Plan& plan, sumac_side& side, const void* user, std::size_t count, const Type& type) {
  if (count > 1 ? type.is_flat : type.is_dense) [[likely]]
    return data_at(user, type);
  const auto layout = layout_of(type);
  sumac_plan_pack_row(&plan, &side, user, count, &layout);
  return nullptr;
}

char* plan_blocks(Plan& plan, sumac_side& side, sumac_blocks_t& at, const void* user, const sumac_blocks_t& sized,
                  int blocks, const Type& type) {
  at = {sized.counts, sized.displacements, type.size, sized.is_wide};
  if (type.is_flat) [[likely]]
    return data_at(user, type);
  const auto layout = layout_of(type);
  sumac_plan_pack_blocks(&plan, &side, user, &sized, blocks, &layout);
  return nullptr;
}

Planned plan_reduction(const Communicator& communicator, Plan& plan, const void* in, void* out, MPI_Count signed_count,
                       MPI_Datatype handle, MPI_Op op) {
  const Type* type = find_type(handle);
  if (type == nullptr || signed_count < 0) return Planned::wrong;
  const auto count = static_cast<std::size_t>(signed_count);
  const Fold* fold = find_fold(*type, op);
  if (fold == nullptr) {
    bool commutes = true;
    const sumac_team_t* team = communicator.ordinary.team;
    if (!make_fold(*type, op, plan.own, commutes) || (!commutes && sumac_team_keeps_order(team) == 0) ||
        plan.own.mpi_bytes > sumac_team_element_bytes_max(team, plan.call.coll))
      return Planned::not_ours;
    fold = &plan.own;
  }
  plan.call.fold = &fold->fold;
  plan.call.bytes = count * fold->mpi_bytes;
  if (count == 0) return Planned::nothing;
  const void* from = in == MPI_IN_PLACE ? out : in;
  if (fold == &plan.own && type->has_gaps) {
    const auto layout = layout_of(*type);
    const bool to_all = plan.call.coll == SUMAC_COLL_REDUCE_SCATTER_BLOCK;
    sumac_plan_pack_with_gaps(&plan, from, to_all ? count * static_cast<std::size_t>(communicator.size) : count, out,
                              count, &layout);
    return Planned::run;
  }
  const std::ptrdiff_t offset = fold == &plan.own ? type->true_lb : 0;
  plan.call.in = static_cast<const char*>(from) + offset;
  plan.call.out = out == nullptr ? nullptr : static_cast<char*>(out) + offset;
  return Planned::run;
}

Planned plan_equal_blocks(const Communicator& communicator, Plan& plan, const void* in, MPI_Count in_count,
                          MPI_Datatype in_type, std::size_t sent, void* out, MPI_Count out_count, MPI_Datatype out_type,
                          std::size_t own) {
  const Type* receives = find_type(out_type);
  if (receives == nullptr || out_count < 0) return Planned::wrong;
  const auto count = static_cast<std::size_t>(out_count), blocks = static_cast<std::size_t>(communicator.size);
  const std::size_t bytes = count * receives->size;
  plan.call.bytes = bytes;
  if (bytes == 0) return Planned::nothing;
  plan.call.out = plan_row(plan, plan.receive, out, blocks * count, *receives);
  if (in != MPI_IN_PLACE) {
    const Type* sends = find_type(in_type);
    if (sends == nullptr || in_count < 0) return Planned::wrong;
    plan.call.in = plan_row(plan, plan.send, in, sent * static_cast<std::size_t>(in_count), *sends);
    return Planned::run;
  }
  sumac_plan_in_place(&plan, own, sent * count);
  return Planned::run;
}

bool is_rank(const Communicator& communicator, int root) { return root >= 0 && root < communicator.size; }

namespace {

template <class Count>
bool all_positive(const Count* counts, int size) {
  return std::all_of(counts, counts + size, [](Count count) { return count >= 0; });
}

}  // namespace

bool sized_of(const Communicator& communicator, const int* counts, const int* displacements, sumac_blocks_t& sized) {
  sized = {counts, displacements, 0, 0};
  return counts != nullptr && displacements != nullptr && all_positive(counts, communicator.size);
}

bool sized_of(const Communicator& communicator, const MPI_Count* counts, const MPI_Aint* displacements,
              sumac_blocks_t& sized) {
  static_assert(sizeof(MPI_Count) == sizeof(std::int64_t) && sizeof(MPI_Aint) == sizeof(std::int64_t));
  sized = {counts, displacements, 0, 1};
  return counts != nullptr && displacements != nullptr && all_positive(counts, communicator.size);
}

}  // namespace sumac::pmpi
