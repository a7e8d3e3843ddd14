// Large scans. A member publishes one sum and reads at most log2(n) others. [0, r) is, from the left, one canonical block
// (coll/canonical.hpp) for each bit of r, the largest first:
//
//   13 = 8 + 4 + 1   [0, 8)  [8, 12)  [12]      scan of member 13 = [0, 8) + ([8, 12) + (12 + own))
//                                              exscan = [0, 8) + ([8, 12) + 12)
//
// A member adds these blocks to its own values, the nearest first. Once it has added those of the lowest bits of r that are
// set without a gap, it has the sum of the largest canonical block that ends with it, and publishes that one: [12, 14) at
// member 13, [8, 12) at member 11. Each block above is one that its last member has published.
#include <bit>

#include "shm/steps.hpp"
#include "shm/turns/turns.hpp"

namespace sumac::shm {

namespace {

class Scan {
 public:
  Scan(Task& task, bool is_exclusive) noexcept
      : group_(*task.group),
        call_(*task.operation),
        turns_(task),
        me_(group_.index()),
        is_exclusive_(is_exclusive),
        parts_(cut(group_, call_)) {
    const auto before = static_cast<unsigned>(me_);
    near_ = static_cast<std::size_t>(std::countr_one(before));
    for (unsigned left = before; left != 0; left &= left - 1) blocks_[count_++] = static_cast<std::uint8_t>(left - 1);
  }

  Step step(Task& task) {
    if (task.phase == 0) turns_.begin(parts_.count);
    return drive(
        task, turns_,
        [&] {
          const bool filled = fill();
          return take() || filled;
        },
        [&] { return turns_.taken() == turns_.count(); });
  }

 private:
  static coll::Cut cut(const Group& group, const coll::Operation& call) noexcept {
    const LargeTuning& large = group.tuning().large;
    return cut_one_way(call.bytes, turn_limit(group, large.stream_turn_bytes), large.one_way_turns,
                       unit_for(call.fold->element_bytes));
  }
  bool is_last() const noexcept { return me_ + 1 == group_.size(); }
  std::size_t offset(std::uint64_t turn) const noexcept { return turn * parts_.step; }
  std::size_t bytes(std::uint64_t turn) const noexcept { return coll::part_at(offset(turn), call_.bytes, parts_.step); }

  bool have_arrived(std::uint64_t turn, std::size_t first, std::size_t end) const noexcept {
    for (std::size_t i = first; i < end; ++i)
      if (!turns_.seen(Turns::kWritten, blocks_[i], turn)) return false;
    return true;
  }
  /// Adds blocks to `own`, into the member's output; returns where the sum lies.
  const std::byte* add(std::uint64_t turn, std::size_t first, std::size_t end, const std::byte* own) {
    std::byte* const out = out_bytes(call_) + offset(turn);
    for (std::size_t i = first; i < end; ++i) {
      call_.fold->combine(out, turns_.slice(blocks_[i], turn), own, bytes(turn) / call_.fold->element_bytes);
      own = out;
    }
    return own;
  }

  /// The sum of the block that ends with this member.
  bool fill() {
    const std::uint64_t turn = turns_.filled();
    if (is_last() || turn == turns_.count() || !turns_.free(turn) || !have_arrived(turn, 0, near_)) return false;
    return turns_.fill([&](std::uint64_t, std::byte* slice) {
      const std::byte* const own = in_bytes(call_) + offset(turn);
      if (is_exclusive_ && near_ > 0) return add_own(turn, own, slice);
      copy_in(group_, slice, add(turn, 0, near_, own), bytes(turn));
    });
  }
  /// The same where the member's own values are no part of its result.
  void add_own(std::uint64_t turn, const std::byte* own, std::byte* slice) {
    alignas(kCacheLine) std::byte sum[coll::kSpareBytes];
    const std::size_t step = fold_step(std::min(group_.tuning().large.fold_bytes, coll::kSpareBytes), 1, *call_.fold);
    for (std::size_t at = 0; at < bytes(turn); at += step) {
      const std::size_t now = std::min(step, bytes(turn) - at);
      const std::byte* right = own + at;
      for (std::size_t i = 0; i < near_; ++i, right = sum)
        call_.fold->combine(sum, turns_.slice(blocks_[i], turn) + at, right, now / call_.fold->element_bytes);
      copy_in(group_, slice + at, sum, now);
    }
  }

  bool take() {
    const std::uint64_t turn = turns_.taken();
    if (turn == turns_.filled() && !is_last()) return false;
    const std::size_t first = is_last() || is_exclusive_ ? 0 : near_;
    if (!have_arrived(turn, first, count_)) return false;
    std::byte* const out = out_bytes(call_) + offset(turn);
    if (const std::byte* const sum = result(turn, first); sum != nullptr && sum != out)
      copy_bytes(out, sum, bytes(turn));
    turns_.has_taken();
    return true;
  }
  /// Returns where the result lies once the blocks from `first` on are added; null: there is none.
  const std::byte* result(std::uint64_t turn, std::size_t first) {
    if (is_exclusive_) return count_ == 0 ? nullptr : add(turn, 1, count_, turns_.slice(blocks_[0], turn));
    return add(turn, first, count_, (first == 0 ? in_bytes(call_) : out_bytes(call_)) + offset(turn));
  }

  Group& group_;
  const coll::Operation& call_;
  Turns turns_;
  int me_;
  bool is_exclusive_;
  coll::Cut parts_;
  std::size_t near_ = 0, count_ = 0;
  /// The members that publish the blocks before this member, the nearest block first.
  std::array<std::uint8_t, 8> blocks_{};
};
static_assert(kMembersMax <= 256, "a member's number has at most 8 bits");

}  // namespace

Step scan_stream(Task& task) { return Scan(task, false).step(task); }
Step exscan_stream(Task& task) { return Scan(task, true).step(task); }

}  // namespace sumac::shm
