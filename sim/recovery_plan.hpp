#pragma once
// The course of one seed of recovery: a group on a tree of nodes, its operations, and what breaks when. Every second
// seed takes one of the named cases: what a rule missing from an earlier wording of the rules has lost.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/plan.hpp"

namespace sumac::sim {

struct Strike {
  enum class What : std::uint8_t {
    kill_node,    ///< The node is gone; its peers notice one after the other.
    stop_node,    ///< The same, but connections stay: its neighbours only find it silent.
    late_node,    ///< A neighbour takes the node `target` for silent, which lives.
    cut_leaf,     ///< The link of rank `target` to its leaf breaks; both live.
    cut_members,  ///< The link between the members `target` and `other` breaks.
    kill_rank,    ///< The process is gone; the manager says so later.
    declare,      ///< The manager declares rank `target` dead, which goes on.
    give_up,      ///< Rank `target` cannot go on.
  };
  What what = What::kill_node;
  std::uint32_t target = 0, other = 0;
  /// It happens `delay` after rank `watched` has ended so many operations. With the members' count of operations: while it leaves.
  std::uint32_t watched = 0, operations = 0;
  Duration delay{0};
  bool at_verdict = false;  ///< Instead: `delay` after the first member knows a verdict.
};

struct RecoveryPlan {
  std::string name;
  Plan base;  ///< The tree, its leaves, the grant and the network. Its tracks are not used.
  std::uint32_t osts = 2;
  std::uint32_t lock_batch = 0;  ///< As in proto::ClientGroupConfig.
  bool later_stream = true;      ///< The trees that come later have memory for streams.
  bool datagrams = false;        ///< The kernels of nodes answer small operations.
  std::vector<OpPlan> ops;
  std::vector<std::uint32_t> depth;  ///< [rank]: operations that it has under way at once.
  std::vector<Duration> think;       ///< [rank]: the longest time between two of its calls.
  std::vector<Strike> strikes;
  bool strikes_early = false;  ///< Something breaks before the group stands.
  /// A rank posts another operation than the others, at this index; -1: none.
  std::int32_t odd_rank = -1;
  std::uint32_t odd_operation = 0;

  std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(base.leaf.size()); }
  std::string describe() const;
  /// Returns the operation that this rank posts at this index.
  OpPlan planned(std::uint32_t rank, std::uint32_t index) const;
};

RecoveryPlan make_recovery_plan(std::uint64_t seed);
/// The same with kernels that answer datagrams, of which many are lost; most operations are small.
RecoveryPlan make_datagram_plan(std::uint64_t seed);
/// The number of named cases.
std::size_t recovery_cases() noexcept;

}  // namespace sumac::sim
