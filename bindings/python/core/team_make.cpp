// The making of a team: the ranks meet at the store, share a block of memory in each host, and make the team of src/team.
#include <cstdio>

#include "bindings/python/core/team.hpp"
#include "bindings/python/core/worker.hpp"
#include "rank/create_team.hpp"

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
  auto built = team->create(exchange);
  if (built) return team;
  (void)exchange.give_up(built.error());
  return tl::unexpected(built.error());
}

Result<> Team::create(Exchange& exchange) {
  const int here = static_cast<int>(members_.here.size());
  if (auto shared = peers_.share(exchange, sumac_team_calls_bytes(here)); !shared) return shared;
  between_ = peers_.between();
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
  std::string remark;
  auto made = rank::create_team(exchange, members_,
                                {.options = options,
                                 .name = settings_.name.c_str(),
                                 .host_ranks = here,
                                 .progress = &Team::look_in_run,
                                 .progress_context = this,
                                 .calls = peers_.own_memory(),
                                 .messages = between_,
                                 .remark = &remark});
  if (!made) return tl::unexpected(made.error());
  team_ = made->team;
  ways_ = made->ways;
  has_tree_ = made->has_tree;
  if (between_) peers_.bind(*made->hosts);
  if (!remark.empty() && rank() == 0) say(remark);
  return {};
}

}  // namespace sumac::python
