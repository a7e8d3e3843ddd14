#pragma once
// Pairwise collectives over several islands: an alltoall(v), of which one with a root has a single row or column. P ranks of which n
// share an island would send n x (P - n) messages from each host; here the leader collects what its island has for the others
// and sends one message to each of them:
//
//   counts   (v)  every member tells its row of sizes, for what it sends and for what it gets: the leader has to know, and the
//                 others must know whether there is anything to gather or to deal at all
//   gather        member m -> leader: its blocks for all remote ranks, in the order of islands
//   (sort)        leader: member by member -> island by island; across: one alltoallv
//   local         meanwhile: the island's own blocks, straight between the users' buffers
//   (sort)        leader: island by island -> receiver by receiver
//   deal          leader -> member: what all remote ranks have for it
//
// Each byte is copied four times more, which only small blocks repay. So a block above the limit goes directly from rank
// to rank: where blocks are equal all or none, of a v-form each by itself, for the two ranks concerned both know its size. No
// rank has to know what the others exchange, and no message is spent on agreeing.
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
  void arrived(std::size_t chunk) override;
  void finish() override;
  /// The blocks above the limit; false: this rank has none.
  bool fill_direct(coll::Operation& operation);

 private:
  /// Blocks of the operation's user, for each rank of the team.
  struct Side {
    std::byte* data = nullptr;
    coll::Share share{};
    coll::Blocks blocks{};
  };

  bool sends_to(int rank) const { return coll::has_block(operation_->kind, operation_->root, layout_.rank, rank); }
  bool gets_from(int rank) const { return coll::has_block(operation_->kind, operation_->root, rank, layout_.rank); }
  std::size_t block_bytes(const Side& side, int rank) const;
  std::byte* block_at(const Side& side, int rank) const;
  /// The i-th block of a row is the one for, or from, `rank`: as the user counts it.
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
  /// Sizes of member m's blocks for, or from, the remote ranks.
  const std::uint32_t* sends(std::size_t m) const { return sizes_.data() + row_of(m); }
  const std::uint32_t* gets(std::size_t m) const { return sends(m) + remote_.size(); }
  std::size_t row_of(std::size_t m) const { return rows_ > 1 ? m * 2 * remote_.size() : 0; }
  static std::size_t sum(const std::uint32_t* sizes, std::size_t count);
  void fill_gather(coll::Operation& operation);
  void fill_local(coll::Operation& operation);
  void fill_deal(coll::Operation& operation);

  const Layout& layout_;
  const std::size_t limit_;
  std::vector<int> remote_;          ///< Ranks of the other islands, island by island.
  std::vector<std::size_t> begins_;  ///< [islands + 1] Where each island begins in remote_; the own one is empty.
  std::size_t members_, me_;

  const coll::Operation* operation_ = nullptr;
  bool is_v_ = false;
  bool keeps_own_ = false;  ///< In place: this rank's own block is where it belongs.
  Side send_, get_;
  /// Row of what is sent, row of what is got, of each member; a single one where all members have the same.
  std::vector<std::uint32_t> sizes_;
  std::size_t rows_ = 1;
  Row in_row_, out_row_;  ///< Of the phase in hand.
  Row leaves_, comes_;    ///< Of the leaders' collective, that other phases overlap.
  Row direct_in_, direct_out_;
  Room packed_;   ///< A member's blocks for remote ranks; at the leader those of all members.
  Room leaving_;  ///< Leader: the same, island by island.
  Room arrived_;  ///< Leader: from the other islands.
  Room sorted_;   ///< What is for each member; at a member its own.
  Room direct_;   ///< In place: what leaves directly is copied first, for its place is where something arrives.
  std::vector<std::size_t> cursors_;
  std::byte nothing_[8] = {};
};

}  // namespace sumac::team
