#pragma once
// A group's choice how its members write what others read. Where the cores share a cache, ordinary stores are twice as
// fast. Where they don't (other dies of an EPYC, other sockets), each line must first be fetched back from the core that
// read it last, and stores past the caches take less than half the time. Both hold at all sizes from some KiB on and for
// all collectives, so one decision serves a group: it is made in the program's own calls (trial.hpp). Where no call can be
// timed as a whole (operations that are left alone, a host's part between hosts), a member decides alone by what its own writing takes.
#include <bit>
#include <cstddef>
#include <cstdint>

#include "coll/decision.hpp"
#include "coll/operation.hpp"
#include "shm/algorithms.hpp"

namespace sumac::shm {

class Stores {
 public:
  static constexpr auto kThrough = coll::Decision::Way::first, kPast = coll::Decision::Way::second;
  /// Smaller calls are not tried: the meeting of a trial would take a good part of the call.
  static constexpr std::size_t kLeastBytes = 16 * 1024;
  /// Shorter pieces are always written through the caches.
  static constexpr std::size_t kPieceLeast = 2048;
  /// After so many calls of other kinds or sizes a trial is begun again with those.
  static constexpr int kPatience = 64;

  /// Allows trials, at all members alike. Without it all is written through the caches.
  void allow() noexcept {
    is_allowed_ = true;
    alone_.settle(kThrough);  // The first look comes later, when each slice has its pages.
  }
  /// Sets the way for good: for tests and benchmarks.
  void fix(coll::Decision::Way way) noexcept {
    is_allowed_ = false;
    now_ = way;
  }
  bool is_allowed() const noexcept { return is_allowed_; }
  /// Only kinds in which each member waits for all others are tried: the meeting of a trial keeps nobody there who could
  /// have left. Nor are kinds whose size only some members know.
  bool tries(coll::Kind kind) const noexcept {
    return is_allowed_ && coll::has_size(kind) && coll::collective(kind).waits_for_all;
  }

  /// Writes a slice by `write`, which counts by wrote() what it writes; times it if this member decides alone.
  template <class Write>
  void fill(const Write& write) {
    if (!decides_alone()) return write();
    const std::uint64_t began = begin_alone();
    write();
    end_alone(began);
  }
  void wrote(std::size_t bytes) noexcept { written_ += bytes; }

  /// The way of the operation that is under way.
  bool go_past() const noexcept { return now_ == kPast; }
  /// Would the next call be one of the trials, if it goes through shared memory?
  bool is_open(coll::Kind kind, std::size_t bytes) const noexcept {
    return tries(kind) && bytes >= kLeastBytes && !decision_.is_settled() && (!is_trying_ || is_alike(kind, bytes));
  }
  /// The decision by calls that were timed at all members.
  const coll::Decision& decision() const noexcept { return decision_; }
  /// The decision by what this member alone has written.
  const coll::Decision& alone() const noexcept { return alone_; }

 private:
  /// Less in a slice says little: stores past the caches are still on their way when the writing is over. Nor is all of
  /// their cost in the writer's time, so they must take half of it. Two ranks of an EPYC, us through / past the caches:
  /// 64 KiB apart 9 to 15 / 2.4, under one cache 2.7 / 4.7; 16 KiB apart 3.7 / 0.3, under one cache 1.2 / 0.8.
  static constexpr std::size_t kAloneLeast = 32 * 1024;
  static constexpr float kAloneMargin = 0.5F;
  friend Step choose_stores(Task& task);

  bool is_alike(coll::Kind kind, std::size_t bytes) const noexcept {
    return kind == kind_ && static_cast<std::size_t>(std::bit_width(bytes)) == size_class_;
  }
  /// Is this call one of the trials? Called once for each call, in the same order at all members.
  bool tries_next(coll::Kind kind, std::size_t bytes) noexcept;
  bool decides_alone() const noexcept { return is_allowed_ && !is_on_trial_ && decision_.median_ns(kPast) == 0; }
  coll::Decision::Way better() const noexcept {
    return (decision_.median_ns(kPast) != 0 ? decision_ : alone_).better();
  }
  std::uint64_t begin_alone() noexcept;  ///< Returns the time; 0 if it does not count.
  void end_alone(std::uint64_t began) noexcept;
  /// The trials are over or put off.
  void settle() noexcept;

  coll::Decision decision_, alone_;
  coll::Decision::Way now_ = kThrough;
  bool is_allowed_ = false, is_trying_ = false;
  bool is_on_trial_ = false;    ///< The operation under way is timed at all members.
  coll::Kind kind_{};           ///< The kind of the calls that are tried.
  std::size_t size_class_ = 0;  ///< The number of bits of their size.
  int others_ = 0;              ///< The calls of other kinds or sizes since the last trial.
  std::size_t written_ = 0;
};

/// The step of operations from Stores::kLeastBytes on in groups that allow trials. It hands over to the algorithm that is
/// selected for the operation, at once or after a trial.
Step choose_stores(Task& task);

/// Returns the way and its reason in words, for explain.
std::string about_stores(const Group& group);

}  // namespace sumac::shm
