#pragma once
// A group's choice how its members write what others read. Where the cores share a cache, ordinary stores are twice as
// fast. Where they don't (other dies of an EPYC, other sockets), each line must first be fetched back from the core that
// read it last, and stores past the caches take less than half the time. Both hold at all sizes from some KiB on and for
// all collectives, so one decision serves a group: it is made in the program's own calls (trial.hpp).
#include <cstddef>

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
  void allow() noexcept { is_allowed_ = true; }
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

  /// The way of the operation that is under way.
  bool go_past() const noexcept { return now_ == kPast; }
  /// Is a decision of calls of `bytes` being made, or to be made?
  bool is_open(coll::Kind kind, std::size_t bytes) const noexcept {
    return tries(kind) && bytes >= kLeastBytes && !decision_.is_settled();
  }
  const coll::Decision& decision() const noexcept { return decision_; }

 private:
  friend Step choose_stores(Task& task);

  /// Is this call one of the trials? Called once for each call, in the same order at all members.
  bool tries_next(coll::Kind kind, std::size_t bytes) noexcept;
  /// The trials are over or put off.
  void settle() noexcept;

  coll::Decision decision_;
  coll::Decision::Way now_ = kThrough;
  bool is_allowed_ = false, is_trying_ = false;
  coll::Kind kind_{};   ///< The kind of the calls that are tried.
  int size_class_ = 0;  ///< The number of bits of their size.
  int others_ = 0;      ///< The calls of other kinds or sizes since the last trial.
};

/// The step of operations from Stores::kLeastBytes on in groups that allow trials. It hands over to the algorithm that is
/// selected for the operation, at once or after a trial.
Step choose_stores(Task& task);

/// Returns the way and its reason in words, for explain.
std::string about_stores(const Group& group);

}  // namespace sumac::shm
