#pragma once
// Pairwise collectives over several islands: an alltoall(v), or one with a root, which is a single row or column of it.
// P ranks of which n share an island would send n x (P - n) messages from each host. Instead the leader collects its
// island's blocks for the others and sends one message to each other leader:
//
//   counts   (v)  every member publishes its rows of sizes, to send and to receive: the leader needs them, and the
//                 others must know whether there is anything to gather or to deal at all
//   gather        member m -> leader: its blocks for all remote ranks, in the order of islands
//   (sort)        leader: member by member -> island by island; across: one alltoallv
//   local         meanwhile: the island's own blocks, directly between the users' buffers
//   (sort)        leader: island by island -> receiver by receiver
//   deal          leader -> member: the blocks that all remote ranks have for it
//
// Each byte is copied four times more, which pays only for small blocks. So a block above the limit goes directly from
// rank to rank: with equal blocks all or none, in a v-form each by itself, because the two ranks concerned both know
// its size. No rank has to know the sizes that others exchange, and no message is spent on an agreement.
#include <cstdint>

#include "team/layout.hpp"
#include "team/parcels.hpp"

namespace sumac::team {

class Exchange final : public Parcels {
 public:
  Exchange(const Layout& layout, std::size_t limit);

  void begin(const coll::Operation& operation);
  bool needs(const Phase& phase) const override;
  void fill(const Phase& phase, std::size_t chunk, coll::Operation& operation) override;
  void fill_across(std::size_t chunk, coll::Operation& operation) override;
  bool arrived(std::size_t chunk) override;
  void finish() override;
  /// False: no call of this kind has blocks above the limit.
  bool may_have_direct() const noexcept { return is_v_ || operation_->bytes > limit_; }
  /// Describes the blocks above the limit; returns false if this rank has none.
  bool fill_direct(coll::Operation& operation);

 private:
  /// The user's blocks, one for each rank of the team.
  struct Side {
    std::byte* data = nullptr;
    coll::Share share{};
    coll::Blocks blocks{};
  };

  bool sends_to(int rank) const { return coll::has_block(operation_->kind, operation_->root, layout_.rank, rank); }
  bool gets_from(int rank) const { return coll::has_block(operation_->kind, operation_->root, rank, layout_.rank); }
  std::size_t block_bytes(const Side& side, int rank) const;
  std::byte* block_at(const Side& side, int rank) const;
  /// The i-th block of a row, in the user's counting, is the one for, or from, `rank`.
  std::size_t put_block(Row& row, std::size_t i, const Side& side, int rank) const;
  std::size_t unit_of(const Side& side) const;
  std::size_t to_bytes(int rank) const;
  std::size_t from_bytes(int rank) const;
  const std::byte* to(int rank) const;
  std::byte* from(int rank) const;
  void note_sizes();
  void note_sizes_of(int rank, std::uint32_t* row) const;
  void pack();
  void copy_own();
  /// Return the sizes of member m's blocks for the remote ranks, and of the blocks from them.
  const std::uint32_t* sends(std::size_t m) const { return sizes_.data() + row_of(m); }
  const std::uint32_t* gets(std::size_t m) const { return sends(m) + remote_.size(); }
  std::size_t row_of(std::size_t m) const { return rows_ > 1 ? m * 2 * remote_.size() : 0; }
  static std::size_t sum(const std::uint32_t* sizes, std::size_t count);
  /// Behind an alltoallv's blocks from one island to another lies a sum over the sizes of each. So ranks whose counts do not fit
  /// together find out, also where the bytes of all blocks together are the same.
  static constexpr std::size_t kSeal = sizeof(std::uint64_t);
  std::size_t seal_bytes() const { return operation_->kind == coll::Kind::alltoallv ? kSeal : 0; }
  std::uint64_t seal_of_leaving(std::size_t island) const;
  std::uint64_t seal_of_arriving(std::size_t island) const;
  void fill_gather(coll::Operation& operation);
  void fill_local(coll::Operation& operation);
  void fill_deal(coll::Operation& operation);

  const Layout& layout_;
  const std::size_t limit_;
  std::vector<int> remote_;          ///< The ranks of the other islands, island by island.
  std::vector<std::size_t> begins_;  ///< [islands + 1] The index in remote_ at which each island begins; the own one is
                                     ///< empty.
  std::size_t members_, me_;

  const coll::Operation* operation_ = nullptr;
  bool is_v_ = false;
  bool keeps_own_ = false;  ///< In place: this rank's own block already lies in its final position.
  Side send_, get_;
  /// For each member a row of sizes to send, then a row of sizes to receive; only one pair if all members have the
  /// same.
  std::vector<std::uint32_t> sizes_;
  std::size_t rows_ = 1;
  Row in_row_, out_row_;     ///< For the current phase.
  SmallRow leaves_, comes_;  ///< For the leaders' collective, which other phases overlap.
  Row direct_in_, direct_out_;
  Room packed_;   ///< A member's blocks for remote ranks; at the leader those of all members.
  Room leaving_;  ///< Leader: the same, island by island.
  Room arrived_;  ///< Leader: from the other islands.
  Room sorted_;   ///< At the leader: the blocks for each member; at a member: its own.
  Room direct_;  ///< In place: blocks that leave directly are copied first, because other blocks arrive where they lie.
  std::vector<std::size_t> cursors_;
  std::byte nothing_[8] = {};
};

}  // namespace sumac::team
