#pragma once
// One member's view of a subgroup of the host's ranks.
//
// Rounds. Everything a group does is cut into rounds, numbered from 1 and taken in the same order by every member; an
// operation is one round or several. In a round a member may publish: it writes its inline line (up to 48 bytes) or its
// eager buffer, then stores the round's number into the line. Readers wait for that number.
//
// Who may overwrite what. Lines are a ring of 8, eager buffers a ring of 4: before writing those of round r their last
// readers, of round r-8 or r-4, must be through. `everyone_done` is the newest round of which this member knows that all
// others have completed it:
//   - having seen everybody's number r, everybody has entered r, hence completed r-1 (see_all). So kinds in which each
//     waits for each (barrier, allreduce, allgather ...) never have to ask: two buffers would do.
//   - otherwise (bcast, reduce: some run ahead) wait_room() reads the others' `done` counters, once per several rounds.
// Every member stores `done` at the end of each round, also of those in which it published or read nothing.
//
// Only the oldest unfinished operation of a group is stepped, and by one thread at a time; that is the caller's duty.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "shm/algorithms.hpp"
#include "shm/crowd.hpp"
#include "shm/decision.hpp"
#include "shm/layout.hpp"
#include "shm/liveness.hpp"
#include "shm/segment.hpp"
#include "shm/waiting.hpp"

namespace sumac::shm {

struct Member {
  int host_member = 0;  ///< Its number in the segment.
  int rank = 0;         ///< What errors call it: its rank in the communicator.
};

class Group {
 public:
  /// `number`: which group of the segment's shape. `segment` and `waiting` outlive the group.
  Group(Segment& segment, std::size_t number, std::vector<Member> members, int index, const Waiting& waiting,
        const Tuning& tuning);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int size() const noexcept { return size_; }
  int index() const noexcept { return index_; }
  const Tuning& tuning() const noexcept { return tuning_; }
  void set_tuning(const Tuning& tuning) {  ///< The same at every member, between operations.
    tuning_ = tuning;
    tuning_.keep_usable(*this);
  }
  const Waiting& waiting() const noexcept { return waiting_; }
  std::uint32_t polls() const noexcept { return polls_; }  ///< For Operation::polls of a blocking caller.
  std::size_t eager_bytes() const noexcept { return eager_bytes_; }
  std::size_t large_bytes() const noexcept { return large_bytes_; }

  // ---- Rounds, for algorithms.

  /// The next round's number; every member takes it at the same place of the same operation.
  std::uint64_t next_round() noexcept { return ++round_; }
  std::uint64_t round() const noexcept { return round_; }

  Line& line(int member, std::uint64_t round) const noexcept {
    return lines_[static_cast<std::size_t>(member) * kLineRing + round % kLineRing];
  }
  std::byte* eager(int member, std::uint64_t round) const noexcept {
    return eager_ + static_cast<std::size_t>(member) * eager_stride_ + stagger(member) +
           round % kEagerRing * eager_bytes_;
  }
  /// This member's own area of large_bytes() for the algorithms of large messages, and how far they have come: turns.hpp
  /// says who may write to it and when.
  std::byte* large(int member) const noexcept {
    return large_ + static_cast<std::size_t>(member) * large_stride_ + stagger(member);
  }
  struct Turning {
    std::uint64_t taken = 0;              ///< Turns of all operations so far, the same number at every member.
    std::uint64_t everyone_finished = 0;  ///< The newest turn of which this member knows that all are through with it.
    bool single_copy = false;             ///< agree_on_single_copy() found that everybody may read everybody's memory.
  } turning;
  /// How large messages go, where there are two ways: groups of two that agreed on single copy; else null.
  std::unique_ptr<Decisions> decisions;

  /// Monotone counters of their own for algorithms that pipeline. Only `member` itself stores, with release.
  std::atomic<std::uint64_t>& counter(int member, std::size_t which) const noexcept {
    return controls_[member].counters[which].value;
  }
  /// Where two halves of a sum meet, for one slice of the ring: the right half begins with `member`. pairs.cpp says who stores.
  std::atomic<std::uint64_t>& meeting(int member, std::size_t slot) const noexcept {
    return controls_[member].meetings[slot];
  }

  /// Is the line (ring 8) or eager buffer (ring 4) of `round` free to be written?
  bool room(std::uint64_t round, std::size_t ring) noexcept {
    return everyone_done_ + ring >= round || wait_done(round - ring);
  }
  /// Looks once whether every member has completed `round`; remembers.
  bool wait_done(std::uint64_t round) noexcept;
  /// Everybody's number `round` has been seen.
  void see_all(std::uint64_t round) noexcept { everyone_done_ = round - 1; }
  /// This member reads nothing of `round` any more, and its result is complete.
  void complete(std::uint64_t round) noexcept {
    // Release: whoever sees the number may overwrite what we have read before.
    controls_[index_].done.value.store(round, std::memory_order_release);
  }

  /// Before this member writes into others' memory (single.cpp): may it? False once somebody has found the group broken, for
  /// who has may have left the operation. Everybody else then waits for leave_others(), so nothing but copying goes between.
  bool enter_others() noexcept;
  void leave_others() noexcept;

  /// Where members are, if there are more ranks than cores.
  Crowd& crowd() noexcept { return crowd_; }

  /// An operation of single copy has found that the system copies somebody's memory for nobody, and goes another way. The same number at
  /// every member.
  void count_closed() noexcept { ++closed_; }
  std::uint64_t closed() const noexcept { return closed_; }

  /// The process of a member, for algorithms that read its memory directly (CMA).
  const ProcessName& process(int member) const noexcept;

  // ---- Death.

  /// Errc::ok, or why nothing works any more; error() in words.
  Errc broken() const noexcept { return broken_; }
  std::string error() const;
  /// Asks the system about every member; Errc::lost once one of them is dead. For who has waited for milliseconds.
  Errc look_for_dead() noexcept;
  /// The same, but at most every 10 ms.
  Errc look_for_dead_now_and_then() noexcept;
  /// Breaks the group at this member for another reason (its team failed), and tells all groups of the segment: whoever of them
  /// waits finds out within 10 ms. `why` lives for ever.
  void break_because(Errc code, const char* why) noexcept;

 private:
  Life life(int member) const;
  /// Having told everybody that the group is broken: nobody writes into this member's memory any more.
  void await_writers() const noexcept;

  // What the hot path reads stands first, in two cache lines.
  Line* lines_;
  Control* controls_;
  std::uint64_t round_ = 0;
  std::uint64_t everyone_done_ = 0;
  int size_;
  int index_;
  Errc broken_ = Errc::ok;
  std::uint32_t polls_;
  std::byte* eager_;
  std::size_t eager_stride_;
  std::size_t eager_bytes_;
  std::byte* large_;
  std::size_t large_stride_;
  std::size_t large_bytes_;
  Tuning tuning_;
  Crowd crowd_;

  const Waiting& waiting_;
  Segment& segment_;
  std::vector<Member> members_;
  std::int32_t culprit_ = 0;  ///< As SegmentHeader::culprit.
  const char* why_ = "";
  Time looked_{};
  std::uint64_t closed_ = 0;
};

}  // namespace sumac::shm
