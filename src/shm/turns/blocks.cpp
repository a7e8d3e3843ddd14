// Reductions of large vectors: every member owns a block. Each member publishes its part of the blocks that the others
// own (its part of its own block is folded directly from the input), folds its own block, and publishes
// the result for the members that need it: all (allreduce), the root (reduce), or no other (reduce_scatter,
// reduce_scatter_block).
// Exactly one member folds each element, so all members get the same bits. The result of a block lies in its owner's
// slice, at the position where the owner's own contribution would be.
#include "shm/block_shapes.hpp"
#include "shm/steps.hpp"
#include "shm/turns/turns.hpp"

namespace sumac::shm {

namespace {

struct Block {
  std::size_t in_slice;  ///< Its offset in a slice.
  std::size_t in_input;  ///< Its offset in the caller's input.
  std::size_t bytes;
};

/// Cuts the vector into sections of one turn each, and each section into the members' blocks.
class VectorBlocks {
 public:
  static constexpr bool kMoves = false;  ///< In place, a result lies where its block does or before all of it.

  VectorBlocks(const Group& group, const coll::Operation& operation) noexcept
      : total_(operation.bytes),
        members_(static_cast<std::size_t>(group.size())),
        unit_(unit_for(operation.fold->element_bytes)),
        sections_(cut_into_turns(total_, turn_limit(group, group.tuning().large.reduce_turn_bytes), unit_)) {}

  std::size_t turns() const noexcept { return sections_.count; }
  Block block(std::uint64_t turn, int member) const noexcept {
    const std::size_t section = turn * sections_.step;
    const std::size_t bytes = coll::part_at(section, total_, sections_.step);
    const std::size_t each = coll::even_step(bytes, members_, unit_);
    const std::size_t begin = std::min(bytes, static_cast<std::size_t>(member) * each);
    return {begin, section + begin, std::min(each, bytes - begin)};
  }
  std::size_t in_output(std::uint64_t, const Block& own) const noexcept { return own.in_input; }

 private:
  std::size_t total_, members_, unit_;
  coll::Cut sections_;
};

/// For reduce_scatter_block: the members' blocks follow each other in the input, and a turn uses a part of each.
class GivenBlocks {
 public:
  static constexpr bool kMoves = false;

  GivenBlocks(const Group& group, const coll::Operation& operation) noexcept
      : total_(operation.bytes),
        parts_(cut_into_turns(
            total_, turn_limit(group, group.tuning().large.reduce_turn_bytes) / static_cast<std::size_t>(group.size()),
            unit_for(operation.fold->element_bytes))) {}

  std::size_t turns() const noexcept { return parts_.count; }
  Block block(std::uint64_t turn, int member) const noexcept {
    const std::size_t offset = turn * parts_.step;
    const auto m = static_cast<std::size_t>(member);
    return {m * parts_.step, m * total_ + offset, coll::part_at(offset, total_, parts_.step)};
  }
  std::size_t in_output(std::uint64_t turn, const Block&) const noexcept { return turn * parts_.step; }

 private:
  std::size_t total_;
  coll::Cut parts_;
};

/// The same for reduce_scatter, whose blocks differ in length. A turn uses a part of each that is long enough.
class UnevenParts {
 public:
  static constexpr bool kMoves = true;  ///< In place, a result may lie over another part of its block.

  UnevenParts(const Group& group, const coll::Operation& operation) noexcept
      : blocks_(operation.in_blocks),
        parts_(cut_into_turns(
            UnevenBlocks{blocks_}.largest(group.size()),
            turn_limit(group, group.tuning().large.reduce_turn_bytes) / static_cast<std::size_t>(group.size()),
            unit_for(operation.fold->element_bytes))) {}

  std::size_t turns() const noexcept { return parts_.count; }
  Block block(std::uint64_t turn, int member) const noexcept {
    const std::size_t offset = turn * parts_.step;
    return {static_cast<std::size_t>(member) * parts_.step, coll::begin_in_a_row(blocks_, member) + offset,
            coll::part_at(offset, blocks_.bytes(member), parts_.step)};
  }
  std::size_t in_output(std::uint64_t turn, const Block&) const noexcept { return turn * parts_.step; }

 private:
  const coll::Blocks& blocks_;
  coll::Cut parts_;
};

/// The member's share of the work.
struct Part {
  bool keeps;     ///< It stores the result of its block in its output.
  bool tells;     ///< Other members need that result.
  bool collects;  ///< It needs the others' results.
};

template <class Layout>
class BlockFold {
 public:
  BlockFold(Task& task, const Layout& layout, Part part) noexcept
      : group_(*task.group),
        call_(*task.operation),
        turns_(task),
        layout_(layout),
        part_(part),
        members_(group_.size()),
        me_(group_.index()),
        in_(in_bytes(call_)),
        out_(out_bytes(call_)) {}

  Step step(Task& task) {
    if (task.phase == 0) turns_.begin(layout_.turns());
    return drive(
        task, turns_,
        [&] {
          const bool filled = fill();
          const bool folded = fold();
          return collect() || filled || folded;
        },
        [&] { return turns_.taken() == turns_.count(); });
  }

 private:
  bool fill() {
    // The others have read the slice of so long ago, but this member may not have.
    if (copies_own() && turns_.filled() == turns_.folded() + turns_.slices()) return false;
    return turns_.fill([&](std::uint64_t turn, std::byte* slice) {
      for (int m = 0; m < members_; ++m) {
        if (m == me_ && !copies_own()) continue;
        if (const Block block = layout_.block(turn, m); block.bytes != 0)
          copy_in(group_, slice + block.in_slice, in_ + block.in_input, block.bytes);
      }
    });
  }

  bool copies_own() const noexcept { return Layout::kMoves && call_.in_place(); }

  bool fold() {
    const std::uint64_t turn = turns_.folded();
    if (turn == turns_.filled() || !turns_.seen_all(Turns::kWritten, turn, turns_.fold_peers())) return false;
    fold_block(turn, layout_.block(turn, me_));
    ++turns_.folded();
    if (part_.tells) turns_.say(Turns::kFolded, turn);
    if (!part_.collects) turns_.has_taken();
    return true;
  }

  void fold_block(std::uint64_t turn, const Block& block) {
    fold_pieces(group_, call_, block.bytes, part_.keeps ? out_ + layout_.in_output(turn, block) : nullptr,
                part_.tells ? turns_.slice(me_, turn) + block.in_slice : nullptr, [&](int m) -> const std::byte* {
                  return m == me_ && !copies_own() ? in_ + block.in_input : turns_.slice(m, turn) + block.in_slice;
                });
  }

  bool collect() {
    const std::uint64_t turn = turns_.taken();
    if (!part_.collects || turn == turns_.folded()) return false;
    bool moved = false;
    for (std::uint64_t& i = turns_.take_peers(); i + 1 < static_cast<std::uint64_t>(members_); ++i) {
      const int m = turns_.other(i);
      if (!turns_.seen(Turns::kFolded, m, turn)) return moved;
      if (const Block block = layout_.block(turn, m); block.bytes != 0)
        copy_bytes(out_ + layout_.in_output(turn, block), turns_.slice(m, turn) + block.in_slice, block.bytes);
      moved = true;
    }
    turns_.take_peers() = 0;
    turns_.has_taken();
    return true;
  }

  Group& group_;
  const coll::Operation& call_;
  Turns turns_;
  const Layout& layout_;
  Part part_;
  int members_, me_;
  const std::byte* in_;
  std::byte* out_;
};

template <class Layout>
Step run_blocks(Task& task, Part part) {
  const Layout layout(*task.group, *task.operation);
  return BlockFold<Layout>(task, layout, part).step(task);
}

}  // namespace

Step allreduce_blocks(Task& task) {
  return run_blocks<VectorBlocks>(task, {.keeps = true, .tells = true, .collects = true});
}

Step reduce_blocks(Task& task) {
  const bool root = task.group->index() == task.operation->root;
  return run_blocks<VectorBlocks>(task, {.keeps = root, .tells = !root, .collects = root});
}

Step reduce_scatter_blocks(Task& task) {
  return run_blocks<UnevenParts>(task, {.keeps = true, .tells = false, .collects = false});
}

Step reduce_scatter_block_blocks(Task& task) {
  return run_blocks<GivenBlocks>(task, {.keeps = true, .tells = false, .collects = false});
}

}  // namespace sumac::shm
