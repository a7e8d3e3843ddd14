// The making of a team: the ranks meet at the store, share a block of memory in each host, and make the team of src/team.
#include <fmt/format.h>

#include <cstdio>

#include "bindings/python/core/team.hpp"
#include "bindings/python/core/worker.hpp"
#include "rank/explain.h"
#include "rank/oob.hpp"
#include "rank/peers.hpp"
#include "rank/way_across.hpp"

namespace sumac::python {

Result<std::shared_ptr<Team>> Team::make(Store& store, int rank, int size, TeamSettings settings) {
  if (size < 1 || rank < 0 || rank >= size) return fail(Errc::invalid, "rank {} of {} ranks", rank, size);
  StoreExchange exchange(store, rank, size, settings.make_within);
  auto members = rank::meet(exchange, "sumac_collectives");
  if (!members) return tl::unexpected(exchange.give_up(members.error()));
  std::shared_ptr<Team> team(new Team(std::move(*members), std::move(settings)));
  team->forks_ = forks();
  if (size == 1) return team;
  // Between hosts go keys: those of the job and of its groups.
  if (team->members_.hosts > 1)
    if (auto agreed = exchange.agree_on_key(); !agreed) return tl::unexpected(agreed.error());
  // The others must not wait for a rank that has failed.
  auto built = team->share(exchange);
  if (built) built = team->create(exchange);
  if (built) return team;
  (void)exchange.give_up(built.error());
  return tl::unexpected(built.error());
}

Result<> Team::share(Exchange& exchange) {
  const int here = static_cast<int>(members_.here.size());
  const std::size_t calls = sumac_team_calls_bytes(here);
  std::vector<std::size_t> sizes = shm::Pipes::sizes(here);
  for (std::size_t& bytes : sizes) bytes += calls;
  auto block = shm::Block::share(rank::texts_by(exchange), rank(), members_.here.front(), sizes);
  if (!block) return tl::unexpected(block.error());
  block_ = std::move(*block);
  here_messages_ = std::make_unique<p2p::MessagesHere>(block_.data() + calls, block_.size() - calls, members_.here,
                                                       members_.index_here(), matcher_);
  return {};
}

Result<> Team::create(Exchange& exchange) {
  char why[1024] = "";
  static sumac_team_options_t* const options = [this] {
    sumac_team_options_t* read = nullptr;
    char wrong[1024] = "";
    if (sumac_team_options_read(&read, wrong, sizeof wrong) != SUMAC_TEAM_OK)
      std::fprintf(stderr, "sumac: %s\n", wrong);
    if (rank() == 0)
      sumac_team_options_check([](const char* sentence) { std::fprintf(stderr, "sumac: warning: %s\n", sentence); });
    return read;
  }();
  if (options == nullptr) return fail(Errc::invalid, "a variable of the environment is wrong (it is named above)");
  std::vector<sumac_place_t> places;
  for (const Member& member : members_.all) places.push_back(member.place);
  rank::Oob oob(exchange, settings_.name);
  sumac_team_spec_t spec{};
  spec.struct_bytes = sizeof spec;
  spec.rank = rank();
  spec.size = size();
  spec.places = places.data();
  spec.options = options;
  spec.oob.context = &oob;
  spec.oob.allgather = &rank::Oob::allgather;
  spec.progress = &Team::look_in_run;
  spec.progress_context = this;
  spec.host_ranks = static_cast<int>(members_.here.size());
  spec.name = settings_.name.c_str();
  spec.has_no_next = 1;
  spec.calls = block_.data();
  if (members_.hosts > 1) between_ = std::make_unique<p2p::MessagesBetween>(members_, matcher_, numbers_);
  rank::WayAcross across{exchange, members_, options, settings_.name.c_str(), between_.get()};
  across.set(spec);
  const int status = sumac_team_create(&spec, &team_, why, sizeof why);
  // In this order: a rank that finds no way also fails in the exchange that follows.
  if (across.error) return fail(across.error->code, "no way between the hosts: {}", across.error->context);
  if (status == SUMAC_TEAM_OOB) return fail(Errc::lost, "{}", oob.error());
  if (status != SUMAC_TEAM_OK) return fail(Errc::unsupported, "{}", why);
  ways_ = across.own_ways;
  has_tree_ = across.has_tree;
  if (between_) between_->bind(*across.hosts);
  if (why[0] != '\0' && rank() == 0) say(why);
  if (rank() == 0) sumac_explain_team(options, team_);
  return {};
}

}  // namespace sumac::python
