#pragma once
// Scans and exscans by recursive doubling: ceil(log2 n) rounds, as in doubling.hpp, of which each member adds to its own result only
// those with members before it. A result is the canonical sum of the members up to it, or before it
// (coll/canonical.hpp).
#include "coll/patterns/pattern.hpp"

namespace sumac::coll {

/// Adds `bytes` of `in` over the members up to this one into `out`. `in_place`: both are the same memory.
void put_scan(Pattern& pattern, Member me, std::uint64_t bytes, bool in_place, const Cutting& cutting);

/// The same over the members before this one; member 0 writes nothing.
void put_exscan(Pattern& pattern, Member me, std::uint64_t bytes, bool in_place, const Cutting& cutting);

}  // namespace sumac::coll
