#pragma once
// HCOLL_SBGP and HCOLL_BCOL choose the cut of a team, level by level, and the primitive that moves the data at each
// level. Each word of the one list belongs to the word at the same position of the other:
//
//   HCOLL_SBGP=basesmsocket,basesmuma,p2p  HCOLL_BCOL=basesmuma,basesmuma,ucx_p2p      the default
//   HCOLL_SBGP=basesmuma,p2p               HCOLL_BCOL=basesmuma,ucx_p2p                hosts, and leaders of hosts
//   HCOLL_SBGP=basesmsocket,p2p            HCOLL_BCOL=basesmuma,ucx_p2p                a leader per domain: multi-channel
//   HCOLL_SBGP=p2p                         HCOLL_BCOL=ucx_p2p                          every rank by itself
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace sumac::topo {

/// The ranks that a level puts into one subgroup.
enum class Sbgp : std::uint8_t {
  basesmsocket,  ///< Ranks of one domain: a NUMA node or a socket (domain.hpp). The alias basesmssocket is accepted.
  basesmuma,     ///< The leaders so far, or all ranks, of one host.
  p2p,           ///< The leaders so far, or all ranks, of the team.
};

/// The primitive that moves data inside a subgroup of that level.
enum class Bcol : std::uint8_t {
  basesmuma,  ///< Shared memory.
  ucx_p2p,    ///< The network: the tree, or the MPI's own collectives. The alias mlx_p2p is accepted.
};

struct Level {
  Sbgp sbgp = Sbgp::p2p;
  Bcol bcol = Bcol::ucx_p2p;

  bool operator==(const Level&) const = default;
};

inline constexpr std::string_view kSbgpDefault = "basesmsocket,basesmuma,p2p";
inline constexpr std::string_view kBcolDefault = "basesmuma,basesmuma,ucx_p2p";

/// Returns the levels that the two variables name. An empty text counts as unset and gives the default; if only `bcol`
/// is unset, each level of `sbgp` gets its own primitive. Errors are one line: the variable, the wrong word, the legal
/// ones.
Result<std::vector<Level>> parse_levels(std::string_view sbgp, std::string_view bcol);

/// Returns a sentence for users if words of legal texts name something that Sumac lacks and that another word stands in
/// for: "cc" and "ibnet", the adapter's own queues, for which "ucx_p2p" and "p2p" stand in. Empty: there is no such word.
std::string remark_on_levels(std::string_view sbgp, std::string_view bcol);

/// Returns the name that people write, never the alias.
std::string_view to_string(Sbgp sbgp) noexcept;
std::string_view to_string(Bcol bcol) noexcept;

}  // namespace sumac::topo
