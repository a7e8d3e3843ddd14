#include <fmt/format.h>

#include <utility>

#include "bindings/ucc/team.hpp"
#include "client/fork_guard.hpp"
#include "rank/alone.hpp"

using sumac::Error;
using sumac::ucc::get_status;
using sumac::ucc::guarded;
using sumac::ucc::Packed;
using sumac::ucc::refuse;
using sumac::ucc::Request;
using sumac::ucc::set_status;
using Way = Request::Way;

namespace {

/// A team that a time limit has broken says so at every rank.
[[gnu::cold]] ucc_status_t broken(const ucc_team& team) {
  const std::string why = team.error();
  return refuse(why.find("timed out") != std::string::npos ? UCC_ERR_TIMED_OUT : UCC_ERR_NO_MESSAGE, why);
}

void op_done(void* user, int status) {
  auto& request = *static_cast<Request*>(user);
  request.over(status == SUMAC_TEAM_OK ? UCC_OK : broken(*request.team));
}

void send_or_receive(Request& request) {
  auto& peers = *request.team->peers;
  request.outcome = UCC_OK;
  request.left = static_cast<int>(request.peers.size()) + 1;
  request.messages.clear();
  const auto then = [&request](const Error* why) {
    if (why != nullptr) (void)refuse(sumac::ucc::status_of(why->code), why->context);
    request.message_over(why == nullptr ? UCC_OK : sumac::ucc::status_of(why->code));
  };
  for (const int peer : request.peers)
    request.messages.push_back(request.sends
                                   ? peers.send(peer, request.tag, request.call.out, request.call.bytes, then)
                                   : peers.receive(peer, request.tag, request.call.out, request.call.bytes, then));
  (void)peers.progress();
  request.message_over(UCC_OK);
}

/// The other ranks wait for this one's part: with the team, all have an error.
[[gnu::cold]] ucc_status_t partless(Request& request, ucc_status_t status, std::string_view reason) {
  const std::string why =
      fmt::format("{} at rank {}: {}", sumac::ucc::name_of(request.type), request.team->rank, reason);
  if (request.team->team != nullptr) sumac_team_break(request.team->team, why.c_str());
  set_status(request, status);
  return refuse(status, why);
}

ucc_status_t make_op(Request& request) {
  ucc_team& team = *request.team;
  switch (sumac_op_create(team.team, &request.call, op_done, &request, &request.op)) {
    case SUMAC_TEAM_OK: return UCC_OK;
    case SUMAC_TEAM_BROKEN: return broken(team);
    case SUMAC_TEAM_NO_MEMORY: return UCC_ERR_NO_MEMORY;
    case SUMAC_TEAM_PASS: return UCC_ERR_NOT_SUPPORTED;
    default: return UCC_ERR_INVALID_PARAM;
  }
}

/// The operation works on copies of what is in a GPU's memory.
ucc_status_t stage(Request& request) {
  if (const auto copied = request.copy_from_device(); !copied)
    return partless(request, UCC_ERR_NO_RESOURCE, copied.error().text);
  if (request.way != Way::team) return UCC_OK;
  if (request.op != nullptr) sumac_op_free(request.op);
  request.op = nullptr;
  return make_op(request);
}

ucc_status_t post(Request& request) {
  if (request.team == nullptr) return refuse(UCC_ERR_INVALID_PARAM, "ucc_collective_post: the request is finalized");
  ucc_team& team = *request.team;
  const ucc_status_t before = get_status(request);
  if (before != UCC_OPERATION_INITIALIZED && !(before == UCC_OK && request.is_persistent))
    return refuse(UCC_ERR_INVALID_PARAM,
                  "ucc_collective_post: the request is in progress, has failed, or is done and not "
                  "persistent");
  if (team.state.load(std::memory_order_relaxed) != ucc_team::State::active)
    return refuse(UCC_ERR_INVALID_PARAM, "ucc_collective_post: the request's team is destroyed");
  if (team.context->is_closed.load(std::memory_order_relaxed))
    return refuse(UCC_ERR_INVALID_PARAM, "ucc_collective_post: the team's context is destroyed");
  if (!sumac::client::same_process(team.context->mark))
    return refuse(UCC_ERR_INVALID_PARAM, "ucc_collective_post: a forked process can't use its parent's teams");
  // In place, what is packed of the result is read too.
  for (Packed* const one : {&request.packed_in, &request.packed_out})
    if (one->type != nullptr && !one->pack())
      return partless(request, UCC_ERR_INVALID_PARAM, "a generic datatype's pack() gave 0 bytes, or more than it has");
  if (request.is_on_device())
    if (const ucc_status_t status = stage(request); status != UCC_OK) return status;
  set_status(request, UCC_INPROGRESS);
  if (request.is_watched()) team.requests.watch(request);
  switch (request.way) {
    case Way::alone: sumac::rank::run_alone(request.call); [[fallthrough]];
    case Way::nowhere:
      request.outcome = UCC_OK;
      request.conclude();
      return UCC_OK;
    case Way::messages: send_or_receive(request); return UCC_OK;
    case Way::team: break;
  }
  if (sumac_op_begin(request.op) == SUMAC_TEAM_OK) return UCC_OK;
  const ucc_status_t why = broken(team);
  set_status(request, why);
  return why;
}

}  // namespace

extern "C" {

ucc_status_t ucc_collective_init(ucc_coll_args_t* coll_args, ucc_coll_req_h* request_p, ucc_team_h team) {
  if (coll_args == nullptr || request_p == nullptr || team == nullptr) return UCC_ERR_INVALID_PARAM;
  return guarded([&] {
    if (const auto state = team->state.load(std::memory_order_relaxed); state != ucc_team::State::active)
      return state == ucc_team::State::aside
                 ? UCC_ERR_NOT_SUPPORTED
                 : refuse(UCC_ERR_INVALID_PARAM,
                          "ucc_collective_init: the team is not made, or this process is no rank of it");
    if (team->context->is_closed.load(std::memory_order_relaxed))
      return refuse(UCC_ERR_INVALID_PARAM, "ucc_collective_init: the team's context is destroyed");
    if (!sumac::client::same_process(team->context->mark))
      return refuse(UCC_ERR_INVALID_PARAM, "ucc_collective_init: a forked process can't use its parent's teams");
    Request* const request = team->requests.take();
    request->reset(*team);
    ucc_status_t status = sumac::ucc::plan(*request, *coll_args, *team);
    if (status == UCC_OK && request->way == Way::team && !request->is_on_device()) status = make_op(*request);
    if (status != UCC_OK) {
      team->requests.give_back(request);
      return status;
    }
    *request_p = request;
    return UCC_OK;
  });
}

ucc_status_t ucc_collective_post(ucc_coll_req_h request) {
  if (request == nullptr) return UCC_ERR_INVALID_PARAM;
  return guarded([&] { return post(*static_cast<Request*>(request)); });
}

ucc_status_t ucc_collective_finalize(ucc_coll_req_h handle) {
  if (handle == nullptr) return UCC_ERR_INVALID_PARAM;
  return guarded([&] {
    auto& request = *static_cast<Request*>(handle);
    if (request.team == nullptr)
      return refuse(UCC_ERR_INVALID_PARAM, "ucc_collective_finalize: the request is finalized already");
    if (get_status(request) == UCC_INPROGRESS)
      return refuse(UCC_ERR_INVALID_PARAM, "ucc_collective_finalize: the request is in progress");
    if (request.op != nullptr) sumac_op_free(request.op);
    request.op = nullptr;
    request.stage.reset();
    if (request.is_watched()) request.team->requests.forget(request);
    request.messages.clear();
    std::exchange(request.team, nullptr)->requests.give_back(&request);
    return UCC_OK;
  });
}

}  // extern "C"
