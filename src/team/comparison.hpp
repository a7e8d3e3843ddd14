#pragma once
// Compares shared memory with the next module in the program's own calls. Which of them moves large blocks faster depends
// on the machine and on the MPI, and on whether the program uses the same buffers again and again: no constant tells it.
// So the first blocking calls of a collective and size go both ways, and the better one serves the rest.
//
// Only collectives that move data are compared: another module's sums may have other bits.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "base/clock.hpp"
#include "coll/decision.hpp"
#include "coll/operation.hpp"
#include "shm/group.hpp"

namespace sumac::team {

class Comparison {
 public:
  explicit Comparison(Time (*clock)() = monotonic_now) noexcept : clock_(clock) {}

  /// Smaller calls are never compared: there shared memory wins everywhere, and a trial would cost more than a call.
  static constexpr std::size_t kLeastBytes = 16 * 1024;
  static constexpr std::size_t kClasses = 10;

  /// True for the kinds that are compared. The v-forms are not: their size is not the same at every rank.
  static constexpr bool compares(coll::Kind kind) noexcept {
    return !coll::collective(kind).reduces && coll::has_size(kind);
  }
  /// The classes of `bytes` are up to 32 KiB, 64 KiB, ... 8 MiB, and more.
  static constexpr std::size_t class_of(std::size_t bytes) noexcept {
    const std::size_t units = bytes <= kLeastBytes ? 1 : (bytes - 1) / kLeastBytes;
    return std::min(static_cast<std::size_t>(std::bit_width(units)) - 1, kClasses - 1);
  }

  /// Rooted calls of at most this size that follow each other are shared memory's: there a root or leaf runs ahead, which a
  /// trial behind a meeting does not see. Two Xeon cores (model 167), 32 KiB, us shared memory / Open MPI 4.1: in a row bcast
  /// 1.7 / 2.2, scatter 2.5 / 2.8, gather 2.4 / 2.6; behind a barrier 3.1 / 2.0, 3.0 / 2.8, 3.1 / 2.7. From 64 KiB on they are
  /// as good in a row, or single copy is better.
  static constexpr std::size_t kRowBytesMost = 32 * 1024;
  static constexpr bool comes_in_rows(coll::Kind kind, std::size_t bytes) noexcept {
    return coll::collective(kind).has_root && bytes <= kRowBytesMost;
  }

  /// True if the next module is known to be faster and does the next call. Otherwise ask takes(). This needs no other
  /// member and no turn: the next module should have its own time and no more.
  bool leaves(coll::Kind kind, std::size_t bytes) noexcept {
    coll::Decision& decision = all_[index_of(kind)][class_of(bytes)];
    on_trial_ = nullptr;  // A trial that failed is over.
    // Whether a call follows another one is known only when all that was posted before is done.
    if (comes_in_rows(kind, bytes)) return false;
    return decision.is_settled() && decision.way() == coll::Decision::Way::second && decision.count();
  }
  /// Decides about the next call, at all members alike. A trial begins with a meeting of all members, in which they learn
  /// the times of the last one. Returns false if the next module does the call; true also if the group is broken.
  bool takes(shm::Group& group, const coll::Operation& operation);
  /// Records the end of the call that takes() decided about, done by either.
  void done() noexcept;
  /// The same for a call that shared memory did.
  void done(const shm::Group& group, coll::Kind kind) noexcept {
    done();
    last_ = Call::at(group, kind);
  }

  /// The decision as it stands, for explain.
  const coll::Decision& of(coll::Kind kind, std::size_t bytes) const noexcept {
    return all_[index_of(kind)][class_of(bytes)];
  }

 private:
  /// A call and the group's counters behind it, which any other call in shared memory moves on. They are the same at every member.
  struct Call {
    coll::Kind kind{};
    std::uint64_t round = 0, turn = 0;

    static Call at(const shm::Group& group, coll::Kind kind) noexcept {
      return {kind, group.round(), group.turning.taken};
    }
    bool operator==(const Call&) const = default;
  };
  bool decide(shm::Group& group, const coll::Operation& operation);
  bool learn(shm::Group& group, coll::Decision& decision);

  std::array<std::array<coll::Decision, kClasses>, coll::kKinds> all_{};
  Call last_;
  coll::Decision* on_trial_ = nullptr;  ///< The decision whose trial is under way.
  std::size_t bytes_ = 0;
  bool has_areas_ = false;  ///< The pages of shared memory's large areas are there.
  Time (*clock_)();         ///< Read when all members have met, and when the call is done.
  Time began_{};
};

}  // namespace sumac::team
