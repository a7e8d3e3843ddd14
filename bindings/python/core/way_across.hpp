#pragma once
// The way between hosts: here a team gets what carries data among its leaders (sumac_across_t). There is none yet, so
// ranks on several hosts are refused. A way sets `spec.open_across`, and takes messages to ranks on other hosts from
// Team::send() and Team::receive().
#include "base/result.hpp"
#include "bindings/python/core/members.hpp"
#include "team/team.h"

namespace sumac::python {

inline Result<> set_way_across(sumac_team_spec_t& spec, const Members& members) {
  if (members.hosts == 1) return {};
  spec.open_across = nullptr;
  for (int rank = 0; rank < members.size(); ++rank)
    if (members.all[static_cast<std::size_t>(rank)].place.host != members.all.front().place.host)
      return fail(Errc::unsupported, "{} and {} share no memory: this version serves the ranks of one host",
                  members.name(0), members.name(rank));
  return {};
}

}  // namespace sumac::python
