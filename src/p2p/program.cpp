// Translates an operation to the steps of its algorithm.
#include <algorithm>

#include "coll/patterns/binomial.hpp"
#include "coll/patterns/doubling.hpp"
#include "coll/patterns/pairwise.hpp"
#include "coll/patterns/prefix.hpp"
#include "coll/patterns/ring.hpp"
#include "p2p/choose.hpp"

namespace sumac::p2p {
namespace {

using coll::Extent;
using coll::Kind;

/// A ring hides everything but the time of one segment for each member, so its segments are short where the blocks are.
constexpr std::uint64_t kSegmentsOfBlock = 8, kSegmentLeast = 16 * 1024;

std::vector<Extent> extents(const coll::Blocks& blocks, std::uint32_t size) {
  std::vector<Extent> found(size);
  for (std::uint32_t i = 0; i < size; ++i)
    found[i] = {blocks.offset(static_cast<int>(i)), blocks.bytes(static_cast<int>(i))};
  return found;
}

std::vector<Extent> even(std::uint64_t bytes, std::uint32_t size) {
  std::vector<Extent> found(size);
  for (std::uint32_t i = 0; i < size; ++i) found[i] = {static_cast<std::int64_t>(i * bytes), bytes};
  return found;
}

std::vector<Extent> in_a_row(const coll::Blocks& blocks, std::uint32_t size) {
  std::vector<Extent> found(size);
  std::int64_t at = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    found[i] = {at, blocks.bytes(static_cast<int>(i))};
    at += static_cast<std::int64_t>(found[i].bytes);
  }
  return found;
}

coll::Cutting cutting_of(const coll::Operation& o, Algorithm algorithm, std::uint32_t size) {
  coll::Cutting cutting{.most = kMessageMax, .unit = o.fold != nullptr ? o.fold->element_bytes : 1};
  if (algorithm == Algorithm::ring) {
    std::uint64_t block = o.bytes;
    if (o.kind == Kind::allreduce || o.kind == Kind::bcast) block = o.bytes / size;
    if (o.kind == Kind::allgatherv) {
      for (std::uint32_t i = 0; i < size; ++i) block += o.out_blocks.bytes(static_cast<int>(i));
      block /= size;
    }
    cutting.most = std::clamp(block / kSegmentsOfBlock, kSegmentLeast, kMessageMax);
  }
  return cutting;
}

}  // namespace

void write_pattern(coll::Pattern& p, coll::Member me, const coll::Operation& o, Algorithm algorithm, bool is_direct) {
  const auto cutting = cutting_of(o, algorithm, me.size);
  const auto root = static_cast<std::uint32_t>(o.root);
  const bool is_root = me.rank == root, in_place = o.in_place(), by_exchange = algorithm == Algorithm::exchange;
  switch (o.kind) {
    case Kind::barrier:
      if (me.size == 1) return;
      return by_exchange ? put_exchange_barrier(p, me) : put_dissemination(p, me);
    case Kind::allreduce:
      if (algorithm == Algorithm::ring) return put_ring_allreduce(p, me, o.bytes, in_place, cutting);
      if (algorithm == Algorithm::blocks) return put_blocks_allreduce(p, me, o.bytes, in_place, cutting);
      return by_exchange ? put_exchange_allreduce(p, me, o.bytes, in_place, cutting)
                         : put_doubling(p, me, o.bytes, in_place, cutting);
    case Kind::reduce:
      return by_exchange ? put_exchange_reduce(p, me, root, o.bytes, in_place && is_root, cutting)
                         : put_binomial_reduce(p, me, root, o.bytes, in_place && is_root, cutting);
    case Kind::bcast:
      if (algorithm == Algorithm::ring) return put_chain_bcast(p, me, root, o.bytes, cutting);
      return by_exchange ? put_exchange_bcast(p, me, root, o.bytes, cutting)
                         : put_binomial_bcast(p, me, root, o.bytes, cutting);
    case Kind::allgather:
    case Kind::allgatherv: {
      const auto blocks = o.kind == Kind::allgather ? even(o.bytes, me.size) : extents(o.out_blocks, me.size);
      return by_exchange ? put_exchange_allgather(p, me, blocks, in_place, cutting)
                         : put_ring_allgather(p, me, blocks, in_place, cutting);
    }
    case Kind::alltoall: {
      const auto blocks = even(o.bytes, me.size);
      return put_exchange_alltoall(p, me, blocks, blocks, in_place, false, cutting);
    }
    case Kind::alltoallv: {
      const auto comes = extents(o.out_blocks, me.size);
      const auto leaves = in_place ? comes : extents(o.in_blocks, me.size);
      put_exchange_alltoall(p, me, leaves, comes, in_place, is_direct, cutting);
      if (is_direct) p.is_eager = false;
      return;
    }
    case Kind::reduce_scatter_block:
      return by_exchange ? put_exchange_reduce_scatter(p, me, even(o.bytes, me.size), in_place, cutting)
                         : put_ring_reduce_scatter(p, me, o.bytes, in_place, cutting);
    case Kind::reduce_scatter:
      return put_exchange_reduce_scatter(p, me, in_a_row(o.in_blocks, me.size), in_place, cutting);
    case Kind::gather:
      if (!by_exchange) return put_binomial_gather(p, me, root, o.bytes, in_place && is_root, cutting);
      return put_linear_gather(p, me, root, o.bytes, even(o.bytes, me.size), in_place && is_root, cutting);
    case Kind::gatherv:
      return put_linear_gather(p, me, root, o.bytes,
                               is_root ? extents(o.out_blocks, me.size) : std::vector<Extent>(me.size),
                               in_place && is_root, cutting);
    case Kind::scatter:
      if (!by_exchange) return put_binomial_scatter(p, me, root, o.bytes, in_place && is_root, cutting);
      return put_linear_scatter(p, me, root, o.bytes, even(o.bytes, me.size), in_place && is_root, cutting);
    case Kind::scatterv:
      return put_linear_scatter(p, me, root, o.bytes,
                                is_root ? extents(o.in_blocks, me.size) : std::vector<Extent>(me.size),
                                in_place && is_root, cutting);
    case Kind::scan: return put_scan(p, me, o.bytes, in_place, cutting);
    case Kind::exscan: return put_exscan(p, me, o.bytes, in_place, cutting);
  }
}

}  // namespace sumac::p2p
