#pragma once
// The call log of a host, in shared memory: each rank writes down what it begins, and the others read it. So a rank that waits can name those
// that have not come, and ranks that differ on what they do are found out instead of adding up different things.
//
// A rank's own entries are a ring with one entry for each of its latest operations. One rank writes it; readers check the
// number before and after they read.
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "wire/peer.hpp"

namespace sumac::p2p {

/// The part of an operation on which all ranks must agree: its collective, bytes, op, dtype and root, as members of a
/// group without a tree tell them to each other.
using Agreement = wire::PeerTerms;

/// "allreduce of 16 B, float32, sum": for people.
std::string to_string(const Agreement& agreement);

struct alignas(64) CallRing {
  /// As many as a rank may have begun that another one has not: the 64 that shared memory lets a rank run ahead in each of a team's
  /// two directions, and those that it has begun behind the oldest one that has not ended (team.cpp).
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
  static std::size_t bytes_for(int ranks) { return static_cast<std::size_t>(ranks) * sizeof(CallRing); }

  CallLog() = default;
  /// `memory` holds bytes_for(ranks) zeros at first, and outlives the call log.
  CallLog(std::byte* memory, int index) noexcept : rings_(reinterpret_cast<CallRing*>(memory)), index_(index) {}

  void begin(std::uint64_t number, const Agreement& agreement) noexcept;
  /// True once that rank has begun the operation with this number, or a later one.
  bool has_begun(int index, std::uint64_t number) const noexcept {
    // An acquire load: the entry was written before.
    return rings_[index].begun.load(std::memory_order_acquire) >= number;
  }
  /// Returns nothing while that rank has not begun it, and if the ring has gone on since.
  std::optional<Agreement> read(int index, std::uint64_t number) const noexcept;

 private:
  CallRing* rings_ = nullptr;
  int index_ = 0;
};

}  // namespace sumac::p2p
