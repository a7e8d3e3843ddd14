#pragma once
// The manager's state as one plain record: the status, the page's snapshot and the metrics are written from it. It refers to the
// machines' own records, so that nothing large is copied, and is valid until the next event.
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "manager/policy.hpp"
#include "manager/records.hpp"
#include "manager/rules.hpp"
#include "topo/fabric.hpp"
#include "topo/tree.hpp"

namespace sumac::manager {

/// A begin that waits.
struct HeldBegin {
  enum class For : std::uint8_t {
    nodes,  ///< After a restart: nodes that are on their way back.
    room,   ///< Members of ended jobs have not left, or it is not its turn yet.
  };
  StreamId stream = 0;
  JobBegin begin;
  Time until{};  ///< The time when the begin is answered in any case.
  Time since{};
  For what = For::room;
};

/// A sharpd that is registered.
struct Sharpd {
  std::string name;
  std::uint64_t life = 0;
  std::string release;
  std::uint32_t pid = 0;
  std::uint32_t host = topo::kNone;  ///< The index of its host in the fabric.
  bool told_elsewhere = false;       ///< It has been sent that the fabric does not have its host.
  std::string inspectable{};         ///< The address where it answers Inspect.
};
using Sharpds = std::unordered_map<StreamId, Sharpd>;

/// A node's part in one tree.
struct PartFacts {
  bool works = false;
  bool link_up = false;                ///< Also true at a root.
  std::uint32_t parent = topo::kNone;  ///< kNone at a root.
  std::string_view address, link_why;
  Usage granted;
};
struct NodeFacts {
  std::string_view name;
  bool registered = false, in_tree = false;
  bool described = false;  ///< True if the last description of the fabric contains it.
  bool silent = false;
  std::string silence{};  ///< Names the neighbour that hears nothing of it.
  std::uint32_t pid = 0, osts = 0, groups = 0;
  std::string_view release;
  control::HopTotals hop{};      ///< Over all trees.
  std::vector<PartFacts> parts;  ///< One for each tree.
};
struct TreeFacts {
  bool lost = false;  ///< No node is left for it.
  TreeId id{};
  const topo::AggregationTree* shape = nullptr;
  bool complete = false;  ///< All of its nodes are registered, and so the free amounts are known.
  std::size_t nodes = 0;
  Usage granted;                                 ///< At the fullest node.
  std::uint32_t osts_free = 0, groups_free = 0;  ///< For a job on all of its hosts.
};
struct JobFacts {
  const JobRecord* record = nullptr;
  bool granted = false, leaving = false;
  Time begun{}, lease_until{};
};
struct WaitingFacts {
  const HeldBegin* held = nullptr;
  std::vector<std::uint32_t> hosts;  ///< The indices of those that are in the fabric.
};
/// Counted since the start.
struct Counts {
  std::uint64_t jobs_granted = 0, jobs_refused = 0;
  std::uint64_t jobs_released = 0;  ///< Jobs that ended without being asked to: their lease, host or tree was lost.
  std::uint64_t rank_deaths = 0;    ///< Deaths that the rank's own host reported.
};

struct Facts {
  /// Change with the fabric or its trees, and with the sharpds that are registered.
  std::uint64_t fabric_version = 0, sharpds_version = 0;
  const topo::Fabric* fabric = nullptr;
  std::size_t hosts = 0;        ///< Those that are in the fabric now.
  bool all_registered = false;  ///< All nodes that have work in some tree.
  const Sharpds* sharpds = nullptr;
  std::vector<NodeFacts> nodes;
  std::vector<TreeFacts> trees;
  std::vector<JobFacts> jobs;     ///< Sorted by id.
  std::vector<JobFacts> leaving;  ///< Ended jobs whose ranks have not left.
  std::vector<WaitingFacts> waiting;
  const std::map<std::uint32_t, UserUsage>* users = nullptr;  ///< Keyed by uid.
  Capacity user_capacity;                                     ///< The total of which each user may have a share.
  Counts counts;
  const std::vector<KeptOsts>* kept = nullptr;
  const Rules* rules = nullptr;
  const Reservations* reservations = nullptr;
};

}  // namespace sumac::manager
