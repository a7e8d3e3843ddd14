#pragma once
// The call log of a host, in memory that its ranks share: each rank writes down what it begins, and the others read it. So a rank
// that waits can name those that have not come, and ranks that differ on what they do are found out instead of adding up
// different things.
//
// A rank's own entries are a ring with one entry for each of its latest operations. One rank writes it; readers check the
// number before and after they read.
//
// Behind the rings are two tables, for the operations whose blocks differ in size, in turn. Each rank writes how many bytes it
// sends to each other one before it begins such an operation, and the others read that once all ranks have begun it: ranks
// whose counts do not fit together find out before they read beyond what another one sends. Who writes a table again has ended
// the operation between, which all had begun: so all have read the table.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/result.hpp"
#include "coll/terms.hpp"
#include "team/layout.hpp"

namespace sumac::team {

struct alignas(64) CallRing {
  /// As many as a rank may have begun that another one has not: the 64 that shared memory lets a rank run ahead in each of a team's
  /// two directions, and those that it has begun behind the oldest one that has not ended (bindings/python/core/team.cpp).
  static constexpr std::size_t kEntries = 256;
  struct Entry {
    std::atomic<std::uint64_t> number;
    std::atomic<std::uint64_t> bytes;
    std::atomic<std::uint64_t> rest;
  };
  std::atomic<std::uint64_t> begun;  ///< The number of the latest operation; they count from 1.
  std::array<Entry, kEntries> entries;
};

class CallLog {
 public:
  static std::size_t bytes_for(int ranks) noexcept;

  /// `memory` holds bytes_for(ranks of this host) zeros at first. Both outlive the call log.
  CallLog(void* memory, const Layout& layout) noexcept;

  void begin(std::uint64_t number, const coll::Operation& operation) noexcept;
  /// True once that rank, by its index on the host, has begun the operation with this number, or a later one.
  bool has_begun(int index, std::uint64_t number) const noexcept {
    // An acquire load: the entry was written before.
    return rings_[index].begun.load(std::memory_order_acquire) >= number;
  }
  bool all_have_begun(std::uint64_t number) const noexcept;
  /// Returns nothing while that rank has not begun it, and if the ring has gone on since.
  std::optional<coll::Terms> read(int index, std::uint64_t number) const noexcept;

  /// Compares what this rank has begun under these numbers with what the others have.
  Result<> compare(std::uint64_t first, std::uint64_t last) const;
  /// The same for the sizes of blocks, once all have begun it.
  Result<> compare_blocks(std::uint64_t number, const coll::Operation& operation) const;

 private:
  int ranks() const noexcept { return static_cast<int>(layout_.host_members.size()); }
  std::uint64_t* row(int index) const noexcept;

  const Layout& layout_;
  const int index_;
  CallRing* rings_;
  std::uint64_t* tables_;
  int table_ = 0;  ///< The one of the latest operation with counts.
};

}  // namespace sumac::team
