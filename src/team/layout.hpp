#pragma once
// A team as this rank sees it: islands (the ranks behind one leader across, all on one host), and the groups that this
// rank's host needs in its segment. Pure: every rank computes it from the same places and levels.
//
//   levels basesmsocket,basesmuma,p2p   an island is a host; inside it also the groups of its sockets and their leaders
//   levels basesmuma,p2p                an island is a host
//   levels basesmsocket,p2p             an island is a socket (multi-channel)
//   levels p2p                          every rank is an island
#include <string>
#include <vector>

#include "base/result.hpp"
#include "topo/hierarchy.hpp"

namespace sumac::team {

/// One of the groups in a host's segment.
struct GroupPlan {
  std::vector<int> members;  ///< Team ranks, ascending.
};

/// This rank's part in a group of its host.
struct Part {
  int group = -1;  ///< Number in Layout::groups; -1: no part.
  int index = 0;
  bool of_leaders = false;  ///< A group of sockets' leaders: others than its members go through it by their leader.

  explicit operator bool() const { return group >= 0; }
};

struct Layout {
  int rank = 0, size = 0;
  std::vector<std::vector<int>> islands;  ///< In the order of their leaders; the first member leads.
  std::vector<int> island_of;             ///< [size]
  std::vector<int> host_of;               ///< [size] Hosts in the order of their lowest ranks.
  std::vector<int> host_members;          ///< Ranks of this rank's host that share its segment, ascending.
  std::vector<GroupPlan> groups;          ///< Of this rank's host, the same list at each of its ranks.
  Part island_part;                       ///< All ranks of the island at once; none in an island of one.
  std::vector<Part> steps;            ///< The island by levels, from the innermost: empty where it has one level only.
  bool has_steps = false;             ///< Some rank of the island has them: the island can go level by level.
  std::vector<int> socket_leader_of;  ///< [size] Of the rank's socket group; itself where it has none.
  std::string words;                  ///< topo::describe()

  int island() const { return island_of[static_cast<std::size_t>(rank)]; }
  const std::vector<int>& island_members() const { return islands[static_cast<std::size_t>(island())]; }
  int island_index() const;
  bool leads() const { return island_members().front() == rank; }
  int host() const { return host_of[static_cast<std::size_t>(rank)]; }
  int local_index(int team_rank) const;  ///< Number among host_members.
};

/// Errors: what topo::cut() says.
Result<Layout> lay_out(std::span<const topo::Place> places, std::span<const topo::Level> levels, int rank);

}  // namespace sumac::team
