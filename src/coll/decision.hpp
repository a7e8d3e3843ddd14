#pragma once
// Decides between two ways to do one collective of one size. What a way costs differs from machine to machine, from MPI
// to MPI and from hour to hour, so both ways are timed on the user's own calls. A decision is a function of times that
// all members know, so all members decide alike.
#include <array>
#include <cstddef>
#include <cstdint>

namespace sumac::coll {

/// Each way is tried in runs of four calls, and counts with the median of its times. The first time of each run is
/// dropped: it has the caches as the other way left them, and at the very first memory is touched. Where one way is
/// clearly slower, it is tried in one run only: a program may make no more than a hundred such calls.
class Decision {
 public:
  enum class Way : std::uint8_t { first, second };
  static constexpr float kMargin = 0.93F;
  /// One way is clearly slower if its least time is so many times the other's largest.
  static constexpr float kClear = 1.15F;
  static constexpr int kRun = 4, kTrials = 4 * kRun;
  static constexpr int kTimes = 2 * (kRun - 1);  ///< Each way has so many, or half of them if one is clearly slower.
  /// After so many calls a decision is checked again; the interval grows fourfold each time the decision was right.
  static constexpr std::uint64_t kFirstLook = 256, kLastLook = 1 << 20;
  /// So many trials without a time, since the last one that has one, put the rest off.
  static constexpr int kSkipsMost = 2 * kTrials;

  bool is_settled() const noexcept { return trials_ == kTrials; }
  /// Returns the way of the next call: in a trial the one to be timed, afterwards the better one.
  Way way() const noexcept { return is_settled() ? better_ : way_of(trials_); }
  /// The better way as far as is known; the first one before anything is known.
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
  /// Records the last trial, of way(): `ns` is the time of 1 KiB at the slowest member.
  /// `margin`: the other way must take at most this part of the time, so that two equally good ways do not alternate from
  /// start to start.
  void note(double ns, float margin = kMargin) noexcept;
  /// The last trial has no time, because somebody left it alone: another one takes its place. A program that leaves its
  /// operations alone most of the time is asked again after kFirstLook calls, so that it does not try for ever.
  void skip() noexcept;
  /// Adopts the result of another group of the same two processes, or puts the trials off.
  void settle(Way way) noexcept;
  /// Forgets the trials of a decision that is under way; a settled one is looked at again.
  void begin_again() noexcept { trials_ = 0; }

  /// The time of 1 KiB in the last trial at this member, until all members have received it; 0 if that call does not
  /// count.
  double mine_ns = 0;

 private:
  /// The order of runs is A, B, B, A, so that a program whose phases alternate does not always meet the same one.
  static Way way_of(int trial) noexcept { return static_cast<Way>((trial / kRun + 1) / 2 % 2); }
  bool is_clear() const noexcept;
  void decide(int count, float margin) noexcept;

  Way better_ = Way::first;
  std::uint8_t trials_ = 0, skips_ = 0;
  std::uint64_t left_ = 0, look_ = kFirstLook;
  std::array<std::array<float, kTimes>, 2> times_{};
  std::array<float, 2> medians_{};
};

}  // namespace sumac::coll
