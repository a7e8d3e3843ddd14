// Allreduce of large vectors where ranks share cores: a rank does not wait until it has contributed all its data. The
// sum grows along the canonical tree of ranks (docs/protocol.md, "Reproducible sums"), turn by turn. Of two halves the
// rank that arrives second adds both and goes on with the sum: up to the root, or until the other half is not there
// yet. So a rank that has a core works until its part is done, whichever other ranks are running, and the last rank to
// arrive finds the whole sum done when it has added its own values. Each other rank needs its core once more, to copy
// the result.
//
// In `blocks` each rank folds its own block, which needs every rank three times and copies all of each vector through
// memory. Here only half of the vectors are copied, and they are added to while they are in the caches of the core that
// wrote them.
//
// The tree depends on ranks and not on arrival, so all ranks get the same bits in each call.
#include "coll/canonical.hpp"
#include "shm/steps.hpp"
#include "shm/turns/turns.hpp"

namespace sumac::shm {

namespace {

/// The content of Group::meeting(): a turn's number, and the member in whose slice the sum of a half lies.
struct Meeting {
  std::uint64_t number;
  int holder;

  static Meeting from(std::uint64_t word) noexcept {
    return {word / kMembersMax, static_cast<int>(word % kMembersMax)};
  }
  std::uint64_t word() const noexcept { return number * kMembersMax + static_cast<std::uint64_t>(holder); }
};

class Pairs {
 public:
  explicit Pairs(Task& task) noexcept
      : group_(*task.group),
        call_(*task.operation),
        turns_(task),
        parts_(cut_into_turns(call_.bytes, turn_limit(group_, group_.tuning().large.pairs_turn_bytes),
                              unit_for(call_.fold->element_bytes))) {}

  Step step(Task& task) {
    if (task.phase == 0) turns_.begin(parts_.count);
    return drive(
        task, turns_,
        [&] {
          // Results first, because the slice that is filled next may hold one of our results that only we have not
          // taken yet.
          const bool took = take();
          return give() || took;
        },
        [&] { return turns_.taken() == turns_.count(); });
  }

 private:
  std::size_t offset(std::uint64_t turn) const noexcept { return turn * parts_.step; }
  std::size_t bytes(std::uint64_t turn) const noexcept { return coll::part_at(offset(turn), call_.bytes, parts_.step); }

  bool give() const {
    if (turns_.filled() == turns_.taken() + turns_.slices()) return false;
    return turns_.fill([&](std::uint64_t turn, std::byte* slice) { give(turn, slice); });
  }

  /// Contributes this member's part of a turn, and adds it to every half of the sum that has arrived before it.
  void give(std::uint64_t turn, std::byte* slice) const {
    coll::RankBlock block{static_cast<std::uint32_t>(group_.index()), 1};  // The ranks whose sum we have.
    const std::byte* sum = in_bytes(call_) + offset(turn);                 // At first this is the caller's input.
    int holder = -1;                                                       // Later the sum lies in this member's slice.
    while (const auto beside = coll::sibling(block, static_cast<std::uint32_t>(group_.size()))) {
      const bool is_right = beside->first < block.first;
      const std::uint32_t right = is_right ? block.first : beside->first;
      std::atomic<std::uint64_t>& meeting = group_.meeting(static_cast<int>(right), turns_.slot(turn));
      // An acquire load: a member that sees the other half's word also sees its sum.
      std::uint64_t seen = meeting.load(std::memory_order_acquire);
      if (Meeting::from(seen).number != turns_.number(turn)) {
        if (holder < 0) {
          copy_bytes(slice, sum, bytes(turn));
          sum = slice, holder = group_.index();
        }
        // A release store, so that the member that arrives second sees the sum. If both exchange at the same time, one
        // of them sees the other's word.
        seen = meeting.exchange(Meeting{turns_.number(turn), holder}.word(), std::memory_order_acq_rel);
        if (Meeting::from(seen).number != turns_.number(turn)) return;
      }
      const int other = Meeting::from(seen).holder;
      std::byte* const there = turns_.slice(other, turn);
      // The sum stays in the other member's slice, because its lines have to come to this core anyway.
      const std::size_t count = bytes(turn) / call_.fold->element_bytes;
      call_.fold->combine(there, is_right ? there : sum, is_right ? sum : there, count);
      sum = there, holder = other;
      block = {is_right ? beside->first : block.first, block.count + beside->count};
    }
    if (holder < 0) {  // Only a lone member gets here.
      copy_bytes(slice, sum, bytes(turn));
      holder = group_.index();
    }
    // A release store: a member that sees the word also sees the result.
    group_.meeting(0, turns_.slot(turn)).store(Meeting{turns_.number(turn), holder}.word(), std::memory_order_release);
  }

  bool take() {
    const std::uint64_t turn = turns_.taken();
    if (turn == turns_.filled()) return false;
    const auto seen = Meeting::from(group_.meeting(0, turns_.slot(turn)).load(std::memory_order_acquire));
    if (seen.number != turns_.number(turn)) return false;
    copy_bytes(out_bytes(call_) + offset(turn), turns_.slice(seen.holder, turn), bytes(turn));
    turns_.has_taken();
    return true;
  }

  Group& group_;
  const coll::Operation& call_;
  Turns turns_;
  coll::Cut parts_;
};

}  // namespace

Step allreduce_pairs(Task& task) { return Pairs(task).step(task); }

}  // namespace sumac::shm
