#pragma once
// Which of two ways serves large messages of one collective and size: through shared memory, or by single copy. What a page costs the
// kernel and what a cache line costs the cores differs from machine to machine and from hour to hour, so both ways are timed
// on the user's own calls (timed.cpp). A decision is a function of times that all members know alike, so all decide alike.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sumac::shm {

/// A way counts with the median of its times. The first time of each is dropped: memory is touched for the first time in it.
class Decision {
 public:
  enum class Way : std::uint8_t { shared, single };
  static constexpr int kTimes = 7;
  static constexpr int kTrials = 2 * (1 + kTimes);
  /// After so many calls a decision is looked at again; after 4 times as many each time that it was right.
  static constexpr std::uint64_t kFirstLook = 256, kLastLook = 1 << 20;

  bool is_settled() const noexcept { return trials_ == kTrials; }
  /// How the next call goes: of a trial, the way to be timed; else the better one.
  Way way() const noexcept { return is_settled() ? better_ : way_of(trials_); }
  /// The better way as far as is known; `shared` before anything is.
  Way better() const noexcept { return better_; }
  /// A median of 1 KiB; 0: not timed.
  double median_ns(Way way) const noexcept { return medians_[static_cast<std::size_t>(way)]; }

  /// Counts one call of a settled decision. False: it is time for new trials.
  bool count() noexcept {
    if (--left_ != 0) [[likely]]
      return true;
    begin_again();
    return false;
  }
  /// The last trial, by way(), took so long for 1 KiB at the slowest member.
  void note(double ns) noexcept;
  /// What another group of the same processes has found out.
  void settle(Way way) noexcept;

  /// How long 1 KiB took in the last trial at this member, until all have been told; 0: that call does not count.
  double mine_ns = 0;

 private:
  /// A, B, B, A: sizes or phases of a program that alternate don't meet one way always.
  static Way way_of(int trial) noexcept { return static_cast<Way>((trial + 1) / 2 % 2); }
  void begin_again() noexcept { trials_ = 0; }
  void decide() noexcept;

  Way better_ = Way::shared;
  std::uint8_t trials_ = 0;
  std::uint64_t left_ = 0, look_ = kFirstLook;
  std::array<std::array<float, kTimes>, 2> times_{};
  std::array<float, 2> medians_{};
};

/// All decisions of a group of two: by collective and by power of two.
class Decisions {
 public:
  static constexpr std::size_t kColls = 5, kClasses = 8;
  static constexpr std::size_t kLeastBytes = 64 * 1024;  ///< Smaller messages never go by single copy.

  /// `coll`: 0 to kColls - 1. Up to 128 KiB, 256 KiB, ... 8 MiB, more.
  Decision& at(std::size_t kind, std::size_t bytes) noexcept { return all_[kind][class_of(bytes)]; }
  const Decision& at(std::size_t kind, std::size_t bytes) const noexcept { return all_[kind][class_of(bytes)]; }
  static std::size_t class_of(std::size_t bytes) noexcept {
    const std::size_t units = bytes <= kLeastBytes ? 1 : (bytes - 1) / kLeastBytes;
    const auto log2 = static_cast<std::size_t>(std::bit_width(units)) - 1;
    return log2 < kClasses ? log2 : kClasses - 1;
  }

  /// Settled ones, to hand to another group: 0 open, 1 shared, 2 single.
  using Known = std::array<std::uint8_t, kColls * kClasses>;
  Known known() const noexcept;
  void settle(const Known& known) noexcept;

 private:
  std::array<std::array<Decision, kClasses>, kColls> all_{};
};

}  // namespace sumac::shm
