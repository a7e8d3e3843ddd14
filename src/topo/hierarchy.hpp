#pragma once
// The cut of a team into levels of subgroups. On the first level every rank is in one subgroup; the lowest rank of a
// subgroup leads it, and only leaders go on to the next level, until one rank is left. Every rank computes the same
// hierarchy from the same places, so the ranks need not agree on anything.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "topo/domain.hpp"
#include "topo/levels.hpp"
#include "topo/place.hpp"

namespace sumac::topo {

/// Team ranks in rising order; the first one leads.
struct Subgroup {
  std::vector<std::uint32_t> members;

  std::uint32_t leader() const { return members.front(); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(members.size()); }
  bool operator==(const Subgroup&) const = default;
};

/// One level: its subgroups, in the order of their leaders.
struct Cut {
  Level level;
  std::vector<Subgroup> subgroups;
  std::vector<std::int32_t> subgroup_of;  ///< [team size] Index into subgroups; -1: that rank ended on a lower level.

  /// No subgroup of this level has two members, so the level does nothing.
  bool is_trivial() const { return subgroups.size() == member_count(); }
  std::size_t member_count() const;
  bool operator==(const Cut&) const = default;
};

struct Hierarchy {
  std::vector<Cut> levels;                ///< All levels that were asked for, from the innermost outwards.
  std::vector<std::uint32_t> host_of;     ///< [team size] Hosts numbered from 0 in the order of their lowest ranks.
  std::vector<std::uint32_t> host_sizes;  ///< [host]: its number of ranks.
  Domains domains;                        ///< The parts into which `basesmsocket` cuts hosts.

  std::uint32_t host_count() const { return static_cast<std::uint32_t>(host_sizes.size()); }
  bool operator==(const Hierarchy&) const = default;
};

/// Cuts a team of places.size() ranks; `basesmsocket` cuts by domain (domain.hpp).
/// Fails if the last level leaves several leaders (no `p2p`, and the team is wider than the named levels); the error is
/// one line that names the level missing in HCOLL_SBGP.
Result<Hierarchy> cut(std::span<const Place> places, std::span<const Level> levels);

/// Returns "basesmsocket 4 x 36, basesmuma 2 x 2, p2p 1 x 2": subgroups x members, "3..5" when they differ, without
/// trivial levels; "one rank" if all are trivial.
std::string describe(const Hierarchy& hierarchy);

}  // namespace sumac::topo
