#include "team/layout.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "topo/domain.hpp"

namespace sumac::team {
namespace {

int index_in(const std::vector<int>& sorted, int value) {
  return static_cast<int>(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
}

bool moves_in_memory(const topo::Cut& cut) { return cut.level.bcol == topo::Bcol::basesmuma; }

/// The rank that represents `rank` after all levels in memory.
int leader_of(const topo::Hierarchy& hierarchy, int rank) {
  auto now = static_cast<std::uint32_t>(rank);
  for (const auto& cut : hierarchy.levels)
    if (moves_in_memory(cut))
      if (const auto subgroup = cut.subgroup_of[now]; subgroup >= 0)
        now = cut.subgroups[static_cast<std::size_t>(subgroup)].leader();
  return static_cast<int>(now);
}

void find_islands(const topo::Hierarchy& hierarchy, Layout& layout) {
  std::map<int, std::vector<int>> by_leader;
  for (int r = 0; r < layout.size; ++r) by_leader[leader_of(hierarchy, r)].push_back(r);
  layout.island_of.assign(static_cast<std::size_t>(layout.size), -1);
  for (auto& [leader, members] : by_leader) {
    for (const int r : members) layout.island_of[static_cast<std::size_t>(r)] = static_cast<int>(layout.islands.size());
    layout.islands.push_back(std::move(members));
  }
}

bool are_contiguous(const std::vector<std::vector<int>>& islands) {
  return std::ranges::all_of(islands, [](const auto& each) {
    return static_cast<std::size_t>(each.back() - each.front()) + 1 == each.size();
  });
}

/// True if each island is a block of the same power of two of ranks, but for the last, which may be cut at the end.
bool are_canonical(const std::vector<std::vector<int>>& islands) {
  const std::size_t each = islands.front().size();
  if (islands.size() > 1 && !std::has_single_bit(each)) return false;
  int next = 0;
  for (const auto& island : islands) {
    if (island.size() != each && (&island != &islands.back() || island.size() > each)) return false;
    for (const int r : island)
      if (r != next++) return false;
  }
  return true;
}

/// Adds a group, or one for each direction, and records this rank's membership, if it has one.
Part add_group(Layout& layout, const std::vector<int>& members) {
  const int first = static_cast<int>(layout.groups.size());
  const int directions = layout.islands.size() > 1 ? 2 : 1;
  for (int i = 0; i < directions; ++i) layout.groups.push_back({members});
  Part part;
  if (!std::binary_search(members.begin(), members.end(), layout.rank)) return part;
  part.group = first;
  part.down = first + directions - 1;
  part.index = index_in(members, layout.rank);
  return part;
}

/// Adds the island's groups level by level, unless its first level with more than one rank is the whole island already.
void add_steps(const topo::Hierarchy& hierarchy, const std::vector<int>& island, Layout& layout) {
  const bool is_mine = island.front() == layout.island_members().front();
  for (const auto& cut : hierarchy.levels) {
    if (!moves_in_memory(cut)) continue;
    for (const auto& subgroup : cut.subgroups) {
      const std::vector<int> members(subgroup.members.begin(), subgroup.members.end());
      if (members.size() < 2 || members.size() == island.size() ||
          !std::binary_search(island.begin(), island.end(), members.front()))
        continue;
      Part part = add_group(layout, members);
      part.of_leaders = cut.level.sbgp == topo::Sbgp::basesmuma;
      if (!is_mine) continue;
      layout.has_steps = true;
      if (!part.of_leaders)
        for (const int r : members) layout.domain_leader_of[static_cast<std::size_t>(r)] = members.front();
      if (part) layout.steps.push_back(part);
    }
  }
}

}  // namespace

int Layout::island_index() const { return index_in(island_members(), rank); }
int Layout::local_index(int team_rank) const { return index_in(host_members, team_rank); }
std::vector<Part> Layout::parts() const {
  std::vector<Part> all = steps;
  if (island_part) all.push_back(island_part);
  return all;
}
bool Layout::has_domains() const {
  return std::any_of(host_members.begin(), host_members.end(), [&](int r) {
    return domain_of[static_cast<std::size_t>(r)] != domain_of[static_cast<std::size_t>(rank)];
  });
}

Result<Layout> lay_out(std::span<const topo::Place> given, std::span<const topo::Level> levels, int rank,
                       bool ranks_apart) {
  std::vector<topo::Place> places(given.begin(), given.end());
  std::set<int> machines;
  for (const auto& place : places) machines.insert(place.host);
  for (std::size_t r = 0; ranks_apart && r < places.size(); ++r) places[r].host = static_cast<int>(r);
  auto hierarchy = topo::cut(places, levels);
  if (!hierarchy) return tl::unexpected(hierarchy.error());
  Layout layout;
  layout.rank = rank;
  layout.machines = static_cast<int>(machines.size());
  layout.ranks_apart = ranks_apart;
  layout.size = static_cast<int>(places.size());
  layout.words = topo::describe(*hierarchy);
  layout.domain_of.assign(hierarchy->domains.of.begin(), hierarchy->domains.of.end());
  const bool cuts = std::any_of(levels.begin(), levels.end(),
                                [](const topo::Level& level) { return level.sbgp == topo::Sbgp::basesmsocket; });
  layout.domain_words = cuts ? topo::describe(hierarchy->domains, places) : "not cut: HCOLL_SBGP has no basesmsocket";
  for (const auto host : hierarchy->host_of) layout.host_of.push_back(static_cast<int>(host));
  find_islands(*hierarchy, layout);
  layout.is_canonical = are_canonical(layout.islands);
  layout.is_contiguous = are_contiguous(layout.islands);
  for (int r = 0; r < layout.size; ++r) layout.domain_leader_of.push_back(r);

  for (int r = 0; r < layout.size; ++r)
    if (layout.host_of[static_cast<std::size_t>(r)] == layout.host()) layout.host_members.push_back(r);
  for (const auto& island : layout.islands) {
    if (layout.host_of[static_cast<std::size_t>(island.front())] != layout.host() || island.size() < 2) continue;
    if (const Part part = add_group(layout, island)) layout.island_part = part;
    add_steps(*hierarchy, island, layout);
  }
  return layout;
}

std::vector<topo::Place> places_of(std::span<const sumac_place_t> places) {
  std::vector<topo::Place> list;
  list.reserve(places.size());
  for (const auto& place : places) list.push_back({place.host, place.socket, place.numa, place.core});
  return list;
}

}  // namespace sumac::team

int sumac_team_domains(const sumac_place_t* places, int size, int rank, int* own_p) {
  const auto list = sumac::team::places_of({places, static_cast<std::size_t>(size)});
  const auto domains = sumac::topo::find_domains(list);
  if (own_p != nullptr) *own_p = domains.of[static_cast<std::size_t>(rank)];
  return sumac::topo::count(domains, list);
}
