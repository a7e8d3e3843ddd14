#include "rank/create_team.hpp"

#include <vector>

#include "rank/explain.h"
#include "rank/oob.hpp"
#include "rank/say.h"
#include "rank/way_across.hpp"

namespace sumac::rank {

Result<MadeTeam> create_team(Exchange& exchange, const Members& members, const TeamWishes& wishes) {
  std::vector<sumac_place_t> places;
  for (const Member& member : members.all) places.push_back(member.place);
  Oob oob(exchange, wishes.name);
  sumac_team_spec_t spec{};
  spec.struct_bytes = sizeof spec;
  spec.rank = members.rank;
  spec.size = members.size();
  spec.places = places.data();
  spec.options = wishes.options;
  spec.oob.context = &oob;
  spec.oob.allgather = &Oob::allgather;
  spec.progress = wishes.progress;
  spec.progress_context = wishes.progress_context;
  spec.threads = wishes.threads ? 1 : 0;
  spec.host_ranks = wishes.host_ranks;
  spec.name = wishes.name;
  spec.has_no_next = 1;
  spec.calls = wishes.calls;
  WayAcross across{exchange, members, wishes.options, wishes.name, wishes.messages};
  across.set(spec);
  char why[1024] = "";
  MadeTeam made;
  const int status = sumac_team_create(&spec, &made.team, why, sizeof why);
  // In this order: a rank that finds no way also fails in the exchange that follows.
  if (across.error) return fail(across.error->code, "no way between the hosts: {}", across.error->context);
  if (status == SUMAC_TEAM_OOB) return fail(Errc::lost, "{}", oob.error());
  if (status != SUMAC_TEAM_OK) return fail(Errc::unsupported, "{}", why);
  if (wishes.remark != nullptr)
    *wishes.remark = why;
  else if (members.rank == 0 && why[0] != '\0')
    sumac_say_each_once(why, true);
  if (members.rank == 0) sumac_explain_team(wishes.options, made.team);
  made.hosts = across.hosts;
  made.ways = across.own_ways;
  made.has_tree = across.has_tree;
  return made;
}

}  // namespace sumac::rank
