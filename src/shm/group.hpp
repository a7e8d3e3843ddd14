#pragma once
// One member's view of a subgroup of the host's ranks.
//
// Everything a group does is cut into rounds, numbered from 1, which every member takes in the same order; an operation
// is one round or several. In a round a member may publish: it writes its inline line (up to 48 bytes) or its eager
// buffer, then stores the round's number into the line. Readers wait for that number.
//
// Lines are a ring of 8 and eager buffers a ring of 4: before a member writes those of round r, every reader of round
// r-8 or r-4 must have finished. `everyone_done` is the newest round that all others have completed, as far as this
// member knows:
//   - A member that has seen every number r knows that all have entered r and hence completed r-1 (see_all). So kinds
//     in which each waits for each (barrier, allreduce, allgather ...) never have to ask: two buffers would be enough.
//   - In rooted kinds (bcast, scatter, reduce, gather) the members that only write run ahead of those that read. Their
//     rounds have longer rings (rooted.hpp), and room() reads the others' `done` counters when such a ring is full.
// Every member stores `done` at the end of each round, also of rounds in which it published or read nothing.
//
// The caller must step only the oldest unfinished operation of a group, and in one thread at a time.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "shm/algorithms.hpp"
#include "shm/crowd.hpp"
#include "shm/segment/layout.hpp"
#include "shm/segment/liveness.hpp"
#include "shm/segment/segment.hpp"
#include "shm/single/decisions.hpp"
#include "shm/stores.hpp"
#include "shm/waiting.hpp"

namespace sumac::shm {

/// The error of a group says this of a member that gave up.
inline constexpr std::string_view kGaveUp = "gave up";

struct Member {
  int host_member = 0;  ///< Its index in the segment.
  int rank = 0;         ///< Its rank in the communicator, by which errors name it.
  int domain = 0;  ///< Members with the same number share memory that is close to all of them (a NUMA node, a socket).
};

/// Returns the order in which member `index` visits the others: first its own domain, from the member after it on; then
/// the next domains, in each from the member on that has its own position there. So the memory of a domain is read by
/// its own members first, and the members of a domain spread over those of another instead of all reading from the same
/// one. With one domain it is the order of ranks, from the member after `index` on.
std::vector<std::uint16_t> visiting_order(const std::vector<Member>& members, int index);

/// Stores to the member's own control and lines, in pages that were never touched: the system then takes the pages from
/// the NUMA node on which this process runs. It must be called before any member may poll those lines, since a reader's
/// touch would decide as well. Eager and large areas need none, because their owner writes them before others read.
void touch_own_lines(Segment& segment, std::size_t number, int index) noexcept;

class Group;
/// Makes the system allocate this member's large area at once, instead of page by page in the first large operations.
void touch_own_area(const Group& group) noexcept;
/// Makes the system map the areas that the other members have touched, as the first large operations would.
void map_areas(const Group& group) noexcept;

class Group {
 public:
  /// `number` is the group's index in the segment's shape. `segment` and `waiting` must outlive the group.
  Group(Segment& segment, std::size_t number, std::vector<Member> members, int index, const WaitSettings& waiting,
        const Tuning& tuning);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int size() const noexcept { return size_; }
  int index() const noexcept { return index_; }
  const Tuning& tuning() const noexcept { return tuning_; }
  void set_tuning(const Tuning& tuning) {  ///< Every member must set the same one, between operations.
    tuning_ = tuning;
    tuning_.keep_usable(*this);
  }
  const WaitSettings& waiting() const noexcept { return waiting_; }
  std::uint32_t polls() const noexcept { return polls_; }  ///< For Operation::polls of a blocking caller.
  std::size_t eager_bytes() const noexcept { return eager_bytes_; }
  std::size_t large_bytes() const noexcept { return large_bytes_; }

  // ---- Rounds, for algorithms.

  /// Returns the next round's number; every member takes it at the same point of the same operation.
  std::uint64_t next_round() noexcept { return ++round_; }
  std::uint64_t round() const noexcept { return round_; }

  Line& line(int member, std::uint64_t round) const noexcept {
    return lines_[static_cast<std::size_t>(member) * kLineRing + round % kLineRing];
  }
  std::byte* eager(int member, std::uint64_t round) const noexcept {
    return eager_ + static_cast<std::size_t>(member) * eager_stride_ + stagger(member) +
           round % kEagerRing * eager_bytes_;
  }
  /// A member's rings for rooted collectives (rooted.hpp).
  RootedArea& rooted(int member) const noexcept {
    return *reinterpret_cast<RootedArea*>(rooted_ + static_cast<std::size_t>(member) * kRootedStride + stagger(member));
  }
  /// A member's own area of large_bytes() for the algorithms of large messages, and below how far those have come. The
  /// top of turns.hpp says which member may write to it and when.
  std::byte* large(int member) const noexcept {
    return large_ + static_cast<std::size_t>(member) * large_stride_ + stagger(member);
  }
  struct Turning {
    std::uint64_t taken = 0;              ///< The turns of all operations so far: the same number at every member.
    std::uint64_t everyone_finished = 0;  ///< The newest turn that all members have finished, as far as this member
                                          ///< knows.
    bool single_copy = false;  ///< agree_on_single_copy() found that every member may read every other's memory.
  } turning;
  /// The choice between shared memory and single copy for large messages. It exists in groups of two that agreed on
  /// single copy; else it is null.
  std::unique_ptr<Decisions> decisions;
  Stores stores;

  /// Monotone counters for algorithms that pipeline. Only `member` itself stores, with release.
  std::atomic<std::uint64_t>& counter(int member, std::size_t which) const noexcept {
    return controls_[member].counters[which].value;
  }
  /// The word at which two halves of a sum meet, for one slice of the ring: the right half begins with `member`.
  /// pairs.cpp says which members store it.
  std::atomic<std::uint64_t>& meeting(int member, std::size_t slot) const noexcept {
    return controls_[member].meetings[slot];
  }

  /// May this member write the line (ring of 8) or eager buffer (ring of 4) of `round`?
  bool room(std::uint64_t round, std::size_t ring) noexcept {
    return everyone_done_ + ring >= round || wait_done(round - ring);
  }
  /// Does the same for a ring of rooted collectives. Once the ring is found full, its writer waits until half of it is
  /// free: a writer that looked at `done` again for each buffer would take that line from the reader at each of its calls.
  bool room_ahead(std::uint64_t round, std::size_t ring) noexcept {
    return everyone_done_ + ring >= round || free_half(round, ring);
  }
  /// Checks once whether every member has completed `round`, and remembers the newest round that all have completed.
  bool wait_done(std::uint64_t round) noexcept;
  /// Records that this member has seen every number of `round`.
  void see_all(std::uint64_t round) noexcept { everyone_done_ = round - 1; }
  /// Did all members meet in the round before `round`, as far as this member knows?
  bool met_before(std::uint64_t round) const noexcept { return everyone_done_ + 2 >= round; }
  /// Records that this member reads nothing of `round` any more and that its result is complete.
  void complete(std::uint64_t round) noexcept {
    // A release store: a member that sees the number may overwrite the bytes that we have read before.
    controls_[index_].done.value.store(round, std::memory_order_release);
  }

  /// Asks for permission to write into other members' memory (single.cpp). Returns false once a member has found the
  /// group broken, because that member may have returned from the operation. That member in turn waits for
  /// leave_others(), so only the copy itself may stand between the two calls.
  bool enter_others() noexcept;
  void leave_others() noexcept;

  /// The cores on which the members run, for the case that there are more ranks than cores.
  Crowd& crowd() noexcept { return crowd_; }

  /// Counts an operation of single copy that found memory which the system does not copy for other processes, and so
  /// used shared memory. The number is the same at every member.
  void count_closed() noexcept { ++closed_; }
  std::uint64_t closed() const noexcept { return closed_; }

  /// Records that the system has refused this member the memory of another one, which the two had tried with success
  /// when the group was made.
  void note_refusal() noexcept { was_refused_ = true; }
  bool was_refused() const noexcept { return was_refused_; }

  /// Returns the i-th other member in this member's visiting_order(); i < size - 1.
  int other(std::uint64_t i) const noexcept { return others_[i]; }

  /// The process of a member, for algorithms that access its memory directly (CMA).
  const ProcessName& process(int member) const noexcept;

  // ---- Who waits.

  /// Notes that this member waits in the group, at `now_ns` of CLOCK_MONOTONIC. Relaxed: the time orders nothing.
  void note_waiting(std::int64_t now_ns) noexcept {
    controls_[index_].waited_ns.store(now_ns, std::memory_order_relaxed);
  }
  std::int64_t waited_at(int member) const noexcept {
    return controls_[member].waited_ns.load(std::memory_order_relaxed);
  }

  // ---- Death.

  /// Errc::ok, or the reason why the group is of no more use; error() gives it in words.
  Errc broken() const noexcept { return broken_; }
  std::string error() const;
  /// The rank whose death made it, by the number that people know; -1: nobody has died.
  int dead_rank() const noexcept;
  /// Asks the system about every member and returns Errc::lost once one of them is dead. Meant for a caller that has
  /// waited for milliseconds.
  Errc look_for_dead() noexcept;
  /// Does the same, but at most once in 10 ms.
  Errc look_for_dead_now_and_then() noexcept;
  /// Breaks the group at this member for another reason (its team failed) and marks all groups of the segment: their
  /// waiting members notice within 10 ms. `why` must outlive the group.
  void break_because(Errc code, const char* why) noexcept;

 private:
  bool free_half(std::uint64_t round, std::size_t ring) noexcept;
  /// Reads the others' counters and remembers the newest round that all have completed.
  void look_at_done() noexcept;
  Life life(int member) const;
  /// After the break has been announced: waits until no member writes into this member's memory any more.
  void await_writers() const noexcept;

  // The fields that the hot path reads stand first, in two cache lines.
  Line* lines_;
  Control* controls_;
  std::uint64_t round_ = 0;
  std::uint64_t everyone_done_ = 0;
  std::uint64_t half_free_at_ = 0;  ///< A full ring takes more once all have completed this round (room_ahead()).
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
  std::byte* rooted_;
  std::vector<std::uint16_t> others_;  ///< [size - 1]
  Tuning tuning_;
  Crowd crowd_;

  const WaitSettings& waiting_;
  Segment& segment_;
  std::vector<Member> members_;
  std::int32_t culprit_ = 0;  ///< Has the meaning of SegmentHeader::culprit.
  const char* why_ = "";
  Time looked_{};
  std::uint64_t closed_ = 0;
  bool was_refused_ = false;
};

}  // namespace sumac::shm
