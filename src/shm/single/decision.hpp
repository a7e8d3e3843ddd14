#pragma once
// Decides whether large messages of one collective and size go through shared memory or by single copy. The kernel's
// cost per page and the cores' cost per cache line differ from machine to machine and from hour to hour, so both
// methods are timed on the user's own calls (timed.cpp). A decision is a function of times that all members know, so
// all members decide alike.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sumac::shm {

/// Each method counts with the median of its times. The first time of each is dropped, because that call touches memory
/// for the first time.
class Decision {
 public:
  enum class Way : std::uint8_t { shared, single };
  static constexpr int kTimes = 7;
  static constexpr int kTrials = 2 * (1 + kTimes);
  /// After so many calls a decision is checked again; the interval grows fourfold each time the decision was right.
  static constexpr std::uint64_t kFirstLook = 256, kLastLook = 1 << 20;

  bool is_settled() const noexcept { return trials_ == kTrials; }
  /// Returns the method of the next call: in a trial the one to be timed, afterwards the better one.
  Way way() const noexcept { return is_settled() ? better_ : way_of(trials_); }
  /// The better method as far as is known; `shared` before anything is known.
  Way better() const noexcept { return better_; }
  /// The median time of 1 KiB; 0 if it was not timed.
  double median_ns(Way way) const noexcept { return medians_[static_cast<std::size_t>(way)]; }

  /// Counts one call of a settled decision. Returns false when it is time for new trials.
  bool count() noexcept {
    if (--left_ != 0) [[likely]]
      return true;
    begin_again();
    return false;
  }
  /// Records the last trial, of the method way(): `ns` is the time of 1 KiB at the slowest member.
  void note(double ns) noexcept;
  /// Adopts the result of another group of the same two processes.
  void settle(Way way) noexcept;

  /// The time of 1 KiB in the last trial at this member, until all members have received it; 0 if that call does not
  /// count.
  double mine_ns = 0;

 private:
  /// The order is A, B, B, A, so that a program whose sizes or phases alternate does not always meet the same method.
  static Way way_of(int trial) noexcept { return static_cast<Way>((trial + 1) / 2 % 2); }
  void begin_again() noexcept { trials_ = 0; }
  void decide() noexcept;

  Way better_ = Way::shared;
  std::uint8_t trials_ = 0;
  std::uint64_t left_ = 0, look_ = kFirstLook;
  std::array<std::array<float, kTimes>, 2> times_{};
  std::array<float, 2> medians_{};
};

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

 private:
  std::array<std::array<Decision, kClasses>, kColls> all_{};
};

}  // namespace sumac::shm
