#pragma once
// The team of src/team for ranks that know each other as members, made by their exchange.
#include <string>

#include "p2p/team_groups.hpp"
#include "rank/exchange.hpp"
#include "rank/members.hpp"
#include "team/team.h"

namespace sumac::rank {

struct TeamWishes {
  const sumac_team_options_t* options;
  const char* name;
  int host_ranks;        ///< Processes of the whole job on this host.
  bool threads = false;  ///< As in sumac_team_spec_t, like the next three.
  void (*progress)(void* context) = nullptr;
  void* progress_context = nullptr;
  void* calls = nullptr;
  p2p::MessageEvents* messages = nullptr;  ///< Gets those from ranks of other hosts.
  std::string* remark = nullptr;           ///< Gets a remark for people; null: it is printed.
};

struct MadeTeam {
  sumac_team_t* team = nullptr;
  p2p::TeamGroups* hosts = nullptr;  ///< Between hosts; null on one. The team owns it, like the next one.
  struct Ways* ways = nullptr;
  bool has_tree = false;  ///< Some operations go by the tree.
};

/// Collective. Errc::unsupported: there is none, for a reason that all ranks know. The ways between hosts refer to `members`, which
/// live as long as the team. Prints the table of SUMAC_EXPLAIN=1.
Result<MadeTeam> create_team(Exchange& exchange, const Members& members, const TeamWishes& wishes);

}  // namespace sumac::rank
