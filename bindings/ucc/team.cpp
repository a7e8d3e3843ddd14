#include "bindings/ucc/team.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "base/fnv.hpp"
#include "client/fork_guard.hpp"
#include "rank/job.h"

using State = ucc_team::State;
using sumac::ucc::find;
using sumac::ucc::guarded;
using sumac::ucc::refuse;
using sumac::ucc::Register;
using sumac::ucc::status_of;

namespace sumac::ucc {

std::shared_ptr<ucc_team> find(ucc_team_h handle) {
  auto found = Register<ucc_team>::own().find(handle);
  if (!found)
    (void)refuse(UCC_ERR_INVALID_PARAM, "a team that ucc_team_create_post() has not returned, or is destroyed");
  return found;
}

}  // namespace sumac::ucc

namespace {

/// The last teams that were destroyed.
class EndedTeams {
 public:
  void add(std::shared_ptr<ucc_team> team) {
    team->close();
    const std::lock_guard guard(lock_);
    teams_.push_back(std::move(team));
    if (teams_.size() > kMost) teams_.pop_front();
  }
  /// Never freed: threads may outlive main().
  static EndedTeams& own() {
    static EndedTeams& teams = *new EndedTeams;
    return teams;
  }

 private:
  static constexpr std::size_t kMost = 64;
  std::mutex lock_;
  std::deque<std::shared_ptr<ucc_team>> teams_;
};

}  // namespace

ucc_team::~ucc_team() { close(); }

void ucc_team::close() {
  if (std::exchange(is_closed_, true)) return;
  if (team != nullptr) sumac_team_destroy(team);
  team = nullptr;
  requests.close();
  peers.reset();
  context->team_count.fetch_sub(1);
}

void ucc_context::join_ended() {
  const std::lock_guard guard(lock);
  for (ucc_team* team : ending)
    if (team->thread_is_done.load(std::memory_order_acquire) && team->thread.joinable()) team->thread.join();
}

void ucc_context::end_teams() {
  std::vector<ucc_team*> left;
  {
    const std::lock_guard guard(lock);
    left.swap(ending);
  }
  for (ucc_team* handle : left)
    if (auto team = Register<ucc_team>::own().take(handle)) {
      if (team->thread.joinable()) team->thread.join();
      EndedTeams::own().add(std::move(team));
    }
}

void ucc_team::progress() {
  if (sumac_team_active(team) > 0) (void)sumac_team_progress(team);
  if (requests.has_watched()) requests.end_some();
}

namespace {

/// The context's rank of each rank of the team. Empty: the map is none of this context's.
std::vector<int> ranks_of(const ucc_ep_map_t& map, int context_size) {
  std::vector<int> ranks;
  const std::uint64_t count = map.ep_num == 0 && map.type == UCC_EP_MAP_FULL ? context_size : map.ep_num;
  if (count > static_cast<std::uint64_t>(context_size)) return {};
  if (map.type == UCC_EP_MAP_ARRAY &&
      (map.array.map == nullptr || (map.array.elem_size != 4 && map.array.elem_size != 8)))
    return {};
  if (map.type == UCC_EP_MAP_CB && map.cb.cb == nullptr) return {};
  std::vector<bool> has(static_cast<std::size_t>(context_size));
  for (std::uint64_t ep = 0; ep < count; ++ep) {
    std::uint64_t rank = 0;
    switch (map.type) {
      case UCC_EP_MAP_FULL: rank = ep; break;
      case UCC_EP_MAP_STRIDED: rank = map.strided.start + ep * static_cast<std::uint64_t>(map.strided.stride); break;
      case UCC_EP_MAP_ARRAY:
        rank = map.array.elem_size == 4 ? static_cast<const std::uint32_t*>(map.array.map)[ep]
                                        : static_cast<const std::uint64_t*>(map.array.map)[ep];
        break;
      case UCC_EP_MAP_CB: rank = map.cb.cb(ep, map.cb.cb_ctx); break;
      default: return {};
    }
    if (rank >= has.size() || has[rank]) return {};
    has[rank] = true;
    ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

/// Prepares how the ranks meet, by those fields alone that the mask names.
ucc_status_t prepare(ucc_team& team, const ucc_team_params_t& params) {
  const auto has = [&](std::uint64_t bit) { return (params.mask & bit) != 0; };
  const auto invalid = [](const char* why) {
    return refuse(UCC_ERR_INVALID_PARAM, fmt::format("ucc_team_create_post: {}", why));
  };
  ucc_context& context = *team.context;
  auto& making = *(team.making = std::make_unique<ucc_team::Making>());
  const bool has_ep = has(UCC_TEAM_PARAM_FIELD_EP) &&
                      (!has(UCC_TEAM_PARAM_FIELD_EP_RANGE) || params.ep_range == UCC_COLLECTIVE_EP_RANGE_CONTIG);
  team.peers = context.peers;
  if (has(UCC_TEAM_PARAM_FIELD_OOB)) {
    const auto& oob = params.oob;
    if (const char* flaw = sumac::ucc::OobExchange::flaw(oob)) return invalid(flaw);
    making.ep = has_ep ? params.ep : oob.oob_ep;
    making.oob = std::make_unique<sumac::ucc::OobExchange>(oob, false, sumac::ucc::time_limit());
    return UCC_OK;
  }
  const int context_size = context.peers ? context.peers->members().size() : 1;
  const auto map = has(UCC_TEAM_PARAM_FIELD_EP_MAP) ? params.ep_map : ucc_ep_map_t{UCC_EP_MAP_FULL, 0, {}};
  team.ranks = ranks_of(map, context_size);
  if (team.ranks.empty())
    return invalid(
        "ep_map names no ranks of this context, or one twice; a team of ranks that the context does not "
        "have needs an OOB");
  const int own = static_cast<int>(context.address.rank);
  const auto at = std::find(team.ranks.begin(), team.ranks.end(), own);
  if (at == team.ranks.end()) return invalid("ep_map has not the rank that calls");
  team.rank = static_cast<int>(at - team.ranks.begin());
  if (has_ep && params.ep != static_cast<std::uint64_t>(team.rank)) return invalid("ep is not the caller's in ep_map");
  std::uint64_t list =
      sumac::fnv1a({reinterpret_cast<const char*>(team.ranks.data()), team.ranks.size() * sizeof(int)});
  // With an id, ranks that differ on the map find out: they use the same name.
  const std::uint64_t id = has(UCC_TEAM_PARAM_FIELD_ID) ? params.id + 1 : 0;
  list = sumac::fnv1a(list, id);
  making.attempt = context.attempt(list);
  const std::uint64_t name = id != 0 ? sumac::fnv1a(sumac::kFnvBegins, id) : sumac::fnv1a(list, making.attempt);
  making.name = static_cast<std::uint32_t>(name) & sumac::rank::kExchangeNames;
  making.has_list_alone = id == 0;
  return UCC_OK;
}

ucc_status_t begin(const std::shared_ptr<ucc_team>& team, ucc_team_h* new_team) {
  if (auto started = team->start(&ucc_team::make); !started) {
    team->making.reset();
    return refuse(status_of(started.error().code), "ucc_team_create_post: " + started.error().context);
  }
  *new_team = Register<ucc_team>::own().add(team);
  return UCC_OK;
}

}  // namespace

extern "C" {

ucc_status_t ucc_team_create_post(ucc_context_h* contexts, uint32_t num_contexts, const ucc_team_params_t* team_params,
                                  ucc_team_h* new_team) {
  if (contexts == nullptr || team_params == nullptr || new_team == nullptr) return UCC_ERR_INVALID_PARAM;
  if (num_contexts != 1) return refuse(UCC_ERR_NOT_SUPPORTED, "ucc_team_create_post: a team has one context");
  return guarded([&] {
    auto context = find(contexts[0]);
    if (!context) return UCC_ERR_INVALID_PARAM;
    auto team = std::make_shared<ucc_team>(std::move(context));
    if (team->context->stands_aside) {
      team->state = State::aside;
      *new_team = Register<ucc_team>::own().add(std::move(team));
      return UCC_OK;
    }
    if (const ucc_status_t status = prepare(*team, *team_params); status != UCC_OK) return status;
    return begin(team, new_team);
  });
}

ucc_status_t ucc_team_create_from_parent(uint64_t my_ep, uint32_t included, ucc_team_h parent_team,
                                         ucc_team_h* new_ucc_team) {
  if (new_ucc_team == nullptr) return UCC_ERR_INVALID_PARAM;
  return guarded([&] {
    auto parent = find(parent_team);
    if (!parent) return UCC_ERR_INVALID_PARAM;
    if (parent->state != State::active)
      return refuse(UCC_ERR_INVALID_PARAM, "ucc_team_create_from_parent: the parent is not made, or has no such rank");
    auto team = std::make_shared<ucc_team>(parent->context);
    team->making = std::make_unique<ucc_team::Making>();
    auto& making = *team->making;
    making.ep = my_ep;
    making.is_included = included != 0;
    const std::uint64_t split = sumac::fnv1a(sumac::fnv1a("split of"), parent->number);
    making.attempt = ++parent->splits;
    making.name = static_cast<std::uint32_t>(sumac::fnv1a(split, making.attempt)) & sumac::rank::kExchangeNames;
    making.parent = std::move(parent);
    return begin(team, new_ucc_team);
  });
}

ucc_status_t ucc_team_create_test(ucc_team_h handle) {
  return guarded([&] {
    const auto team = find(handle);
    if (!team) return UCC_ERR_INVALID_PARAM;
    if (team->state != State::making) return team->state == State::failed ? status_of(team->failure->code) : UCC_OK;
    if (!sumac::client::same_process(team->context->mark))
      return refuse(UCC_ERR_INVALID_PARAM, "a forked process can't use its parent's teams");
    if (team->making->oob) team->making->oob->step();
    if (!team->thread_is_done.load(std::memory_order_acquire)) {
      ::sched_yield();  // The program asks again at once, and the thread needs a processor too.
      return UCC_INPROGRESS;
    }
    team->thread.join();
    const bool is_included = team->making->is_included;
    team->making.reset();
    if (team->failure) {
      team->state = State::failed;
      return refuse(status_of(team->failure->code),
                    fmt::format("ucc_team_create_test: there is no team: {}", team->failure->context));
    }
    team->state = is_included ? State::active : State::outside;
    if (team->team != nullptr) {
      const std::lock_guard guard(team->context->lock);
      team->context->teams.push_back(team.get());
    }
    return UCC_OK;
  });
}

ucc_status_t ucc_team_destroy(ucc_team_h handle) {
  return guarded([&] {
    const auto team = find(handle);
    if (!team) return UCC_ERR_INVALID_PARAM;
    if (team->state == State::making)
      return refuse(UCC_ERR_INVALID_PARAM,
                    "ucc_team_destroy: the team is being made: ucc_team_create_test() until it is not UCC_INPROGRESS");
    if (team->state != State::ending) {
      team->context->join_ended();
      team->context->progress();  // Ends what is over already.
      if (team->requests.has_open_messages())
        return refuse(UCC_ERR_INVALID_PARAM,
                      "ucc_team_destroy: an active set of the team is in progress: test its request until it is over");
      {
        const std::lock_guard guard(team->context->lock);
        std::erase(team->context->teams, team.get());
        sumac_tally_add_team(&team->context->tally, team->team, team->rank);
        if (sumac_job_stands()) team->context->job_id = sumac_job_id();
      }
      team->state = State::ending;
      // Connections to other hosts end when those have read what was sent to them.
      const bool waits =
          team->team != nullptr && team->members.hosts > 1 && sumac::client::same_process(team->context->mark);
      if (waits && team->start(&ucc_team::end)) {
        const std::lock_guard guard(team->context->lock);
        team->context->ending.push_back(team.get());
        return UCC_INPROGRESS;
      }
    } else if (!team->thread_is_done.load(std::memory_order_acquire)) {
      ::sched_yield();
      return UCC_INPROGRESS;
    }
    team->context->join_ended();
    {
      const std::lock_guard guard(team->context->lock);
      std::erase(team->context->ending, team.get());
    }
    // Two threads may destroy it at once, and one of them takes it out.
    if (auto taken = Register<ucc_team>::own().take(handle)) EndedTeams::own().add(std::move(taken));
    return UCC_OK;
  });
}

ucc_status_t ucc_team_get_attr(ucc_team_h handle, ucc_team_attr_t* attr) {
  if (attr == nullptr) return UCC_ERR_INVALID_PARAM;
  return guarded([&] {
    const auto team = find(handle);
    if (!team || team->state != State::active) return UCC_ERR_INVALID_PARAM;
    constexpr std::uint64_t kKnown = UCC_TEAM_ATTR_FIELD_POST_ORDERING | UCC_TEAM_ATTR_FIELD_EP |
                                     UCC_TEAM_ATTR_FIELD_EP_RANGE | UCC_TEAM_ATTR_FIELD_SYNC_TYPE |
                                     UCC_TEAM_ATTR_FIELD_SIZE | UCC_TEAM_ATTR_FIELD_EPS;
    const std::uint64_t mask = attr->mask;
    if ((mask & UCC_TEAM_ATTR_FIELD_POST_ORDERING) != 0) attr->ordering = UCC_COLLECTIVE_POST_ORDERED;
    if ((mask & UCC_TEAM_ATTR_FIELD_EP) != 0) attr->ep = static_cast<std::uint64_t>(team->rank);
    if ((mask & UCC_TEAM_ATTR_FIELD_EP_RANGE) != 0) attr->ep_range = UCC_COLLECTIVE_EP_RANGE_CONTIG;
    if ((mask & UCC_TEAM_ATTR_FIELD_SYNC_TYPE) != 0) attr->sync_type = UCC_NO_SYNC_COLLECTIVES;
    if ((mask & UCC_TEAM_ATTR_FIELD_SIZE) != 0) attr->size = static_cast<std::uint32_t>(team->size);
    if ((mask & UCC_TEAM_ATTR_FIELD_EPS) != 0 && attr->eps != nullptr)
      for (int rank = 0; rank < team->size; ++rank) attr->eps[rank] = static_cast<std::uint64_t>(rank);
    return (mask & ~kKnown) == 0 ? UCC_OK : UCC_ERR_NOT_IMPLEMENTED;
  });
}

}  // extern "C"
