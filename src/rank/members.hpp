#pragma once
// The members of a team, as their ranks tell each other before anything else: the host of each, its process, its place
// and the version of its front end.
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "p2p/ranks.hpp"
#include "rank/exchange.hpp"
#include "shm/segment/segment.hpp"
#include "team/team.h"

namespace sumac::rank {

struct Member {
  std::string host;  ///< The host's name, for people.
  shm::ProcessName process;
  sumac_place_t place{};  ///< The host's number counts from 0 in the order of ranks.
};

struct Members : p2p::Ranks {
  std::vector<Member> all;
  int hosts = 1;

  int index_here() const noexcept;  ///< The index of this rank in `here`.
  std::string named(const std::vector<int>& ranks) const;
};

/// Collective. Errc::invalid: a rank has another version of the front end; the text names both.
/// @param product  The front end's name for people.
Result<Members> meet(Exchange& exchange, std::string_view product);

/// Some of them, by rank among those, of which this rank is number `rank`.
Members subset(const Members& all, const std::vector<int>& ranks, int rank);

}  // namespace sumac::rank
