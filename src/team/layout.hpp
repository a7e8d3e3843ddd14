#pragma once
// A team as this rank sees it: islands (the ranks behind one leader between hosts, all on one host), and the groups
// that this rank's host needs in its segment. It is a pure function: every rank computes it from the same topo::Place
// list and levels.
//
//   levels basesmsocket,basesmuma,p2p   an island is a host; inside it also the groups of its domains and their leaders
//   levels basesmuma,p2p                an island is a host
//   levels basesmsocket,p2p             an island is a domain (multi-channel)
//   levels p2p                          every rank is an island
//
// A domain is a NUMA node or a socket (topo/domain.hpp).
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "team/team.h"
#include "topo/hierarchy.hpp"

namespace sumac::team {

/// One of the groups in a host's segment.
struct GroupPlan {
  std::vector<int> members;  ///< Team ranks, ascending.
};

/// This rank's membership in a group of its host. In a team of several islands the same members have a second group, in
/// which results come back: so the values of a younger operation may go up before the result of an older one is here, and each
/// of the two groups still does one thing at a time, in the order of the operations.
struct Part {
  int group = -1;  ///< Index in Layout::groups; -1: it is no member.
  int down = -1;   ///< The group for results; `group` itself in a team of one island.
  int index = 0;
  bool of_leaders = false;  ///< A group of domains' leaders, which also represent the ranks of their domains.

  explicit operator bool() const { return group >= 0; }
};

struct Layout {
  int rank = 0, size = 0;
  int machines = 1;          ///< Hosts by the ranks' places, also where every rank counts as a host of its own.
  bool ranks_apart = false;  ///< Every rank does.
  std::vector<std::vector<int>> islands;  ///< In the order of their leaders; the first member leads.
  std::vector<int> island_of;             ///< [size]
  std::vector<int> host_of;               ///< [size] Hosts in the order of their lowest ranks.
  std::vector<int> host_members;          ///< The ranks on this rank's host, which share its segment, ascending.
  std::vector<GroupPlan> groups;          ///< The groups of this rank's host, the same list at each of its ranks.
  Part island_part;                       ///< The group of all ranks of the island; none in an island of one.
  std::vector<Part> steps;  ///< The groups of the island level by level, from the innermost; empty if it has one level
                            ///< only.
  bool has_steps = false;   ///< Some rank of the island has steps, so the island can go level by level.
  std::vector<int> domain_leader_of;  ///< [size] The leader of the rank's domain group; the rank itself if it has none.
  std::vector<int> domain_of;         ///< [size] Numbered from 0 on each host.
  /// Each island's ranks are a node of the canonical tree over all ranks, and the tree over the islands is the rest of
  /// it. So sums of the islands' sums have the bits of a sum over all ranks.
  bool is_canonical = false;
  bool is_contiguous = false;  ///< The ranks of each island follow each other.
  std::string words;           ///< The result of topo::describe().
  std::string domain_words;    ///< For explain: "cut by NUMA node: 8 domains".

  int island() const { return island_of[static_cast<std::size_t>(rank)]; }
  const std::vector<int>& island_members() const { return islands[static_cast<std::size_t>(island())]; }
  int island_index() const;
  bool leads() const { return island_members().front() == rank; }
  int host() const { return host_of[static_cast<std::size_t>(rank)]; }
  int local_index(int team_rank) const;  ///< The index among host_members.
  std::vector<Part> parts() const;       ///< This rank's memberships in all groups.
  bool has_domains() const;              ///< This rank's host has several.
};

std::vector<topo::Place> places_of(std::span<const sumac_place_t> places);

/// Returns the errors of topo::cut().
/// `ranks_apart`: every rank counts as a host of its own.
Result<Layout> lay_out(std::span<const topo::Place> places, std::span<const topo::Level> levels, int rank,
                       bool ranks_apart = false);

}  // namespace sumac::team
