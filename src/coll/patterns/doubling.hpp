#pragma once
// Recursive doubling: ceil(log2 n) rounds, after each of which a member has the sum of a block of ranks twice as large.
// The blocks are those of the canonical tree (coll/canonical.hpp), for any n: where the block beside is smaller, each of
// its members sends to several. So every member adds in the same fixed order, and all get the same bits.
#include "coll/patterns/pattern.hpp"

namespace sumac::coll {

/// Adds `bytes` of `in` over all members into `out`. `in_place`: both are the same memory.
void put_doubling(Pattern& pattern, Member me, std::uint64_t bytes, bool in_place, const Cutting& cutting);

/// A barrier by dissemination: in round k a member signals the one 2^k above it and waits for the one 2^k below.
void put_dissemination(Pattern& pattern, Member me);

}  // namespace sumac::coll
