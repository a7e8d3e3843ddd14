#include "bindings/hcoll/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "base/host_name.hpp"
#include "bindings/hcoll/messages.hpp"
#include "client/fork_guard.hpp"
#include "rank/create_team.hpp"
#include "rank/explain.h"
#include "rank/job.h"
#include "rank/limits.hpp"

namespace sumac::hcoll {

std::atomic<int> posted{0};

namespace {

thread_local int moving = 0;
thread_local std::vector<void*> completed;

/// Ranks tell each other this before they make a team.
struct Greeting {
  std::uint64_t signature;  ///< The hash of variables that they must have alike.
  std::uint32_t number;     ///< Counts contexts; the largest one is taken.
  std::uint8_t is_off, is_first, wants_line, zero;
  std::int32_t size;  ///< The group has so many ranks.
  std::uint32_t none;
};

/// So many handles are kept after their end.
constexpr std::size_t kEndedKept = 1024;
/// A client that names more ranks does not know its group.
constexpr int kRanksMost = 1 << 22;
/// The last line waits so long for the other ranks.
constexpr Duration kLineWithin = Seconds{1};

struct All {
  std::mutex lock;  ///< Guards all, and is held by the thread that moves the teams.
  std::vector<Context*> living;
  std::deque<Context*> ended;
  int host_ranks = 1;
  std::uint32_t next_number = 0;
};
/// Never destroyed: threads may outlive main().
All*& place_of_all() {
  static All* own = new All;
  return own;
}
All& all() { return *place_of_all(); }

/// Set while the last line waits for other ranks.
std::atomic<sumac_team_t*> in_last_line{nullptr};
Time last_line_until{};

/// Called by src/team while a rank waits in it.
void look(void* lane) {
  if (sumac_team_t* const team = in_last_line.load(std::memory_order_relaxed);
      team != nullptr && monotonic_now() > last_line_until)
    sumac_team_break(team, "a rank did not come to the last line");
  sumac_limits_drive(lane);
}

int sum(void* context, std::int64_t* values, int count) {
  sumac_team_t* const team = static_cast<Team*>(context)->team();
  sumac_fold_t fold;
  if (sumac_fold_standard(&fold, SHARP_DTYPE_LONG, SHARP_OP_SUM, SHARP_DTYPE_NULL) != SUMAC_TEAM_OK) return -1;
  sumac_call_t call{};
  call.coll = SUMAC_COLL_ALLREDUCE;
  call.out = values;
  call.bytes = static_cast<std::size_t>(count) * sizeof *values;
  call.fold = &fold;
  last_line_until = monotonic_now() + kLineWithin;
  in_last_line = team;
  const int status = sumac_team_run(team, &call);
  in_last_line = nullptr;
  return status;
}

void say_last_line(Team& team) {
  if (!team.is_first || sumac_team_error(team.team())[0] != '\0') return;
  const sumac_communicator world{
      .context = &team, .rank = team.rank, .size = team.size, .name = team.name.c_str(), .sum = &sum};
  if (team.has_line) sumac_records_tally(&runtime(), &world, true);
}

Result<Greeting> greet(GroupExchange& exchange, std::vector<Greeting>& greetings) {
  const sumac_process* const process = sumac_process_own();
  if (process == nullptr) return fail(Errc::invalid, "a variable of the environment is wrong (it is named above)");
  Greeting own{};
  own.signature = sumac_process_signature(process);
  own.size = exchange.size();
  own.is_off = why_off()[0] != '\0';
  own.is_first = library().contexts.fetch_add(1) == 0;
  own.wants_line = process->settings.last_line < 0 ? hcoll_is_asked_for() != 0 : process->settings.last_line != 0;
  {
    const std::lock_guard guard(all().lock);
    own.number = all().next_number;
  }
  auto told = exchange.allgather(rank::bytes_of(own));
  if (!told) return tl::unexpected(told.error());
  Greeting agreed = own;
  agreed.is_first = 1;
  for (std::size_t one = 0; one < told->size(); ++one) {
    Greeting other;
    if ((*told)[one].size() != sizeof other) return fail(Errc::invalid, "{}", exchange.other_job());
    std::memcpy(&other, (*told)[one].data(), sizeof other);
    if (other.size != own.size) return fail(Errc::invalid, "{}", exchange.other_job());
    agreed.is_off |= other.is_off;
    agreed.is_first &= other.is_first;
    agreed.number = std::max(agreed.number, other.number);
    if (one == 0) agreed.wants_line = other.wants_line;
    greetings.push_back(other);
  }
  const std::lock_guard guard(all().lock);
  all().next_number = std::max(all().next_number, agreed.number + 1);
  return agreed;
}

/// Null: this library is off at a rank.
Result<std::unique_ptr<Context>> make(GroupExchange& exchange, rte_grp_handle_t group) {
  std::vector<Greeting> greetings;
  auto agreed = greet(exchange, greetings);
  if (!agreed) return tl::unexpected(agreed.error());
  if (agreed->is_off != 0) {
    if (exchange.rank() == 0 && sumac_process_own()->options != nullptr && why_off()[0] != '\0')
      sumac_explain_none(sumac_process_own()->options, "", exchange.size(), why_off());
    return nullptr;
  }
  for (std::size_t one = 0; one < greetings.size(); ++one)
    if (greetings[one].signature != greetings.front().signature)
      return fail(Errc::invalid, "ranks 0 and {} have different variables: give all ranks the same (mpirun -x)", one);
  if (agreed->is_first != 0) sumac_say_as(host_name().c_str(), static_cast<unsigned>(exchange.rank()));
  auto members = rank::meet(exchange, "libhcoll");
  if (!members) return tl::unexpected(members.error());
  auto context = std::make_unique<Context>();
  context->team = std::make_unique<Team>(*std::move(members));
  Team& team = *context->team;
  team.name = hcoll_rte_functions.rte_group_id_fn == nullptr
                  ? fmt::format("{}", agreed->number)
                  : fmt::format("id {}", hcoll_rte_functions.rte_group_id_fn(group));
  team.is_first = agreed->is_first != 0;
  team.has_line = agreed->wants_line != 0;
  int host_ranks = 0;
  {
    const std::lock_guard guard(all().lock);
    host_ranks = all().host_ranks = std::max(all().host_ranks, static_cast<int>(team.members.here.size()));
  }
  auto made = rank::create_team(exchange, team.members,
                                {.options = sumac_process_own()->options,
                                 .name = team.name.c_str(),
                                 .host_ranks = host_ranks,
                                 .threads = library().has_threads,
                                 .progress = &look,
                                 .progress_context = &team.ordinary});
  if (!made) return tl::unexpected(made.error());
  team.ordinary.team = made->team;
  team.life = SUMAC_LIFE_TEAM;
  return context;
}

void* create(rte_grp_handle_t group) {
  if (check_process("hcoll_create_context") != HCOLL_SUCCESS) return nullptr;
  const auto& client = hcoll_rte_functions;
  const int size = client.rte_group_size_fn(group), rank = client.rte_my_rank_fn(group);
  if (size < 2 || size > kRanksMost || rank < 0 || rank >= size) return nullptr;
  const sumac_process* const process = sumac_process_own();
  const std::int64_t limit = process == nullptr ? 0 : process->settings.timeout_ms;
  GroupExchange exchange(group, rank, size, library().tag, limit == 0 ? rank::kMeetWithin : Duration(Millis{limit}));
  auto made = make(exchange, group);
  // The last use: a rank that has failed says so here at the latest, and there is a context at all ranks or at none.
  if (made)
    if (auto others = exchange.allgather({}); !others) made = tl::unexpected(others.error());
  if (!made) {
    (void)exchange.give_up(made.error());
    (void)refuse(HCOLL_ERROR,
                 fmt::format("hcoll_create_context: the client does the collectives of this group of {}: {}", size,
                             made.error().context));
    return nullptr;
  }
  if (*made == nullptr) return nullptr;
  sumac_record_enlist((*made)->team.get());
  const std::lock_guard guard(all().lock);
  all().living.push_back(made->get());
  return made->release();
}

int free_context(void* handle, const char* function) {
  if (const int status = check_process(function); status != HCOLL_SUCCESS) return status;
  (void)progress();  // Ends what is over already.
  {
    const std::lock_guard guard(all().lock);
    const auto found = std::find(all().living.begin(), all().living.end(), handle);
    if (found == all().living.end() || (*found)->is_freed) return no_context();
    (*found)->is_freed = true;
  }
  end_contexts(false);
  return HCOLL_SUCCESS;
}

}  // namespace

Team::Team(rank::Members of) : sumac_record{}, members(std::move(of)) {
  runtime = &hcoll::runtime();
  rank = members.rank;
  size = members.size();
  hosts = members.hosts;
  is_counted = rank == 0;
  ordinary.record = this;
}

Team::~Team() { sumac_record_end(this); }

int no_context() noexcept {
  return guarded([] {
    return refuse(HCOLL_ERR_BAD_PARAM, "a context that hcoll_create_context() has not returned, or that is freed");
  });
}

Moving::Moving() { ++moving; }

Moving::~Moving() {
  if (--moving > 0) return;
  for (void* const handle : std::exchange(completed, {})) complete(handle);
}

void complete(void* handle) {
  if (moving > 0)
    completed.push_back(handle);
  else
    hcoll_rte_functions.rte_coll_handle_complete_fn(handle);
}

int progress() {
  if (posted.load(std::memory_order_relaxed) == 0 || moving > 0 || !client::same_process(library().mark)) return 0;
  int ended = 0;
  bool has_freed = false;
  {
    const Moving in_here;
    const std::unique_lock guard(all().lock, std::try_to_lock);
    if (!guard) return 0;
    for (const Context* one : all().living) {
      Team& team = *one->team;
      has_freed = has_freed || one->is_freed;
      if (sumac_team_active(team.team()) == 0) continue;
      ended += sumac_team_progress(team.team());
      if (sumac_limits_on(team.runtime)) sumac_limits_look(&team.ordinary);
    }
  }
  if (has_freed) end_contexts(false);
  return ended;
}

void end_contexts(bool is_end) {
  std::vector<std::unique_ptr<Team>> over;
  {
    const std::lock_guard guard(all().lock);
    std::erase_if(all().living, [&](Context* one) {
      if (!is_end && (!one->is_freed || sumac_team_active(one->team->team()) != 0)) return false;
      over.push_back(std::move(one->team));
      all().ended.push_back(one);
      return true;
    });
    for (; !is_end && all().ended.size() > kEndedKept; all().ended.pop_front()) delete all().ended.front();
  }
  // The first one last: its end counts what the others have done.
  std::stable_partition(over.begin(), over.end(), [](const auto& one) { return !one->is_first; });
  for (const auto& one : over) {
    say_last_line(*one);
    sumac_record_delist(one.get());
  }
}

/// The parent's memory is shared with its peers, and another thread of it may have held the lock: all is left as it is.
void forget_contexts() {
  for (Context* one : all().living) (void)one->team.release();
  place_of_all() = new All;
  posted = 0;
}

}  // namespace sumac::hcoll

extern "C" {

void* hcoll_create_context(rte_grp_handle_t group) {
  void* made = nullptr;
  (void)sumac::hcoll::guarded([&] {
    made = sumac::hcoll::create(group);
    return HCOLL_SUCCESS;
  });
  return made;
}

int hcoll_context_free(void* context, rte_grp_handle_t) {
  return sumac::hcoll::guarded([&] { return sumac::hcoll::free_context(context, "hcoll_context_free"); });
}

int hcoll_destroy_context(void* context, rte_grp_handle_t, int* context_destroyed) {
  return sumac::hcoll::guarded([&] {
    const int status = sumac::hcoll::free_context(context, "hcoll_destroy_context");
    if (context_destroyed != nullptr) *context_destroyed = status == HCOLL_SUCCESS ? 1 : 0;
    return status;
  });
}

/// Nothing is done: the group is not used once its context is made.
int hcoll_group_destroy_notify(void* context) {
  return sumac::hcoll::find(context) == nullptr ? sumac::hcoll::no_context() : HCOLL_SUCCESS;
}

}  // extern "C"
