#pragma once
// The decisions of a group of two between shared memory and single copy for large messages (timed.cpp makes them).
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "coll/decision.hpp"

namespace sumac::shm {

using coll::Decision;
inline constexpr auto kShared = Decision::Way::first, kSingle = Decision::Way::second;

/// All decisions of a group of two, by collective and by power of two.
class Decisions {
 public:
  static constexpr std::size_t kColls = 5, kClasses = 8;
  static constexpr std::size_t kLeastBytes = 64 * 1024;  ///< Smaller messages never go by single copy.

  /// `kind` is 0 to kColls - 1. The classes of `bytes` are up to 128 KiB, 256 KiB, ... 8 MiB, and more.
  Decision& at(std::size_t kind, std::size_t bytes) noexcept { return all_[kind][class_of(bytes)]; }
  const Decision& at(std::size_t kind, std::size_t bytes) const noexcept { return all_[kind][class_of(bytes)]; }
  static std::size_t class_of(std::size_t bytes) noexcept {
    const std::size_t units = bytes <= kLeastBytes ? 1 : (bytes - 1) / kLeastBytes;
    const auto log2 = static_cast<std::size_t>(std::bit_width(units)) - 1;
    return log2 < kClasses ? log2 : kClasses - 1;
  }

  /// The settled decisions, to pass on to another group: 0 open, 1 shared, 2 single.
  using Known = std::array<std::uint8_t, kColls * kClasses>;
  Known known() const noexcept;
  void settle(const Known& known) noexcept;
  /// All are looked at again: something has changed that all of them depend on.
  void look_again() noexcept;

 private:
  std::array<std::array<Decision, kClasses>, kColls> all_{};
};

}  // namespace sumac::shm
