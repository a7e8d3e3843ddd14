#pragma once
// A scan or exscan over several islands whose ranks follow each other: island 0 has the lowest ranks, island 1 the next ones. It is
// cut into chunks, which overlap:
//
//   sum       island -> leader: the island's sum; the last island's is of no use to others
//   across    the leaders exchange the islands' sums (allgatherv), and each adds those of the islands before its own
//   local     meanwhile: the scan or exscan inside the island
//   deal      leader -> members: the sum of the islands before, which each adds to its own scan; the first member has no exscan of its own
//
// The sums of all islands cross, one vector for each: less than what the ranks of a host send together where a scan goes
// from rank to rank by doubling, as long as a host has more ranks than there are hosts for each doubling.
#include "team/layout.hpp"
#include "team/parcels.hpp"

namespace sumac::team {

class Prefix final : public Parcels {
 public:
  explicit Prefix(const Layout& layout) : layout_(layout), islands_(layout.islands.size()) {}

  /// Returns the number of chunks. `across_bytes` is the most bytes of the sums of a chunk.
  std::size_t begin(const coll::Operation& operation, std::size_t across_bytes, std::size_t depth_max);
  std::size_t depth() const { return depth_; }
  bool needs(const Phase& phase) const override;
  void fill(const Phase& phase, std::size_t chunk, coll::Operation& operation) override;
  void fill_across(std::size_t chunk, coll::Operation& operation) override;
  bool arrived(std::size_t chunk) override;
  void returned(std::size_t chunk) override;

 private:
  std::size_t bytes_of(std::size_t chunk) const;
  const std::byte* in(std::size_t chunk) const;
  std::byte* out(std::size_t chunk) const { return static_cast<std::byte*>(operation_->out) + chunk * step_; }
  /// The sums of all islands, at a leader, and that of the islands before this one.
  std::byte* sums(std::size_t chunk) { return sums_.data() + chunk % depth_ * islands_ * step_; }
  std::byte* before(std::size_t chunk) { return before_.data() + chunk % depth_ * step_; }
  std::size_t mine() const { return static_cast<std::size_t>(layout_.island()); }
  bool is_last() const { return mine() + 1 == islands_; }

  const Layout& layout_;
  const std::size_t islands_;
  const coll::Operation* operation_ = nullptr;
  std::size_t step_ = 0, depth_ = 1;
  Room sums_, before_, spare_;
  std::vector<SmallRow> rows_;  ///< The islands' blocks in each chunk in flight.
};

}  // namespace sumac::team
