#pragma once
// The aggregation tree as the carrier of a team's operations between hosts. It translates the team's record to proto's,
// without the checks that the C interface makes for foreign callers.
#include <array>
#include <vector>

#include "client/comm.hpp"
#include "coll/across.hpp"

namespace sumac::client {

/// For each kind the bytes of the largest operation that may use the tree, as coll::Across::takes() counts them;
/// negative: the tree does not do the kind.
using TreeLimits = std::array<std::int64_t, coll::kKinds>;

/// Each limit is the bytes that a group can have in flight at once (without limit if it streams), but at most the size
/// up to which the tree is faster than the hosts by themselves. The caller holds the context's lock.
TreeLimits tree_limits(const Comm& comm);

class TreeAcross final : public coll::Across {
 public:
  /// `comm` is null at a rank that does not lead. It takes nothing before limit().
  explicit TreeAcross(Comm* comm) : comm_(comm) { limits_.fill(-1); }
  /// Drops operations that are still in flight.
  ~TreeAcross() override;
  TreeAcross(const TreeAcross&) = delete;
  TreeAcross& operator=(const TreeAcross&) = delete;

  /// All ranks of the team have agreed on `limits`.
  void limit(const TreeLimits& limits) noexcept { limits_ = limits; }

  bool takes(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const noexcept override;
  std::string why_not(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const override;
  std::string no_hop() const override;
  std::string about_hop(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const override;
  bool went_by_hop() const noexcept override { return went_by_hop_; }
  /// A job whose ranks ask for such sums has no tree that would not grant them (client/job.cpp).
  bool adds_canonically(coll::Kind) const noexcept override { return true; }
  Progress start(const coll::Operation& operation, void*& request) override;
  Progress test(void* request) override;
  Progress peek(void* request) override;
  void let_go(void* request) override;
  void give_up(std::string_view why, int dead) override;
  bool has_lost_member() override;
  void cork() override;
  void uncork() override;
  Sleep sleep(int us) override;
  std::string_view error() const noexcept override { return error_; }

 private:
  Reduction reduction_of(const coll::Operation& operation) const;
  void gather(const coll::Operation& operation, proto::Operation& gathered) const;
  void over(Request& request);

  Comm* const comm_;
  TreeLimits limits_;
  std::vector<const Request*> in_flight_;
  std::string error_;
  bool went_by_hop_ = false;
};

}  // namespace sumac::client
