#pragma once
// Each rank of a host writes how many bytes it sends to each other one, in the operations whose blocks differ in size: a rank
// compares that with what it is about to receive, so that ranks whose counts do not fit together find out before they read beyond what
// another one sends.
//
// There are two tables, for the operations of this kind in turn. A rank writes its row before it begins an operation, and the
// others read it once all ranks have begun it. Who writes a table again has ended the operation between, which all had begun:
// so all have read the table.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bindings/python/core/store.hpp"
#include "team/team.h"

namespace sumac::python {

inline bool has_counts(const sumac_call_t& call) noexcept {
  return call.in_blocks.counts != nullptr || call.out_blocks.counts != nullptr;
}

/// Describes blocks that follow each other, with these counts in units of so many bytes; no counts: it describes none. Returns
/// their displacements, which must stay as long as the counts.
std::vector<std::int64_t> describe(sumac_blocks_t& blocks, const std::vector<std::int64_t>& counts, std::size_t unit);

/// Runs a collective of a team of one: what the rank gives is what it gets. Returns how the two sides of its block for itself
/// differ, if they do: then nothing is done.
std::optional<std::string> run_alone(const sumac_call_t& call);

class Splits {
 public:
  static std::size_t bytes_for(int ranks) {
    return 2 * static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks) * sizeof(std::uint64_t);
  }

  Splits() = default;
  /// `memory` has bytes_for(ranks of this host), and outlives it, as `members` does.
  Splits(std::byte* memory, const Members& members);

  /// Writes what this rank sends. The call log's entry of the operation is written behind it, and read before differ().
  void begin(const sumac_call_t& call);
  /// Returns how two ranks differ, if they do: "rank 0 sends 12 B to rank 1, which expects 8 B".
  std::optional<std::string> differ(const sumac_call_t& call) const;

 private:
  std::uint64_t* row(int index) const;

  std::uint64_t* tables_ = nullptr;
  const Members* members_ = nullptr;
  unsigned turn_ = 0;
};

}  // namespace sumac::python
