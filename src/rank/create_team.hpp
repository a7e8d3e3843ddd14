#pragma once
// The team of src/team for ranks that know each other as members, made by their exchange.
#include "rank/exchange.hpp"
#include "rank/members.hpp"
#include "team/team.h"

namespace sumac::rank {

struct TeamWishes {
  const sumac_team_options_t* options;
  const char* name;
  int host_ranks;        ///< Processes of the whole job on this host.
  bool threads = false;  ///< As in sumac_team_spec_t, like the next two.
  void (*progress)(void* context) = nullptr;
  void* progress_context = nullptr;
};

/// Collective. Errc::unsupported: there is none, for a reason that all ranks know. The ways between hosts refer to `members`, which
/// live as long as the team. Prints what the team says, and the table of SUMAC_EXPLAIN=1.
Result<sumac_team_t*> create_team(Exchange& exchange, const Members& members, const TeamWishes& wishes);

}  // namespace sumac::rank
