#pragma once
// Binomial trees: ceil(log2 n) rounds from the root to all, or from all to the root.
#include "coll/patterns/pattern.hpp"

namespace sumac::coll {

void put_binomial_bcast(Pattern& pattern, Member me, std::uint32_t root, std::uint64_t bytes, const Cutting& cutting);

/// Adds along the canonical tree of ranks, whoever the root is: each block's sum is held by the root if it is one of the
/// block, otherwise by the block's first rank.
void put_binomial_reduce(Pattern& pattern, Member me, std::uint32_t root, std::uint64_t bytes, bool in_place,
                         const Cutting& cutting);

/// `bytes` is the size of one block. `in_place` counts at the root: its own block already lies in `out`.
void put_binomial_gather(Pattern& pattern, Member me, std::uint32_t root, std::uint64_t bytes, bool in_place,
                         const Cutting& cutting);

/// `in_place` counts at the root: its own block stays where it is.
void put_binomial_scatter(Pattern& pattern, Member me, std::uint32_t root, std::uint64_t bytes, bool in_place,
                          const Cutting& cutting);

}  // namespace sumac::coll
