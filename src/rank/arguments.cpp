// The plans follow the table of collectives (src/coll): what a rank gives and keeps says which arguments count, and how the
// data lie.
#include "rank/arguments.h"

#include "coll/collective.hpp"
#include "rank/profile.h"
#include "rank/record.h"

namespace {

using sumac::coll::Kind;
using sumac::coll::Share;

/// A plan under way.
struct Making {
  const sumac_record& record;
  sumac_plan& plan;
  const sumac_arguments& arguments;
  const sumac::coll::Collective& row;
  sumac_layout in_room, out_room;  // Nothing clears them: a call that sets what it reads is quicker.
  const sumac_layout *in_type = nullptr, *out_type = nullptr;

  Making(const sumac_record& of, sumac_plan& to, const sumac_arguments& given, const sumac::coll::Collective& its_row)
      : record(of), plan(to), arguments(given), row(its_row) {}

  std::size_t size() const { return static_cast<std::size_t>(record.size); }
  bool is_root() const { return arguments.root == record.rank; }
  bool in_place() const { return arguments.in == record.runtime->in_place; }

  /// Looks the types up that count; false: one of them, or its count, is wrong.
  bool sends() {
    in_type = record.runtime->layout(arguments.in_type, &in_room);
    return in_type != nullptr && arguments.in_count >= 0;
  }
  bool receives() {
    out_type = record.runtime->layout(arguments.out_type, &out_room);
    return out_type != nullptr && arguments.out_count >= 0;
  }
};

char* data_at(const void* buffer, const sumac_layout& type) {
  return static_cast<char*>(const_cast<void*>(buffer)) + type.true_lb;
}

/// `count` elements that follow each other. Returns the address of the data; null: the side is packed.
char* row(sumac_plan& plan, sumac_side& side, const void* user, std::size_t count, const sumac_layout& type) {
  if (count > 1 ? type.is_flat : type.is_dense) [[likely]]
    return data_at(user, type);
  sumac_plan_pack_row(&plan, &side, user, count, &type);
  return nullptr;
}

/// Blocks with counts and displacements of their own. Returns the same.
char* blocks(const Making& making, sumac_side& side, sumac_blocks_t& at, const void* user, const sumac_blocks_t& given,
             const sumac_layout& type) {
  at = {given.counts, given.displacements, type.size, given.is_wide};
  if (type.is_flat) [[likely]]
    return data_at(user, type);
  sumac_plan_pack_blocks(&making.plan, &side, user, &given, making.record.size, &type);
  return nullptr;
}

bool are_legal(const sumac_blocks_t& blocks, int size) {
  if (blocks.counts == nullptr || blocks.displacements == nullptr) return false;
  for (int i = 0; i < size; ++i)
    if (sumac_block_count(&blocks, i) < 0) return false;
  return true;
}

std::size_t bytes_of(std::int64_t count, const sumac_layout& type) {
  return static_cast<std::size_t>(count) * type.size;
}

/// All blocks are packed and returned in place: those of others are overwritten.
sumac_planned sized_in_place(sumac_plan& plan) {
  plan.shared = SUMAC_IN_IS_OUT;
  plan.call.in = plan.call.out;
  if (plan.receive.is_packed) plan.send = plan.receive;
  return SUMAC_PLANNED;
}

/// In place at the root of a scatter, a team's call has the root's blocks on both sides.
sumac_planned scatter_in_place(sumac_plan& plan) {
  plan.shared = SUMAC_OUT_IS_IN;
  plan.call.out = const_cast<void*>(plan.call.in);
  return SUMAC_PLANNED;
}

/// The elements that a rank gives to a reduction, and those that it keeps.
struct Elements {
  std::size_t given = 0, kept = 0;
};
/// Returns false if the counts are wrong.
bool count_elements(const Making& making, Elements& elements) {
  const auto count = static_cast<std::size_t>(making.arguments.out_count);
  elements = {making.row.gives == Share::blocks ? count * making.size() : count, count};
  if (making.row.keeps != Share::own_of_sized) return true;
  if (making.arguments.out_blocks.counts == nullptr) return false;
  for (int i = 0; i < making.record.size; ++i) {
    const std::int64_t block = sumac_block_count(&making.arguments.out_blocks, i);
    if (block < 0) return false;
    elements.given += static_cast<std::size_t>(block);
    if (i == making.record.rank) elements.kept = static_cast<std::size_t>(block);
  }
  return true;
}

sumac_planned plan_reduction(Making& making) {
  Elements elements;
  if (!making.receives() || !count_elements(making, elements)) return SUMAC_PLANNED_WRONG;
  sumac_plan& plan = making.plan;
  const sumac_layout& type = *making.out_type;
  const sumac_pair* pair =
      sumac_pair_of(&making.record, &plan.own, static_cast<sumac_coll>(plan.call.coll), &type, making.arguments.op);
  if (pair == nullptr) return SUMAC_PLANNED_NOT_OURS;
  const bool gives_vector = making.row.gives == Share::vector;
  plan.call.fold = &pair->fold;
  plan.call.bytes = (gives_vector ? elements.given : elements.kept) * pair->mpi_bytes;
  if (elements.given == 0) return SUMAC_PLANNED_NOTHING;
  if (making.row.keeps == Share::own_of_sized)
    plan.call.in_blocks = {making.arguments.out_blocks.counts, nullptr, pair->mpi_bytes,
                           making.arguments.out_blocks.is_wide};
  const void* from = making.in_place() ? making.arguments.out : making.arguments.in;
  void* to = making.row.has_root && !making.is_root() ? nullptr : making.arguments.out;
  // A rank that gets nothing may have any buffer.
  if (elements.kept == 0 || keeps_nothing(making.row.kind, making.record.rank)) {
    to = nullptr;
    plan.call.out = const_cast<char*>(sumac_plan_no_data);
  }
  const bool is_own = pair == &plan.own;
  // Elements without holes are used where they lie, whatever the order of their parts is: only the user's function looks
  // into them.
  if (is_own && (type.extent != static_cast<std::ptrdiff_t>(type.size) || type.true_extent != type.extent)) {
    sumac_plan_pack_with_gaps(&plan, from, elements.given, to, elements.kept, &type);
    return SUMAC_PLANNED;
  }
  const std::ptrdiff_t offset = is_own ? type.true_lb : 0;
  plan.call.in = static_cast<const char*>(from) + offset;
  if (to != nullptr) plan.call.out = static_cast<char*>(to) + offset;
  return SUMAC_PLANNED;
}

sumac_planned plan_bcast(Making& making) {
  if (!making.receives()) return SUMAC_PLANNED_WRONG;
  sumac_plan& plan = making.plan;
  plan.call.bytes = bytes_of(making.arguments.out_count, *making.out_type);
  if (plan.call.bytes == 0) return SUMAC_PLANNED_NOTHING;
  if (making.is_root()) plan.shared = SUMAC_OUT_IS_IN;
  plan.call.out = row(plan, making.is_root() ? plan.send : plan.receive, making.arguments.out,
                      static_cast<std::size_t>(making.arguments.out_count), *making.out_type);
  return SUMAC_PLANNED;
}

/// Equal blocks at all ranks, or at the root that gets them.
sumac_planned plan_equal_blocks(Making& making) {
  const sumac_arguments& arguments = making.arguments;
  if (!making.receives()) return SUMAC_PLANNED_WRONG;
  sumac_plan& plan = making.plan;
  plan.call.bytes = bytes_of(arguments.out_count, *making.out_type);
  if (plan.call.bytes == 0) return SUMAC_PLANNED_NOTHING;
  const auto count = static_cast<std::size_t>(arguments.out_count);
  const bool to_all = making.row.gives == Share::blocks;
  const std::size_t sent = to_all ? making.size() : 1;
  plan.call.out = row(plan, plan.receive, arguments.out, making.size() * count, *making.out_type);
  if (making.in_place()) {
    sumac_plan_in_place(&plan, to_all ? 0 : static_cast<std::size_t>(making.record.rank), sent * count);
    return SUMAC_PLANNED;
  }
  if (!making.sends()) return SUMAC_PLANNED_WRONG;
  plan.call.in =
      row(plan, plan.send, arguments.in, sent * static_cast<std::size_t>(arguments.in_count), *making.in_type);
  return SUMAC_PLANNED;
}

sumac_planned plan_gather(Making& making) {
  if (making.is_root()) return plan_equal_blocks(making);
  if (!making.sends()) return SUMAC_PLANNED_WRONG;
  sumac_plan& plan = making.plan;
  plan.call.bytes = bytes_of(making.arguments.in_count, *making.in_type);
  if (plan.call.bytes == 0) return SUMAC_PLANNED_NOTHING;
  plan.call.in =
      row(plan, plan.send, making.arguments.in, static_cast<std::size_t>(making.arguments.in_count), *making.in_type);
  return SUMAC_PLANNED;
}

sumac_planned plan_scatter(Making& making) {
  const sumac_arguments& arguments = making.arguments;
  const bool is_root = making.is_root(), in_place = is_root && arguments.out == making.record.runtime->in_place;
  if ((is_root && !making.sends()) || (!in_place && !making.receives())) return SUMAC_PLANNED_WRONG;
  sumac_plan& plan = making.plan;
  plan.call.bytes =
      is_root ? bytes_of(arguments.in_count, *making.in_type) : bytes_of(arguments.out_count, *making.out_type);
  if (plan.call.bytes == 0) return SUMAC_PLANNED_NOTHING;
  if (is_root)
    plan.call.in = row(plan, plan.send, arguments.in, making.size() * static_cast<std::size_t>(arguments.in_count),
                       *making.in_type);
  if (in_place) return scatter_in_place(plan);
  plan.call.out =
      row(plan, plan.receive, arguments.out, static_cast<std::size_t>(arguments.out_count), *making.out_type);
  return SUMAC_PLANNED;
}

/// Its own block at a rank that gives no more than that: MPI lets it give any address for no data.
sumac_planned plan_own_block(Making& making, std::size_t bytes) {
  if (!making.sends()) return SUMAC_PLANNED_WRONG;
  making.plan.call.in = bytes == 0 ? sumac_plan_no_data
                                   : row(making.plan, making.plan.send, making.arguments.in,
                                         static_cast<std::size_t>(making.arguments.in_count), *making.in_type);
  return SUMAC_PLANNED;
}

/// Receives by out_blocks; false: they are wrong.
bool receive_blocks(Making& making) {
  const sumac_arguments& arguments = making.arguments;
  if (!making.receives() || !are_legal(arguments.out_blocks, making.record.size)) return false;
  sumac_call_t& call = making.plan.call;
  call.out =
      blocks(making, making.plan.receive, call.out_blocks, arguments.out, arguments.out_blocks, *making.out_type);
  return true;
}
bool send_blocks(Making& making) {
  const sumac_arguments& arguments = making.arguments;
  if (!making.sends() || !are_legal(arguments.in_blocks, making.record.size)) return false;
  sumac_call_t& call = making.plan.call;
  call.in = blocks(making, making.plan.send, call.in_blocks, arguments.in, arguments.in_blocks, *making.in_type);
  return true;
}

sumac_planned plan_allgatherv(Making& making) {
  if (!receive_blocks(making)) return SUMAC_PLANNED_WRONG;
  if (making.in_place()) return sized_in_place(making.plan);
  return plan_own_block(
      making, bytes_of(sumac_block_count(&making.arguments.out_blocks, making.record.rank), *making.out_type));
}

sumac_planned plan_alltoallv(Making& making) {
  if (!receive_blocks(making)) return SUMAC_PLANNED_WRONG;
  sumac_call_t& call = making.plan.call;
  if (making.in_place()) {
    call.in_blocks = call.out_blocks;
    return sized_in_place(making.plan);
  }
  if (!send_blocks(making)) return SUMAC_PLANNED_WRONG;
  if (!making.plan.send.is_packed && (call.in == nullptr || call.in == call.out))
    call.in = sumac_plan_no_data;  // Legal only if this rank sends nothing.
  return SUMAC_PLANNED;
}

sumac_planned plan_gatherv(Making& making) {
  sumac_call_t& call = making.plan.call;
  if (making.is_root()) {
    if (!receive_blocks(making)) return SUMAC_PLANNED_WRONG;
    call.bytes = bytes_of(sumac_block_count(&making.arguments.out_blocks, making.arguments.root), *making.out_type);
    if (making.in_place()) return sized_in_place(making.plan);
  } else {
    if (!making.sends()) return SUMAC_PLANNED_WRONG;
    call.bytes = bytes_of(making.arguments.in_count, *making.in_type);
  }
  return plan_own_block(making, call.bytes);
}

sumac_planned plan_scatterv(Making& making) {
  const sumac_arguments& arguments = making.arguments;
  sumac_plan& plan = making.plan;
  if (making.is_root()) {
    if (!send_blocks(making)) return SUMAC_PLANNED_WRONG;
    plan.call.bytes = bytes_of(sumac_block_count(&arguments.in_blocks, arguments.root), *making.in_type);
    if (arguments.out == making.record.runtime->in_place) return scatter_in_place(plan);
  }
  if (!making.receives()) return SUMAC_PLANNED_WRONG;
  if (!making.is_root()) plan.call.bytes = bytes_of(arguments.out_count, *making.out_type);
  if (plan.call.bytes != 0)
    plan.call.out =
        row(plan, plan.receive, arguments.out, static_cast<std::size_t>(arguments.out_count), *making.out_type);
  return SUMAC_PLANNED;
}

// ---- the bytes of a call ----

std::uint64_t bytes_of(const sumac_runtime& runtime, std::uintptr_t type, std::int64_t count) {
  if (count <= 0) return 0;
  sumac_layout room;
  const sumac_layout* known = runtime.layout(type, &room);
  return known == nullptr ? 0 : known->size * static_cast<std::uint64_t>(count);
}

std::uintptr_t handle_at(const sumac_runtime& runtime, const void* types, int i) {
  return runtime.handle_bytes == sizeof(std::uint32_t) ? static_cast<const std::uint32_t*>(types)[i]
                                                       : static_cast<const std::uintptr_t*>(types)[i];
}

/// One side of a call: `count` elements, or blocks with a count for each rank.
struct Side {
  const sumac_runtime& runtime;
  std::uintptr_t type;
  const void* types;  ///< Null: all blocks have one type.
  std::int64_t count;
  const sumac_blocks_t& blocks;

  std::uint64_t at(int rank) const {
    if (blocks.counts == nullptr) return bytes_of(runtime, type, count);
    return bytes_of(runtime, types == nullptr ? type : handle_at(runtime, types, rank),
                    sumac_block_count(&blocks, rank));
  }
  std::uint64_t of_all(int ranks) const {
    std::uint64_t bytes = 0;
    for (int i = 0; i < ranks; ++i) bytes += at(i);
    return bytes;
  }
};

}  // namespace

sumac_planned sumac_plan_make(const sumac_record* record, sumac_plan* plan, sumac_coll coll,
                              const sumac_arguments* arguments) {
  const auto kind = static_cast<Kind>(coll);
  Making making(*record, *plan, *arguments, sumac::coll::collective(kind));
  sumac_plan_begin(plan, coll);
  if (making.row.has_root) {
    if (arguments->root < 0 || arguments->root >= record->size) return SUMAC_PLANNED_WRONG;
    plan->call.root = arguments->root;
  }
  if (making.row.reduces) return plan_reduction(making);
  switch (kind) {
    case Kind::bcast: return plan_bcast(making);
    case Kind::allgather:
    case Kind::alltoall: return plan_equal_blocks(making);
    case Kind::gather: return plan_gather(making);
    case Kind::scatter: return plan_scatter(making);
    case Kind::allgatherv: return plan_allgatherv(making);
    case Kind::alltoallv: return plan_alltoallv(making);
    case Kind::gatherv: return plan_gatherv(making);
    case Kind::scatterv: return plan_scatterv(making);
    default: return SUMAC_PLANNED;  // A barrier.
  }
}

std::uint64_t sumac_bytes_of(const sumac_runtime* runtime, int coll, const sumac_shape* on,
                             const sumac_arguments* arguments) {
  const Side in{*runtime, arguments->in_type, arguments->in_types, arguments->in_count, arguments->in_blocks},
      out{*runtime, arguments->out_type, arguments->out_types, arguments->out_count, arguments->out_blocks};
  const bool in_place = arguments->in == runtime->in_place;
  switch (coll) {
    case SUMAC_COLL_BARRIER: return 0;
    case SUMAC_COLL_REDUCE:
    case SUMAC_COLL_BCAST: return arguments->root == runtime->proc_null ? 0 : out.at(on->rank);
    case SUMAC_COLL_REDUCE_SCATTER_BLOCK:
    case SUMAC_COLL_REDUCE_SCATTER: return out.of_all(on->size);
    // In an intercommunicator the root's own side has no data at its other ranks.
    case SUMAC_COLL_GATHER:
    case SUMAC_COLL_GATHERV:
      if (arguments->root == runtime->root || arguments->root == runtime->proc_null) return 0;
      [[fallthrough]];
    case SUMAC_COLL_ALLGATHER:
    case SUMAC_COLL_ALLGATHERV: return (in_place ? out : in).at(on->rank);
    case SUMAC_COLL_SCATTER:
    case SUMAC_COLL_SCATTERV:
      if (arguments->root == runtime->root || arguments->root == runtime->proc_null) return 0;
      return (arguments->out == runtime->in_place ? in : out).at(on->rank);
    case SUMAC_COLL_ALLTOALL:
    case SUMAC_COLL_ALLTOALLV:
    case SUMAC_PROFILE_ALLTOALLW: return (in_place ? out : in).of_all(on->peers);
    default: return out.at(on->rank);  // A reduction of one vector.
  }
}
