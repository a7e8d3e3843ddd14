#pragma once
// Counts durations by powers of two of a nanosecond. A record costs a dozen instructions, so that the path of a message
// can afford it. One thread owns a histogram; others receive copies.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"

namespace sumac {

struct Log2Histogram {
  /// counts[i] counts the durations above 2^(i-1) ns and up to 2^i ns; counts[0] those of 0 and 1 ns.
  std::array<std::uint64_t, 64> counts{};
  std::uint64_t sum_ns = 0;

  /// A negative duration counts as 0: a caller's two clock readings may come in the wrong order.
  void add(Duration took) noexcept {
    const auto ns = took.count() > 0 ? static_cast<std::uint64_t>(took.count()) : 0;
    ++counts[bucket_of(ns)];
    sum_ns += ns;
  }
  std::uint64_t count() const noexcept {
    std::uint64_t all = 0;
    for (const auto one : counts) all += one;
    return all;
  }

  static constexpr std::size_t bucket_of(std::uint64_t ns) noexcept {
    return static_cast<std::size_t>(std::bit_width(ns - (ns != 0)));
  }
};

}  // namespace sumac
