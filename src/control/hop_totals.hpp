#pragma once
// A node's kernels count what they do in the datagram way (docs/protocol.md), from the node's start on.
#include <cstdint>

namespace sumac::control {

struct HopTotals {
  std::uint64_t frames = 0, folds = 0, repeats = 0, sent = 0, strangers = 0, expired = 0;
  std::uint64_t runs = 0, run_ns = 0;  ///< The kernel counts its program's runs while kernel.bpf_stats_enabled is 1.

  bool operator==(const HopTotals&) const = default;
  HopTotals& operator+=(const HopTotals& other) {
    frames += other.frames, folds += other.folds, repeats += other.repeats, sent += other.sent;
    strangers += other.strangers, expired += other.expired, runs += other.runs, run_ns += other.run_ns;
    return *this;
  }
};

}  // namespace sumac::control
