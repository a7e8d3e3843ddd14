#include "topo/hierarchy.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace sumac::topo {
namespace {

/// Numbers hosts from 0 in the order of their lowest ranks; each rank of an unknown host is a host by itself.
void number_hosts(std::span<const Place> places, Hierarchy& hierarchy) {
  std::map<std::int32_t, std::uint32_t> numbers;
  hierarchy.host_of.reserve(places.size());
  for (const auto& place : places) {
    auto number = hierarchy.host_count();
    if (place.host != kUnknown) number = numbers.emplace(place.host, number).first->second;
    if (number == hierarchy.host_count()) hierarchy.host_sizes.push_back(0);
    ++hierarchy.host_sizes[number];
    hierarchy.host_of.push_back(number);
  }
}

Error incomplete(std::span<const Level> levels, const Hierarchy& hierarchy, std::size_t leaders) {
  std::string named;
  for (const auto& level : levels) named += (named.empty() ? "" : ",") + std::string(to_string(level.sbgp));
  const bool is_wide = hierarchy.host_count() > 1;
  return {Errc::invalid,
          fmt::format("HCOLL_SBGP={}: the last level leaves {} leaders on {} host{}: add {}", named, leaders,
                      hierarchy.host_count(), is_wide ? "s" : "", is_wide ? "p2p" : "basesmuma or p2p")};
}

}  // namespace

std::size_t Cut::member_count() const {
  std::size_t count = 0;
  for (const auto& subgroup : subgroups) count += subgroup.members.size();
  return count;
}

Result<Hierarchy> cut(std::span<const Place> places, std::span<const Level> levels) {
  if (places.empty()) return fail(Errc::invalid, "a team without ranks");
  if (levels.empty()) return fail(Errc::invalid, "HCOLL_SBGP: no level at all: expected at least one");
  Hierarchy hierarchy;
  number_hosts(places, hierarchy);
  hierarchy.domains = find_domains(places);

  std::vector<std::uint32_t> left(places.size());  // ranks that are still leaders, in rising order
  for (std::uint32_t rank = 0; rank < left.size(); ++rank) left[rank] = rank;
  for (const auto& level : levels) {
    Cut cut{level, {}, std::vector<std::int32_t>(places.size(), -1)};
    // [(host, domain)]: index of the subgroup
    std::map<std::pair<std::uint32_t, std::int32_t>, std::uint32_t> index_of;
    for (const auto rank : left) {
      const auto host = hierarchy.host_of[rank];
      std::pair<std::uint32_t, std::int32_t> key{0, 0};
      if (level.sbgp != Sbgp::p2p) key.first = host;
      if (level.sbgp == Sbgp::basesmsocket) key.second = hierarchy.domains.of[rank];
      const auto [at, is_new] = index_of.emplace(key, static_cast<std::uint32_t>(cut.subgroups.size()));
      if (is_new) cut.subgroups.emplace_back();
      cut.subgroups[at->second].members.push_back(rank);
      cut.subgroup_of[rank] = static_cast<std::int32_t>(at->second);
    }
    left.clear();
    // rising, since subgroups are made in the order of their first ranks
    for (const auto& subgroup : cut.subgroups) left.push_back(subgroup.leader());
    hierarchy.levels.push_back(std::move(cut));
  }
  if (left.size() > 1) return tl::unexpected(incomplete(levels, hierarchy, left.size()));
  return hierarchy;
}

std::string describe(const Hierarchy& hierarchy) {
  std::string text;
  for (const auto& level : hierarchy.levels) {
    if (level.is_trivial()) continue;
    const auto [least, most] = std::minmax_element(level.subgroups.begin(), level.subgroups.end(),
                                                   [](const auto& a, const auto& b) { return a.size() < b.size(); });
    text += fmt::format("{}{} {} x {}", text.empty() ? "" : ", ", to_string(level.level.sbgp), level.subgroups.size(),
                        least->size());
    if (least->size() != most->size()) text += fmt::format("..{}", most->size());
  }
  return text.empty() ? "one rank" : text;
}

}  // namespace sumac::topo
