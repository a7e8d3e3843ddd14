#pragma once
// The segmented ring: every member sends to the next rank and receives from the one before. A block of the vector
// travels once around while it is added up and once around as the sum, so every link carries 2 (n - 1) / n of the vector,
// the least that is possible. Blocks travel in segments: a segment is added and sent on while the next one arrives.
#include <span>

#include "coll/patterns/pattern.hpp"

namespace sumac::coll {

/// The order of operands differs from block to block: for operations that commute. All members get the same bits.
void put_ring_allreduce(Pattern& pattern, Member me, std::uint64_t bytes, bool in_place, const Cutting& cutting);

/// `bytes` is the size of one member's block. `in_place`: `out` is the beginning of `in`.
void put_ring_reduce_scatter(Pattern& pattern, Member me, std::uint64_t bytes, bool in_place, const Cutting& cutting);

/// `blocks` are the members' blocks in `out`. A member that is not in place has its own block at the start of `in`.
void put_ring_allgather(Pattern& pattern, Member me, std::span<const Extent> blocks, bool in_place,
                        const Cutting& cutting);

/// The vector goes from the root through all members in turn.
void put_chain_bcast(Pattern& pattern, Member me, std::uint32_t root, std::uint64_t bytes, const Cutting& cutting);

}  // namespace sumac::coll
