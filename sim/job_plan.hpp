#pragma once
// The course of one seed of a job: a fabric of a root and leaves, the hosts of its ranks, and which processes are killed when.
#include "sim/recovery_plan.hpp"

namespace sumac::sim {

struct Kill {
  enum class Whom : std::uint8_t { node, manager, sharpd, rank };
  Whom whom = Whom::node;
  std::uint32_t target = 0;  ///< The node (0: the tree's root at first), host or rank.
  Duration after{0};         ///< From the time when all members have their group.
  Duration away{0};          ///< Then it is started again.
  bool stays_away = false;   ///< Nodes and ranks alone.
};

struct JobPlan {
  RecoveryPlan group;  ///< Without a tree, and without strikes.
  std::uint32_t leaves = 2, hosts_per_leaf = 2;
  std::vector<std::uint32_t> host;  ///< [rank]
  Duration node_away{0};            ///< So long the manager waits for a node that comes back.
  std::vector<Kill> kills;

  std::string describe() const;
};

JobPlan make_job_plan(std::uint64_t seed);

}  // namespace sumac::sim
