#pragma once
// Pairwise exchange: every member sends straight to every member that needs its data. There is one trip where trees and
// rings have several, but n - 1 messages at each member. Sums are made by the member that needs them, along the
// canonical tree of ranks, once all operands have arrived.
#include <span>

#include "coll/patterns/pattern.hpp"

namespace sumac::coll {

void put_exchange_barrier(Pattern& pattern, Member me);

/// Every member sends its whole vector to all, and adds all vectors.
void put_exchange_allreduce(Pattern& pattern, Member me, std::uint64_t bytes, bool in_place, const Cutting& cutting);

/// Every member adds one block of all vectors and sends the sum to all: 2 (n - 1) / n of the vector on each link.
void put_blocks_allreduce(Pattern& pattern, Member me, std::uint64_t bytes, bool in_place, const Cutting& cutting);

/// `blocks` are the members' blocks in `in`. `in_place`: `out` is the beginning of `in`.
void put_exchange_reduce_scatter(Pattern& pattern, Member me, std::span<const Extent> blocks, bool in_place,
                                 const Cutting& cutting);

/// All send their vector to the root, which adds.
void put_exchange_reduce(Pattern& pattern, Member me, std::uint32_t root, std::uint64_t bytes, bool in_place,
                         const Cutting& cutting);

void put_exchange_bcast(Pattern& pattern, Member me, std::uint32_t root, std::uint64_t bytes, const Cutting& cutting);

/// `blocks` are the members' blocks in `out`. A member that is not in place has its own block at the start of `in`.
void put_exchange_allgather(Pattern& pattern, Member me, std::span<const Extent> blocks, bool in_place,
                            const Cutting& cutting);

/// `leaves[i]` is the block for member i in `in`, `comes[i]` the block from it in `out`. In place `leaves` is ignored:
/// the blocks of `out` are replaced, and pass through work memory. `skips_empty`: an empty block has no message.
void put_exchange_alltoall(Pattern& pattern, Member me, std::span<const Extent> leaves, std::span<const Extent> comes,
                           bool in_place, bool skips_empty, const Cutting& cutting);

/// `blocks` are needed at the root only; `bytes` is the member's own block.
void put_linear_gather(Pattern& pattern, Member me, std::uint32_t root, std::uint64_t bytes,
                       std::span<const Extent> blocks, bool in_place, const Cutting& cutting);
void put_linear_scatter(Pattern& pattern, Member me, std::uint32_t root, std::uint64_t bytes,
                        std::span<const Extent> blocks, bool in_place, const Cutting& cutting);

}  // namespace sumac::coll
