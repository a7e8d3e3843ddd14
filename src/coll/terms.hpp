#pragma once
// The terms of an operation: those parts of it that all its members must name alike. Ranks that compare their calls compare these
// (team/call_log.hpp), and a text for people names an operation by them.
#include <cstdint>
#include <string>

#include "coll/operation.hpp"

namespace sumac::coll {

/// Its collective, bytes, operation and type, root and meaning, packed: so they fit into a host's memory as two numbers.
struct Terms {
  /// Operation::bytes. Where blocks have sizes of their own, the bytes of all of them; of an alltoallv each member knows others: 0.
  std::uint64_t bytes = 0;
  std::uint64_t rest = 0;
  friend bool operator==(const Terms&, const Terms&) = default;
};
Terms terms_of(const Operation& operation, int members) noexcept;

/// "allreduce of 16 B, float32, sum": for people.
std::string to_string(const Terms& terms);

inline bool has_counts(const Operation& operation) noexcept {
  return operation.in_blocks.counts != nullptr || operation.out_blocks.counts != nullptr;
}

/// The bytes of the block that member `from` sends to member `to` in an operation that has counts, as one of the two knows them.
std::uint64_t block_bytes(const Operation& operation, int from, int to, bool by_sender) noexcept;

}  // namespace sumac::coll
