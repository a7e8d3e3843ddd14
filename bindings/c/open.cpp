// The begin and the end of a team.
#include <fmt/format.h>

#include <cstring>
#include <mutex>
#include <utility>

#include "base/host_name.hpp"
#include "bindings/c/team.hpp"
#include "client/fork_guard.hpp"
#include "rank/allgather_exchange.hpp"
#include "rank/create_team.hpp"
#include "rank/job.h"
#include "rank/last_line.hpp"
#include "rank/message_exchange.hpp"
#include "rank/say.h"
#include "rank/start.h"

namespace sumac::c {
namespace {

class CallersExchange final : public rank::AllgatherExchange {
 public:
  CallersExchange(const sumac_team_params& params, Duration within)
      : AllgatherExchange(params.rank, params.size, within), params_(params) {}

 private:
  Result<> run(const void* in, void* out, std::size_t bytes) override {
    const int status = params_.allgather(params_.context, in, out, bytes);
    if (status != 0) return fail(Errc::lost, "the allgather of the program returned {}", status);
    return {};
  }

  const sumac_team_params& params_;
};

/// The ranks exchange messages, since the program has no allgather of some of them.
Result<> create(sumac_open_team& team, Duration within) {
  std::vector<int> everyone;
  for (int rank = 0; rank < team.size; ++rank) everyone.push_back(rank);
  rank::MessageExchange exchange(team.peers,
                                 {.ranks = everyone, .rank = team.rank, .name = 1, .attempt = 1, .within = within});
  const rank::Members& members = team.peers->members();
  auto made = rank::create_team(exchange, members,
                                {.options = sumac_process_own()->options,
                                 .name = team.name.c_str(),
                                 .host_ranks = static_cast<int>(members.here.size()),
                                 .progress = &sumac_open_team::look,
                                 .progress_context = &team});
  if (made) {
    team.team = made->team;
    // The last use: whoever has failed says so here at the latest.
    if (auto all = exchange.allgather({}); all)
      return {};
    else
      made = tl::unexpected(all.error());
  }
  return tl::unexpected(exchange.give_up(made.error()));
}

}  // namespace

Result<std::unique_ptr<sumac_open_team>> open(const sumac_team_params& given) {
  if (given.struct_bytes < sizeof given)
    return fail(Errc::invalid, "sumac_team_params: struct_bytes is not sizeof(struct sumac_team_params)");
  if (given.size < 1 || given.rank < 0 || given.rank >= given.size || given.timeout_ms < 0)
    return fail(Errc::invalid, "sumac_team_params: rank {} of {} ranks, timeout_ms {}", given.rank, given.size,
                given.timeout_ms);
  if (given.allgather == nullptr && given.size > 1) return fail(Errc::invalid, "sumac_team_params: no allgather");
  const sumac_process* const process = sumac_process_own();
  if (process == nullptr) return fail(Errc::invalid, "a variable of the environment is wrong (it is named above)");
  if (process->settings.enable == 0) return fail(Errc::unsupported, "SUMAC_ENABLE=0 switches this library off");
  static std::once_flag named;
  std::call_once(named, [&] { sumac_say_as(host_name().c_str(), static_cast<unsigned>(given.rank)); });

  auto team = std::make_unique<sumac_open_team>();
  team->rank = given.rank;
  team->size = given.size;
  team->name = given.name == nullptr ? "team" : given.name;
  team->mark = client::process_mark();
  const std::int64_t making_ms = process->settings.timeout_ms;
  const std::int64_t limit_ms = given.timeout_ms != 0 ? given.timeout_ms : making_ms;
  if (limit_ms != 0) team->limit = Millis{limit_ms};
  if (team->size == 1) return team;
  const Duration within = making_ms != 0 ? Duration(Millis{making_ms}) : Duration::max();
  CallersExchange exchange(given, within);
  auto peers = rank::Peers::make(exchange, "libsumac_team");
  if (!peers) return tl::unexpected(peers.error());
  team->peers = *std::move(peers);
  if (auto created = create(*team, within); !created) return tl::unexpected(created.error());
  return team;
}

}  // namespace sumac::c

sumac_open_team::~sumac_open_team() {
  for (const sumac_team_request& one : requests_)
    if (one.op != nullptr) sumac_op_free(one.op);
  if (team != nullptr) sumac_team_destroy(team);
}

namespace {

thread_local std::string why_not_open;

/// A team that is not broken prints how its calls went.
void say_counts(sumac_open_team& team) {
  if (team.team == nullptr || sumac_team_error(team.team)[0] != '\0') return;
  sumac_tally tally{};
  sumac_tally_add_team(&tally, team.team, team.rank);
  sumac::rank::say_last_line(team.peers, tally, sumac_job_stands() ? sumac_job_id() : 0, sumac_process_own()->settings);
}

}  // namespace

extern "C" {

int sumac_team_open(const sumac_team_params* params, sumac_open_team_t** team_p) {
  if (params == nullptr || team_p == nullptr) return SUMAC_ERR_INVALID;
  return sumac::c::guarded([&] {
    auto made = sumac::c::open(*params);
    if (!made) {
      why_not_open = fmt::format("rank {} has no team: {}", params->rank, made.error().context);
      return sumac::c::status_of(made.error().code);
    }
    *team_p = made->release();
    return int{SUMAC_OK};
  });
}

void sumac_team_close(sumac_open_team_t* handle) {
  if (handle == nullptr) return;
  (void)sumac::c::guarded([&] {
    // The team of a fork's child belongs to the parent.
    if (!sumac::client::same_process(handle->mark)) return int{SUMAC_ERR_INVALID};
    const std::unique_ptr<sumac_open_team> team(handle);
    say_counts(*team);
    return int{SUMAC_OK};
  });
}

int sumac_team_rank(const sumac_open_team_t* team) { return team->rank; }
int sumac_team_size(const sumac_open_team_t* team) { return team->size; }

const char* sumac_team_why(const sumac_open_team_t* team) {
  return team == nullptr ? why_not_open.c_str() : team->why.c_str();
}

}  // extern "C"
