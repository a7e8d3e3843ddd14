#include "tests/host/exercise.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

namespace sumac::tests {
namespace {

bool is_v_form(Coll coll) { return coll != Coll::barrier && !coll::has_size(coll); }

Layout::Shape draw_shape(const Step& step, bool is_v, std::uint64_t key) {
  if (!step.has_own_types) return Layout::Shape::plain;
  if (coll::collective(step.coll).reduces) {
    // A user's operation finds its elements in these. Where it does not commute, Open MPI's own reductions may have to do
    // it, and they are wrong for data that begin behind the address.
    using enum Layout::Shape;
    constexpr Layout::Shape kShapes[] = {strided, pairs, swapped, shifted};
    const bool commutes = operation(step.operation).commutes;
    // Counts of any parity.
    if (step.coll == Coll::reduce_scatter) return commutes && mix(step.key, 42) % 2 == 0 ? shifted : strided;
    return kShapes[mix(step.key, 42) % (commutes ? 4 : 3)];
  }
  return static_cast<Layout::Shape>(mix(key, 1) % (is_v ? 3 : Layout::kShapes));
}

}  // namespace

Exercise::Side::Side(const Step& step, const std::vector<std::size_t>& counts, bool is_v, std::uint64_t key)
    : layout(type(step.type), draw_shape(step, is_v, key), counts.empty() ? 0 : counts.front()), block_counts(counts) {
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  begins.resize(counts.size());
  units.resize(counts.size());
  displacements.resize(counts.size());
  if (is_v) {  // blocks are in any order, with gaps
    Random random{key};
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  }
  std::size_t at = 0;
  for (const auto block : order) {
    if (is_v) at += mix(key, 2, block) % 3;
    begins[block] = at * layout.unit_extent();
    displacements[block] = static_cast<int>(at);
    units[block] = layout.units(counts[block]);
    at += static_cast<std::size_t>(units[block]);
  }
  image.emplace(type(step.type).kind, at * layout.unit_extent(), mix(key, 3));
}

Buffer Exercise::Side::buffer() {
  return {image->address(), units.empty() ? 0 : units.front(), layout.mpi(), units.data(), displacements.data()};
}

Exercise::Exercise(const Step& step, MPI_Comm comm) : step_(step), comm_(comm) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &size_);
  root_ = static_cast<int>(step.root_draw % static_cast<unsigned>(size_));
  const auto size = static_cast<std::size_t>(size_);
  const std::vector<std::size_t> one{step.count}, all(size, step.count);
  // v-forms: elements that this rank sends to and receives from each rank
  std::vector<std::size_t> to(size), from(size);
  for (int peer = 0; peer < size_; ++peer) {
    to[static_cast<std::size_t>(peer)] = count_of(rank_, peer);
    from[static_cast<std::size_t>(peer)] = count_of(peer, rank_);
  }
  const std::uint64_t in_key = mix(step.key, 11, static_cast<std::uint64_t>(rank_));
  const std::uint64_t out_key = mix(step.key, 12, static_cast<std::uint64_t>(rank_));
  switch (step.coll) {
    case Coll::barrier: break;
    case Coll::allreduce:
    case Coll::scan:
    case Coll::exscan:
      in_.emplace(step, one, false, in_key);
      out_.emplace(step, one, false, out_key);
      break;
    case Coll::reduce:
      in_.emplace(step, one, false, in_key);
      out_.emplace(step, one, false, out_key);
      is_out_significant_ = rank_ == root_;
      break;
    case Coll::bcast: out_.emplace(step, one, false, out_key); break;
    case Coll::allgather:
      in_.emplace(step, one, false, in_key);
      out_.emplace(step, all, false, out_key);
      break;
    case Coll::allgatherv:
      in_.emplace(step, std::vector<std::size_t>{count_of(rank_, 0)}, false, in_key);
      out_.emplace(step, from, true, out_key);
      break;
    case Coll::alltoall:
      in_.emplace(step, all, false, in_key);
      out_.emplace(step, all, false, out_key);
      break;
    case Coll::alltoallv:
      in_.emplace(step, to, true, in_key);
      out_.emplace(step, from, true, out_key);
      break;
    case Coll::reduce_scatter_block:
      in_.emplace(step, all, false, in_key);
      out_.emplace(step, step.in_place ? all : one, false, out_key);
      break;
    case Coll::reduce_scatter:
      for (int rank = 0; rank < size_; ++rank) to[static_cast<std::size_t>(rank)] = count_of(rank, 0);
      in_.emplace(step, to, false, in_key);
      out_.emplace(step, step.in_place ? to : std::vector<std::size_t>{count_of(rank_, 0)}, false, out_key);
      break;
    case Coll::gather:
    case Coll::gatherv:
      is_out_significant_ = rank_ == root_;
      in_.emplace(step, std::vector<std::size_t>{count_of(rank_, root_)}, false, in_key);
      if (is_out_significant_) out_.emplace(step, from, step.coll == Coll::gatherv, out_key);
      break;
    case Coll::scatter:
    case Coll::scatterv:
      if (rank_ == root_) in_.emplace(step, to, step.coll == Coll::scatterv, in_key);
      is_out_significant_ = rank_ != root_ || !step.in_place;
      if (is_out_significant_) out_.emplace(step, std::vector<std::size_t>{count_of(root_, rank_)}, false, out_key);
      break;
  }
}

std::size_t Exercise::count_of(int from, int to) const {
  if (!is_v_form(step_.coll) && step_.coll != Coll::reduce_scatter) return step_.count;
  auto a = static_cast<std::uint64_t>(from), b = static_cast<std::uint64_t>(to);
  if (!coll::has_block(step_.coll, root_, from, to)) return 0;
  if (step_.coll == Coll::allgatherv) b = 0;  // the count is the same for every receiver
  // both directions have the same length
  if (step_.in_place && step_.coll == Coll::alltoallv && a > b) std::swap(a, b);
  const std::uint64_t drawn = mix(step_.key, 13, a, b);
  if (drawn % 8 == 0) return 0;
  if (drawn % 4 == 1) return step_.count;
  return (drawn >> 8) % (step_.count + 1);
}

Exercise::Element Exercise::datum(int from, std::size_t block, std::size_t i) const {
  const auto& of = type(step_.type);
  Element element;
  const auto fold = coll::collective(step_.coll).reduces ? operation(step_.operation).fold : Fold::none;
  const auto key =
      mix(mix(step_.key, 14, static_cast<std::uint64_t>(start_)), static_cast<std::uint64_t>(from), block, i);
  (step_.is_rough ? draw_rough : draw)(of, fold, key, element.bytes);
  return element;
}

void Exercise::put_own(Side& side, std::size_t side_block, std::size_t block) {
  for (std::size_t i = 0; i < side.block_counts[side_block]; ++i)
    side.image->put(side.offset(side_block, i), datum(rank_, block, i).bytes);
}

void Exercise::expect_reduced(std::size_t block, int ranks, std::size_t count) {
  const auto fold = operation(step_.operation).fold;
  for (std::size_t i = 0; i < count; ++i) {
    auto result = datum(0, block, i);
    for (int from = 1; from < ranks; ++from)
      combine(type(step_.type).kind, fold, result.bytes, datum(from, block, i).bytes);
    out_->image->expect(out_->offset(0, i), result.bytes);
  }
}

void Exercise::fill(int start) {
  start_ = start;
  if (in_) in_->image->reset();
  if (out_) out_->image->reset();
  const auto size = static_cast<std::size_t>(size_), rank = static_cast<std::size_t>(rank_);
  const bool is_in_place = step_.in_place && is_out_significant_;
  auto& source = is_in_place ? out_ : in_;
  switch (step_.coll) {
    case Coll::barrier: return;
    case Coll::allreduce:
    case Coll::reduce:
      put_own(*source, 0, 0);
      if (is_out_significant_) expect_reduced(0, size_, step_.count);
      break;
    case Coll::scan:
    case Coll::exscan:
      put_own(*source, 0, 0);
      if (const int ranks = coll::prefix_of(step_.coll, rank_); ranks > 0) expect_reduced(0, ranks, step_.count);
      break;
    case Coll::bcast:
      if (rank_ == root_) put_own(*out_, 0, 0);
      for (std::size_t i = 0; i < step_.count && rank_ != root_; ++i)
        out_->image->expect(out_->offset(0, i), datum(root_, 0, i).bytes);
      break;
    case Coll::allgather:
    case Coll::allgatherv:
      put_own(*source, is_in_place ? rank : 0, 0);
      for (std::size_t from = 0; from < size; ++from)
        for (std::size_t i = 0; i < out_->block_counts[from]; ++i)
          out_->image->expect(out_->offset(from, i), datum(static_cast<int>(from), 0, i).bytes);
      break;
    case Coll::alltoall:
    case Coll::alltoallv:
      for (std::size_t to = 0; to < size; ++to) put_own(*source, to, to);
      for (std::size_t from = 0; from < size; ++from)
        for (std::size_t i = 0; i < out_->block_counts[from]; ++i)
          out_->image->expect(out_->offset(from, i), datum(static_cast<int>(from), rank, i).bytes);
      break;
    case Coll::reduce_scatter_block:
      for (std::size_t to = 0; to < size; ++to) put_own(*source, to, to);
      expect_reduced(rank, size_, step_.count);
      if (is_in_place)  // the standard leaves the other blocks undefined
        for (std::size_t to = 1; to < size; ++to)
          for (std::size_t i = 0; i < step_.count; ++i) out_->image->ignore(out_->offset(to, i));
      break;
    case Coll::reduce_scatter: {
      std::size_t all = 0;
      for (std::size_t to = 0; to < size; ++to) {
        put_own(*source, to, to);
        all += in_->block_counts[to];
      }
      const std::size_t own = in_->block_counts[rank];
      expect_reduced(rank, size_, own);
      for (std::size_t i = own; is_in_place && i < all; ++i) out_->image->ignore(out_->offset(0, i));
      break;
    }
    case Coll::gather:
    case Coll::gatherv:
      put_own(*source, is_in_place ? rank : 0, 0);
      for (std::size_t from = 0; from < size && out_; ++from)
        for (std::size_t i = 0; i < out_->block_counts[from]; ++i)
          out_->image->expect(out_->offset(from, i), datum(static_cast<int>(from), 0, i).bytes);
      break;
    case Coll::scatter:
    case Coll::scatterv:
      for (std::size_t to = 0; to < size && in_; ++to) put_own(*in_, to, to);
      for (std::size_t i = 0; out_ && i < out_->block_counts[0]; ++i)
        out_->image->expect(out_->offset(0, i), datum(root_, rank, i).bytes);
      break;
  }
  if (in_) in_->image->freeze();
  if (out_) out_->image->freeze();
}

int Exercise::post(MPI_Request* request) {
  Arguments arguments;
  arguments.comm = comm_;
  arguments.root = root_;
  if (in_) arguments.in = in_->buffer();
  if (out_) arguments.out = out_->buffer();
  // The arrays are gone when the call returns, as in mpi4py.
  const std::vector<int> arrays[] = {
      in_ ? in_->units : std::vector<int>{}, in_ ? in_->displacements : std::vector<int>{},
      out_ ? out_->units : std::vector<int>{}, out_ ? out_->displacements : std::vector<int>{}};
  arguments.in.counts = arrays[0].data();
  arguments.in.displacements = arrays[1].data();
  arguments.out.counts = arrays[2].data();
  arguments.out.displacements = arrays[3].data();
  const bool root_gives = step_.coll == Coll::scatter || step_.coll == Coll::scatterv;
  if (!is_out_significant_) arguments.out.address = root_gives ? MPI_IN_PLACE : nullptr;
  if (step_.in_place && is_out_significant_ && in_ && !root_gives) arguments.in.address = MPI_IN_PLACE;
  if (coll::collective(step_.coll).reduces) arguments.operation = operation(step_.operation).mpi;
  return call(step_.coll, step_.form, arguments, request);
}

std::optional<std::string> Exercise::check() const {
  const auto rough = step_.is_rough ? static_cast<std::size_t>(size_) : 0;
  for (const auto* side : {&in_, &out_}) {
    if (!*side) continue;
    const auto difference = (*side)->image->compare(rough);
    if (!difference) continue;
    const char* name = side == &in_ ? "send buffer" : "receive buffer";
    const auto where = fmt::format("{} ({}), byte {}", name, to_string((*side)->layout.shape()), difference->offset);
    if (!difference->expected_index)
      return fmt::format("{}: touched, though nothing belongs there: {} instead of {}", where, difference->found,
                         difference->wanted);
    return fmt::format("{}: element {} in order is {} and should be {}", where, *difference->expected_index,
                       difference->found, difference->wanted);
  }
  return std::nullopt;
}

std::optional<std::string> Exercise::compare_ranks() const {
  if (!step_.is_rough || step_.coll != Coll::allreduce) return std::nullopt;
  constexpr int kTag = 4711;
  const std::uint64_t own = out_->image->hash_of_expected();
  if (rank_ != 0) {
    MPI_Send(&own, 1, MPI_UINT64_T, 0, kTag, comm_);
    return std::nullopt;
  }
  for (int peer = 1; peer < size_; ++peer) {
    std::uint64_t theirs = 0;
    MPI_Recv(&theirs, 1, MPI_UINT64_T, peer, kTag, comm_, MPI_STATUS_IGNORE);
    if (theirs != own) return fmt::format("rank {} has other bits than rank 0", peer);
  }
  return std::nullopt;
}

}  // namespace sumac::tests
