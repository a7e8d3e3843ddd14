#pragma once
// The manager hands these plain records to the page; its loop copies them. Parts that rarely change are shared
// and have a version, so that an unchanged one is not copied again.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "control/hop_totals.hpp"
#include "page/events.hpp"
#include "topo/fabric.hpp"
#include "topo/tree.hpp"
#include "wire/quota.hpp"

namespace sumac::page {

struct TreeView {
  bool lost = false;
  TreeId id{};
  topo::AggregationTree shape;  ///< It fits the fabric of the same view; meaningless if lost.
};

/// The fabric and its trees.
struct FabricView {
  topo::Fabric fabric;
  std::vector<TreeView> trees;
  bool described = true;  ///< false: it is what registers.
};

/// A node's part in one tree.
struct PartView {
  bool works = false;
  bool link_up = false;  ///< Also true at a root.
  std::string link_why;
  std::uint32_t osts = 0, groups = 0;  ///< Granted.
};

struct NodeView {
  bool registered = false;
  std::string silent{};                         ///< The neighbour that does not hear it; empty: all do.
  std::uint32_t pid = 0, osts = 0, groups = 0;  ///< The process, and its capacity for each tree.
  control::HopTotals hop{};                     ///< The counters of its kernels, over all trees.
  std::vector<PartView> parts;                  ///< One for each tree.
};

/// A job's part of one tree. Nodes are indices in the fabric.
struct ShareView {
  std::uint32_t tree = 0;
  TreeId id{};
  std::vector<std::uint32_t> nodes;    ///< The root comes first, and parents before children.
  std::vector<std::uint32_t> parents;  ///< Each node's parent: an index into nodes, plus 1; 0 at the root.
  std::vector<std::uint32_t> leaves;   ///< The leaf of each of the job's hosts: an index into nodes.
};

/// The part of a job that stays the same as long as it lives.
struct JobView {
  JobId id{};
  std::uint32_t number = 0, uid = 0;
  std::string holder, reservation;
  wire::Quota quota;
  std::vector<std::uint32_t> hosts;
  std::vector<ShareView> shares;
  Time begun{};
};

struct JobState {
  std::shared_ptr<const JobView> job;
  bool granted = false;  ///< false: it waits for its nodes.
  bool leaving = false;  ///< It has ended, and its ranks have not left.
  bool waiting = false;  ///< It waits for nodes or for room, and has no number yet.
  Time lease_until{};
};

struct UserView {
  std::uint32_t uid = 0, jobs = 0, osts = 0, groups = 0;
};

/// The amounts granted at the fullest node of a tree, and those free for a job on all of its hosts.
struct TreeTotals {
  bool complete = false;  ///< All of its nodes are registered, and so the free amounts are known.
  std::uint32_t nodes = 0, osts = 0, groups = 0, osts_free = 0, groups_free = 0;
};

/// Versions of the parts that the page has; 0: none, and no part has that version.
struct Known {
  std::uint64_t state = 0, fabric = 0, sharpds = 0, events = 0;
};

struct Snapshot {
  Known version;
  Time made{};
  bool changed = true;                       ///< false: nothing has changed since `Known`, and the rest is empty.
  std::shared_ptr<const FabricView> fabric;  ///< Null: as before. The same holds for the next two.
  std::shared_ptr<const std::vector<bool>> sharpds;  ///< For each host: is its sharpd registered?
  std::shared_ptr<const Events> events;
  std::uint64_t events_dropped = 0;
  std::vector<NodeView> nodes;
  std::vector<JobState> jobs;  ///< Sorted by id.
  std::vector<UserView> users;
  std::vector<TreeTotals> trees;
  std::uint32_t sharpds_elsewhere = 0;  ///< Sharpds of hosts that are not in the fabric.
  std::uint64_t jobs_granted = 0, jobs_refused = 0, jobs_released = 0, rank_deaths = 0;
  std::uint32_t user_jobs_max = 0, user_share_max_percent = 0, default_quota_percent = 0;
  std::uint32_t user_osts_max = 0, user_groups_max = 0;  ///< The share of one user, over all trees.
};

}  // namespace sumac::page
