// Allreduce of large vectors where ranks share cores: nobody waits until it has given all it has. The sum grows along the
// canonical tree of ranks (docs/protocol.md, "Reproducible sums"), turn by turn, and of two halves whoever comes second adds both
// and goes on as one: up to the root, or to where the other half is not there yet. So a rank that is on a core works until its
// part is done, whoever else is on one, and the last to come finds all of the sum done when it has added its own. Each of the
// others needs its core once more, to copy the result.
//
// `blocks` has each rank fold its own block, which needs every rank three times, and a copy of all of each vector to memory
// between them; here it is half of them, which are added to while they are in the caches of the core that wrote them.
//
// The tree is one of ranks and not of arrival: the same bits at everybody, in each call.
#include "shm/steps.hpp"
#include "shm/turns.hpp"

namespace sumac::shm {

namespace {

/// What stands in Group::meeting(): a turn's number, and the member in whose slice the sum of a half lies.
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
        chunks_(cut(call_.bytes, turn_limit(group_, group_.tuning().large.pairs_turn_bytes),
                    unit_for(call_.fold->element_bytes))) {}

  Step step(Task& task) {
    if (task.phase == 0) turns_.begin(chunks_.count);
    return drive(
        task, turns_,
        [&] {
          // Results first: the slice that is filled next may hold one of ours that only we have not taken yet.
          const bool took = take();
          return give() || took;
        },
        [&] { return turns_.taken() == turns_.count(); });
  }

 private:
  std::size_t offset(std::uint64_t turn) const noexcept { return turn * chunks_.bytes; }
  std::size_t bytes(std::uint64_t turn) const noexcept { return part_at(offset(turn), call_.bytes, chunks_.bytes); }

  bool give() const {
    if (turns_.filled() == turns_.taken() + turns_.slices()) return false;
    return turns_.fill([&](std::uint64_t turn, std::byte* slice) { give(turn, slice); });
  }

  /// This member's part of a turn, and all sums that it comes second to.
  void give(std::uint64_t turn, std::byte* slice) const {
    const auto n = static_cast<unsigned>(group_.size());
    unsigned begin = static_cast<unsigned>(group_.index());  // of the block of ranks whose sum we have
    const std::byte* sum = in_bytes(call_) + offset(turn);   // at first where the caller has it
    int holder = -1;                                         // and then in that member's slice
    for (unsigned length = 1; length < n; length *= 2) {
      const bool is_right = (begin & length) != 0;
      if (!is_right && begin + length >= n) continue;  // there is no right half
      std::atomic<std::uint64_t>& meeting = group_.meeting(static_cast<int>(begin | length), turns_.slot(turn));
      // Acquire: who sees the other half's word sees its sum.
      std::uint64_t seen = meeting.load(std::memory_order_acquire);
      if (Meeting::from(seen).number != turns_.number(turn)) {
        if (holder < 0) {
          std::memcpy(slice, sum, bytes(turn));
          sum = slice, holder = group_.index();
        }
        // Release: the sum is there for who comes second. Of two who exchange at the same time one sees the other's word.
        seen = meeting.exchange(Meeting{turns_.number(turn), holder}.word(), std::memory_order_acq_rel);
        if (Meeting::from(seen).number != turns_.number(turn)) return;
      }
      const int other = Meeting::from(seen).holder;
      std::byte* const there = turns_.slice(other, turn);
      // In place: its lines have to come here anyway.
      const std::size_t count = bytes(turn) / call_.fold->element_bytes;
      call_.fold->combine(there, is_right ? there : sum, is_right ? sum : there, count);
      sum = there, holder = other;
      begin &= ~length;
    }
    if (holder < 0) {  // alone
      std::memcpy(slice, sum, bytes(turn));
      holder = group_.index();
    }
    // Release: the result is there for who sees the word.
    group_.meeting(0, turns_.slot(turn)).store(Meeting{turns_.number(turn), holder}.word(), std::memory_order_release);
  }

  bool take() {
    const std::uint64_t turn = turns_.taken();
    if (turn == turns_.filled()) return false;
    const auto seen = Meeting::from(group_.meeting(0, turns_.slot(turn)).load(std::memory_order_acquire));
    if (seen.number != turns_.number(turn)) return false;
    std::memcpy(out_bytes(call_) + offset(turn), turns_.slice(seen.holder, turn), bytes(turn));
    turns_.has_taken();
    return true;
  }

  Group& group_;
  const coll::Operation& call_;
  Turns turns_;
  Chunks chunks_;
};

}  // namespace

Step allreduce_pairs(Task& task) { return Pairs(task).step(task); }

}  // namespace sumac::shm
