#pragma once
// Reduce_scatter and reduce_scatter_block over several islands. The vector of P blocks is reordered by islands and cut into
// chunks of columns: chunk c is the bytes [c * step, ...) of every block that is so long. So each chunk is a whole
// reduce_scatter with work for every rank, and chunks overlap.
//
//   sum           computes the island's sum of the chunk, at its leader
//   across        either every leader sends each other leader the part that its island receives (alltoallv: each byte
//                 crosses once) and adds up the parts that arrive, in the order of islands; or the tree does an
//                 allreduce of the whole chunk
//   deal          leader -> member: its block
//
// The sums of islands are added in the order of their leaders, so the order is that of ranks if hosts hold the ranks in
// order. All reductions here are commutative: a user's operation never comes here.
#include "team/layout.hpp"
#include "team/parcels.hpp"

namespace sumac::team {

class ReduceScatter final : public Parcels {
 public:
  explicit ReduceScatter(const Layout& layout);

  /// Returns the number of chunks. `vector_bytes` is the most bytes of a chunk (though a chunk has at least a cache
  /// line of each block).
  std::size_t begin(const coll::Operation& operation, bool by_tree, std::size_t vector_bytes, std::size_t depth_max);
  std::size_t depth() const { return depth_; }
  bool needs(const Phase&) const override { return true; }
  void fill(const Phase& phase, std::size_t chunk, coll::Operation& operation) override;
  void fill_across(std::size_t chunk, coll::Operation& operation) override;
  bool arrived(std::size_t chunk) override;

 private:
  /// The bytes of a rank's block in the chunk, and of all blocks of an island.
  std::size_t bytes_of(std::size_t chunk, int rank) const;
  std::size_t island_bytes(std::size_t chunk, std::size_t island) const;
  std::size_t chunk_bytes(std::size_t chunk) const;
  const std::byte* pack(std::size_t chunk, std::byte* to) const;
  std::byte* sums(std::size_t chunk);
  std::byte* parts(std::size_t chunk);
  std::size_t mine() const { return static_cast<std::size_t>(layout_.island()); }

  const Layout& layout_;
  const std::size_t ranks_, members_, me_;
  std::size_t spread_ = 0;  ///< The most blocks that a leader has in one chunk: its own sums, or the parts that arrive.
  bool in_order_ = true;    ///< The order of islands is that of ranks.

  const coll::Operation* operation_ = nullptr;
  std::vector<std::size_t> begins_;  ///< [ranks + 1] Where the ranks' blocks begin in the vector.
  bool by_tree_ = false;
  std::size_t step_ = 0, chunks_ = 0, depth_ = 1;
  const std::byte* in_ = nullptr;
  const std::byte* dealt_ = nullptr;  ///< At the leader: the island's part of the chunk that has just arrived.
  Room packed_, sums_, parts_, spare_;
  Row in_row_, out_row_;
  std::vector<SmallRow> across_;  ///< The input and output rows of each chunk in flight.
  std::byte nothing_[8] = {};
};

}  // namespace sumac::team
