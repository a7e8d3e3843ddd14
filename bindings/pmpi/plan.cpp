#include "bindings/pmpi/plan.hpp"

#include <algorithm>
#include <cstring>

#include "bindings/pmpi/communicator.hpp"

namespace sumac::pmpi {

const char kNoData[1] = {};

namespace {

// Each part of the packed memory begins on a cache line of its own.
constexpr std::size_t kLine = 64;
std::size_t rounded(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

std::size_t reserve(Plan& plan, std::size_t bytes) {
  const std::size_t at = plan.memory_bytes;
  plan.memory_bytes = at + rounded(std::max<std::size_t>(bytes, 1));
  return at;
}

/// The counts and displacements of packed blocks.
std::size_t numbers_bytes(int blocks) { return 2 * sizeof(std::int64_t) * static_cast<std::size_t>(blocks); }

char* packed(const Plan& plan, const Side& side) {
  char* begin = static_cast<char*>(plan.memory) + side.packed_at;
  return side.sized.counts == nullptr ? begin : begin + rounded(numbers_bytes(side.blocks));
}

/// Returns where a side's packed data begins. Blocks of different lengths follow each other there, so their
/// displacements are ours, and may be larger than those of the program.
char* lay_out(const Plan& plan, const Side& side, sumac_blocks_t& at) {
  if (side.sized.counts != nullptr) {
    auto* counts = reinterpret_cast<std::int64_t*>(static_cast<char*>(plan.memory) + side.packed_at);
    std::int64_t *displacements = counts + side.blocks, next = 0;
    for (int i = 0; i < side.blocks; ++i) {
      displacements[i] = next;
      next += counts[i] = side.sized.count(i);
    }
    at = {counts, displacements, at.unit, true};
  }
  return packed(plan, side);
}

template <class Convert>
int each_block(const Plan& plan, const Side& side, const Convert& convert) {
  char* ours = packed(plan, side);
  if (side.sized.counts == nullptr) return convert(side.user, side.count, ours);
  for (int i = 0; i < side.blocks; ++i) {
    const auto count = static_cast<std::size_t>(side.sized.count(i));
    const int rc = convert(side.user + side.sized.displacement(i) * side.type.extent, count, ours);
    if (rc != MPI_SUCCESS) return rc;
    ours += count * side.type.size;
  }
  return MPI_SUCCESS;
}

// ---- a user's operation on a type with gaps: elements keep their distance ----

/// The bytes from the first element's data to the end of the last one's.
std::size_t reach(const Plan& plan) {
  return (plan.send.count - 1) * plan.fold.mpi_bytes + static_cast<std::size_t>(plan.fold.true_extent);
}

/// Copies the data alone: what lies in the gaps of the user's buffer is the user's.
int return_with_gaps(const Plan& plan) {
  const Side& side = plan.receive;
  std::vector<char> bytes(side.count * side.type.size);
  const int rc = pack(packed(plan, side) - plan.fold.true_lb, side.count, side.type, bytes.data());
  return rc != MPI_SUCCESS ? rc : unpack(bytes.data(), side.user, side.count, side.type);
}

Planned plan_with_gaps(Plan& plan, const void* in, void* out, const Type& type, std::size_t gives, std::size_t keeps) {
  plan.is_reduction_with_gaps = true;
  const auto side = [&](Side& at, const void* user, std::size_t elements) {
    at = {.user = static_cast<char*>(const_cast<void*>(user)),
          .type = layout_of(type),
          .count = elements,
          .sized = {},
          .blocks = 0,
          .packed_at = reserve(plan, elements * plan.fold.mpi_bytes),
          .is_packed = true};
  };
  side(plan.send, in, gives);
  if (out != nullptr) side(plan.receive, out, keeps);
  return Planned::run;
}

}  // namespace

char* plan_row(Plan& plan, Side& side, const void* user, std::size_t count, const Type& type) {
  if (count > 1 ? type.is_flat : type.is_dense) [[likely]]
    return data_at(user, type);
  side = {.user = static_cast<char*>(const_cast<void*>(user)),
          .type = layout_of(type),
          .count = count,
          .sized = {},
          .blocks = 0,
          .packed_at = reserve(plan, count * type.size),
          .is_packed = true};
  return nullptr;
}

char* plan_blocks(Plan& plan, Side& side, sumac_blocks_t& at, const void* user, Sized sized, int blocks,
                  const Type& type) {
  at = sized.blocks(type.size);
  if (type.is_flat) [[likely]]
    return data_at(user, type);
  std::size_t elements = 0;
  for (int i = 0; i < blocks; ++i) elements += static_cast<std::size_t>(sized.count(i));
  side = {.user = static_cast<char*>(const_cast<void*>(user)),
          .type = layout_of(type),
          .count = elements,
          .sized = sized,
          .blocks = blocks,
          .packed_at = reserve(plan, rounded(numbers_bytes(blocks)) + elements * type.size),
          .is_packed = true};
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
    if (!make_fold(*type, op, plan.fold, commutes) || (!commutes && sumac_team_keeps_order(team) == 0) ||
        plan.fold.mpi_bytes > sumac_team_element_bytes_max(team, plan.call.coll))
      return Planned::not_ours;
    fold = &plan.fold;
  }
  plan.call.fold = &fold->fold;
  plan.call.bytes = count * fold->mpi_bytes;
  if (count == 0) return Planned::nothing;
  const void* from = in == MPI_IN_PLACE ? out : in;
  if (fold == &plan.fold && type->has_gaps) {
    const bool to_all = plan.call.coll == SUMAC_COLL_REDUCE_SCATTER_BLOCK;
    return plan_with_gaps(plan, from, out, *type, to_all ? count * static_cast<std::size_t>(communicator.size) : count,
                          count);
  }
  const std::ptrdiff_t offset = fold == &plan.fold ? type->true_lb : 0;
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
  plan.shared = Plan::Shared::in_is_out;
  plan.call.in = plan.call.out;
  if (plan.receive.is_packed) {  // Data to send is packed into the memory that receives.
    plan.send = plan.receive;
    plan.send.user += static_cast<std::ptrdiff_t>(own * count) * receives->extent;
    plan.send.count = sent * count;
    plan.send.packed_at += own * bytes;
  }
  return Planned::run;
}

bool is_rank(const Communicator& communicator, int root) { return root >= 0 && root < communicator.size; }

namespace {

template <class Count>
bool all_positive(const Count* counts, int size) {
  return std::all_of(counts, counts + size, [](Count count) { return count >= 0; });
}

}  // namespace

bool sized_of(const Communicator& communicator, const int* counts, const int* displacements, Sized& sized) {
  sized = {counts, displacements, false};
  return counts != nullptr && displacements != nullptr && all_positive(counts, communicator.size);
}

bool sized_of(const Communicator& communicator, const MPI_Count* counts, const MPI_Aint* displacements, Sized& sized) {
  static_assert(sizeof(MPI_Count) == sizeof(std::int64_t) && sizeof(MPI_Aint) == sizeof(std::int64_t));
  sized = {counts, displacements, true};
  return counts != nullptr && displacements != nullptr && all_positive(counts, communicator.size);
}

int Plan::pack_into(void* own_memory) {
  memory = own_memory;
  if (receive.is_packed) call.out = lay_out(*this, receive, call.out_blocks);
  if (send.is_packed && shared != Shared::in_is_out) call.in = lay_out(*this, send, call.in_blocks);
  if (shared == Shared::in_is_out) {
    call.in = call.out;
    call.in_blocks = call.out_blocks;
  } else if (shared == Shared::out_is_in) {
    call.out = const_cast<void*>(call.in);
  }
  return pack_again();
}

int Plan::pack_again() const {
  if (!send.is_packed) return MPI_SUCCESS;
  if (is_reduction_with_gaps) {
    std::memcpy(packed(*this, send), send.user + fold.true_lb, reach(*this));
    return MPI_SUCCESS;
  }
  return each_block(*this, send,
                    [&](char* user, std::size_t count, char* ours) { return pack(user, count, send.type, ours); });
}

int Plan::unpack() const {
  if (!receive.is_packed) return MPI_SUCCESS;
  if (is_reduction_with_gaps) return return_with_gaps(*this);
  return each_block(*this, receive, [&](char* user, std::size_t count, char* ours) {
    return pmpi::unpack(ours, user, count, receive.type);
  });
}

}  // namespace sumac::pmpi
