#include "bindings/xccl/team.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bindings/xccl/request.hpp"

using sumac::xccl::find;
using sumac::xccl::guarded;
using sumac::xccl::Oob;
using sumac::xccl::refuse;
using sumac::xccl::Register;
using sumac::xccl::status_of;

void xccl_team::step() {
  // The second step of a fetch is the team's next collective at every rank: all that is posted after the fetch waits for it.
  while (!waiting.empty()) {
    xccl_coll_req& first = *waiting.front();
    if (first.state == xccl_coll_req::State::waiting) first.start();
    if (first.state == xccl_coll_req::State::asking && !first.move()) return;
    waiting.pop_front();
  }
}

namespace {

/// The team's ranks are a range of the context's.
xccl_status_t prepare_range(xccl_team& team, const xccl_team_params_t& params) {
  const auto invalid = [](const char* why) {
    return refuse(XCCL_ERR_INVALID_PARAM, fmt::format("xccl_team_create_post: {}", why));
  };
  const Oob& of = team.context->oob;
  if (!team.context->has_oob) return invalid("neither the team nor its context has an OOB");
  xccl_ep_range_t range{};
  if ((params.field_mask & XCCL_TEAM_PARAM_FIELD_EP_RANGE) != 0) range = params.range;
  if (sumac::rank::number_of(range.type) > XCCL_EP_RANGE_CB) return invalid("there is no such type of a range");
  if (range.type == XCCL_EP_RANGE_UNDEFINED) {
    range.type = XCCL_EP_RANGE_FULL;
    range.ep_num = of.size;
  }
  if (range.type == XCCL_EP_RANGE_FULL && range.ep_num == 0) range.ep_num = of.size;
  if (range.ep_num < 1 || range.ep_num > of.size) return invalid("the range has no ranks, or more than the OOB");
  if ((range.type == XCCL_EP_RANGE_MAP && range.map.map == nullptr) ||
      (range.type == XCCL_EP_RANGE_CB && range.cb.cb == nullptr))
    return invalid("the range lacks its map or function");
  for (int i = 0; i < range.ep_num; ++i) {
    const int rank = xccl_range_to_rank(range, i);
    if (rank < 0 || rank >= of.size || std::find(team.ranks.begin(), team.ranks.end(), rank) != team.ranks.end())
      return invalid("the range names a rank that the OOB lacks, or one twice");
    team.ranks.push_back(rank);
  }
  const auto own = std::find(team.ranks.begin(), team.ranks.end(), of.rank);
  if (own == team.ranks.end()) return invalid("the range lacks the rank that calls");
  // The program's own map may be gone before the team is made.
  team.oob = {
      of.program, {XCCL_EP_RANGE_MAP, range.ep_num, {}}, static_cast<int>(own - team.ranks.begin()), range.ep_num};
  team.oob.range.map.map = team.ranks.data();
  return XCCL_OK;
}

}  // namespace

extern "C" {

xccl_status_t xccl_team_create_post(xccl_context_h context, xccl_team_params_t* params, xccl_team_h* handle) {
  if (params == nullptr || handle == nullptr) return XCCL_ERR_INVALID_PARAM;
  return guarded([&] {
    auto team = std::make_shared<xccl_team>();
    team->context = find(context, "context");
    if (!team->context) return XCCL_ERR_INVALID_PARAM;
    if ((params->field_mask & XCCL_TEAM_PARAM_FIELD_OOB) != 0) {
      if (const char* flaw = Oob::flaw(params->oob))
        return refuse(XCCL_ERR_INVALID_PARAM, fmt::format("xccl_team_create_post: {}", flaw));
      team->oob = {params->oob, {}, params->oob.rank, params->oob.size};
    } else if (const xccl_status_t status = prepare_range(*team, *params); status != XCCL_OK) {
      return status;
    }
    team->rank = team->oob.rank;
    team->size = team->oob.size;
    ucc_team_params_t of_ucc{};
    std::uint32_t alone = 0;
    if (team->size > 1) {
      of_ucc.mask = UCC_TEAM_PARAM_FIELD_OOB;
      of_ucc.oob = team->oob.as_ucc();
    } else {
      // Its OOB is not called: a program's may not be made for a rank alone (that of XCCL's tests is not).
      of_ucc.mask = UCC_TEAM_PARAM_FIELD_EP_MAP;
      alone = static_cast<std::uint32_t>(team->context->meets ? team->context->oob.rank : 0);
      of_ucc.ep_map = {UCC_EP_MAP_ARRAY, 1, {}};
      of_ucc.ep_map.array = {&alone, sizeof alone};
    }
    const auto status = ucc_team_create_post(&team->context->context, 1, &of_ucc, &team->team);
    if (status != UCC_OK) return status_of(status);
    *handle = Register<xccl_team>::own().add(std::move(team));
    return XCCL_OK;
  });
}

xccl_status_t xccl_team_create_test(xccl_team_h handle) {
  return guarded([&] {
    const auto team = find(handle, "team");
    if (!team) return XCCL_ERR_INVALID_PARAM;
    if (team->is_active) return XCCL_OK;
    const auto status = ucc_team_create_test(team->team);
    if (status == UCC_INPROGRESS)
      return team->context->progress() == XCCL_OK ? XCCL_INPROGRESS : XCCL_ERR_INVALID_PARAM;
    if (status == UCC_OK) {
      const std::lock_guard guard(team->context->lock);
      team->context->teams.push_back(handle);
      team->is_active = true;
    }
    return status_of(status);
  });
}

/// Other ranks may destroy their teams in another order, so it does not wait for them: the context's end does.
void xccl_team_destroy(xccl_team_h handle) {
  (void)guarded([&] {
    const auto team = find(handle, "team");
    if (!team) return XCCL_ERR_INVALID_PARAM;
    (void)team->context->progress();  // Ends what is over already.
    const std::lock_guard of_context(team->context->lock);
    const std::lock_guard guard(team->lock);
    const bool is_open = std::any_of(team->requests.begin(), team->requests.end(), [](const xccl_coll_req* one) {
      return one->state != xccl_coll_req::State::fresh && one->status() == XCCL_INPROGRESS;
    });
    if (is_open && !team->context->is_closed)
      return refuse(XCCL_ERR_INVALID_PARAM, "xccl_team_destroy: a collective of the team is under way: wait for it");
    for (xccl_coll_req* one : team->requests) one->drop();
    const auto status = ucc_team_destroy(team->team);
    if (status != UCC_OK && status != UCC_INPROGRESS) return status_of(status);
    team->is_active = false;
    std::erase(team->context->teams, handle);
    (void)Register<xccl_team>::own().take(handle);
    return XCCL_OK;
  });
}

}  // extern "C"
