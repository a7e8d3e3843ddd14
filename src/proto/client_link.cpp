#include "proto/client_link.hpp"

#include <algorithm>

#include "proto/guard.hpp"
#include "proto/id_pool.hpp"
#include "proto/open_request.hpp"
#include "proto/resend.hpp"
#include "proto/with_body.hpp"
#include "wire/agg_codec.hpp"

namespace sumac::proto {

using wire::AggHeader;
using wire::AggKind;
using Head = ClientLink::Head;

template <class Body>
void ClientLink::control(AggKind kind, const Body& body) {
  AggHeader h;
  h.kind = kind;
  h.tree_id = config_.tree_id;
  h.payload_bytes = sizeof body;
  std::byte bytes[sizeof body];
  wire::store(bytes, body);
  outbox_.send_control(leaf_, h, {bytes, sizeof bytes});
}

void ClientLink::set_link(LinkId leaf, const wire::Nonce& nonce, Time) {
  leaf_ = leaf;
  closed_ = false;
  why_.clear();
  proven_ = false;
  wire::HelloBody hello;
  hello.job_id = config_.job_id;
  hello.role = wire::Role::client;
  hello.id = number_of(config_.world_rank);
  control(AggKind::hello, handshake_.begin(config_.leaf, config_.tree_id, hello, nonce));
}

void ClientLink::open(std::uint64_t token, std::uint32_t group_size, Time now) {
  auto [at, is_new] = opens_.try_emplace(token);
  if (!is_new) return;
  Request& request = at->second;
  request.group_size = group_size;
  if (closed_) {
    request.state = open_request::Lost{};
    return;
  }
  request.state = open_request::Asking{resend_time(now, config_.resend_after)};
  if (proven_) send_open(token, request);
}

OpenOutcome ClientLink::open_outcome(std::uint64_t token) const {
  const auto found = opens_.find(token);
  if (found == opens_.end()) return {OpenOutcome::State::lost, {}, {}};
  using State = OpenOutcome::State;
  return std::visit(overloaded{[](const open_request::Asking&) {
                                 return OpenOutcome{State::pending, {}, {}};
                               },
                               [](const open_request::Opened& s) {
                                 return OpenOutcome{State::opened, s.group_id, {}};
                               },
                               [&](const open_request::Refused&) {
                                 return OpenOutcome{State::refused, {}, found->second.refusal};
                               },
                               [](const open_request::Lost&) {
                                 return OpenOutcome{State::lost, {}, {}};
                               }},
                    found->second.state);
}

void ClientLink::attach(ClientGroup& group) {
  const std::uint32_t number = id_number(group.config().group_id);
  if (number >= groups_.size()) groups_.resize(number + 1);
  // The tree's root reuses a number only after the former group has left, so that group's answer was lost.
  if (ClientGroup* former = groups_[number]; former != nullptr && former != &group) former->on_number_reused();
  groups_[number] = &group;
}

void ClientLink::detach(ClientGroup& group) {
  const std::uint32_t number = id_number(group.config().group_id);
  if (number < groups_.size() && groups_[number] == &group) groups_[number] = nullptr;
  if (placed_ == &group) placed_ = nullptr;
}

std::span<std::byte> ClientLink::place(Head head, std::size_t payload) noexcept {
  AggHeader header;
  if (closed_ || wire::decode_head(head, payload, config_.message_max, header) != Errc::ok) return {};
  ClientGroup* group = header.tree_id == config_.tree_id ? group_of(header) : nullptr;
  return group == nullptr ? std::span<std::byte>{} : group->place(header);
}

void ClientLink::on_placed(Head head, Time now) {
  if (closed_) return;
  AggHeader header;
  wire::load(header, head.data());        // place() has checked the header
  ClientGroup* group = group_of(header);  // null: the group has left in the meantime
  placed_ = group;
  if (group != nullptr && group->on_placed(header, now) != Errc::ok) broke_a_rule(header, now);
}

std::span<std::byte> ClientLink::expect(std::span<std::byte, wire::kAggHeaderBytes> head) noexcept {
  AggHeader header;
  if (closed_ || placed_ == nullptr) return {};
  for (const ClientGroup* group : groups_)
    // The other group's results may come first
    if (group != nullptr && group != placed_ && group->in_flight() != 0) return {};
  const auto to = placed_->expect(header);
  if (!to.empty()) wire::encode(header, head);
  return to;
}

void ClientLink::on_message(BufferRef frame, Time now) {
  if (closed_) return;
  AggHeader header;
  if (wire::decode(frame.bytes(), config_.message_max, header) != Errc::ok) {
    auto why = wire::decode_agg_header(frame.bytes(), config_.message_max);
    return drop(why ? "malformed message" : why.error().context, now);
  }
  if (header.tree_id != config_.tree_id) return drop("message of another tree (" + wire::describe(header) + ")", now);
  Errc status = Errc::invalid;
  if (!proven_ && header.kind != AggKind::welcome && header.kind != AggKind::refused)
    return drop("a node says welcome first (" + wire::describe(header) + ")", now);
  switch (header.kind) {
    case AggKind::result:
    case AggKind::closed:
    case AggKind::invited:
    case AggKind::datagrams:
    case AggKind::joined:
    case AggKind::verdict:
    case AggKind::over: status = to_group(header, frame, now); break;
    case AggKind::welcome:
      status = with_body<wire::WelcomeBody>(frame, [&](const wire::WelcomeBody& body) {
        welcome(body, now);
        return Errc::ok;
      });
      break;
    case AggKind::opened:
      status = with_body<wire::OpenedBody>(frame, [&](const wire::OpenedBody& body) {
        if (body.job_id != config_.job_id) return Errc::invalid;
        step_open(body.token, open_request::OpenedCame{body.group_id}, now);
        return Errc::ok;
      });
      break;
    case AggKind::refused:
      status = with_body<wire::RefusedBody>(frame, [&](const wire::RefusedBody& body) {
        if (!proven_ && body.what != AggKind::hello) return Errc::invalid;
        if (body.what == AggKind::join) return to_group(header, frame, now);
        if (body.what == AggKind::open) {
          if (const auto at = opens_.find(body.token); at != opens_.end()) at->second.refusal = body;
          step_open(body.token, open_request::RefusedCame{}, now);
          return Errc::ok;
        }
        drop(describe(body), now);
        return Errc::ok;
      });
      break;
    default: break;
  }
  if (status != Errc::ok) broke_a_rule(header, now);
}

void ClientLink::on_datagram(std::span<const std::byte> datagram, Time now) {
  HopHeader header;
  if (datagram.size() < sizeof header) return;
  wire::load(header, datagram.data());
  // Anybody can send one: nothing of it is believed before the group has looked at its tag.
  if (header.group < groups_.size() && groups_[header.group] != nullptr)
    groups_[header.group]->on_datagram(datagram, now);
}

void ClientLink::close(std::string why, Time now, bool answers) {
  if (closed_) return;
  closed_ = true;
  why_ = std::move(why);
  for (auto& [token, request] : opens_) step_open(token, open_request::LinkClosed{}, now);
  for (ClientGroup* group : groups_)
    if (group != nullptr) group->on_link_closed(now, answers);
}

bool ClientLink::takes_datagrams() const noexcept {
  return std::ranges::any_of(groups_,
                             [](const ClientGroup* group) { return group != nullptr && group->takes_datagrams(); });
}

void ClientLink::tick(Time now) {
  for (auto& [token, request] : opens_)
    if (const auto* asking = std::get_if<open_request::Asking>(&request.state);
        asking != nullptr && now >= asking->resend_at)
      step_open(token, open_request::Timeout{}, now);
  for (ClientGroup* group : groups_)
    if (group != nullptr) group->tick(now);
}

Time ClientLink::next_due() const noexcept {
  Time due = kNever;
  for (const auto& [token, request] : opens_)
    if (const auto* asking = std::get_if<open_request::Asking>(&request.state)) due = std::min(due, asking->resend_at);
  for (const ClientGroup* group : groups_)
    if (group != nullptr) due = std::min(due, group->next_due());
  return due;
}

void ClientLink::welcome(const wire::WelcomeBody& body, Time now) {
  if (proven_) return drop("welcome: it came twice", now);
  if (body.version != wire::kAggVersion) return drop(describe(refused_by_version(body)), now);
  wire::ProofBody proof;
  if (const char* flaw = handshake_.judge(body, proof); flaw != nullptr) return drop(flaw, now);
  proven_ = true;
  leaf_takes_datagrams_ = (body.options & wire::kWelcomeDatagrams) != 0;
  control(AggKind::proof, proof);
  if (const auto name = wire::name_body(config_.host); name) control(AggKind::name, *name);
  for (auto& [token, request] : opens_)
    if (std::holds_alternative<open_request::Asking>(request.state)) send_open(token, request);
}

void ClientLink::send_open(std::uint64_t token, const Request& request) {
  wire::OpenBody body;
  body.job_id = config_.job_id;
  body.token = token;
  body.group_size = request.group_size;
  control(AggKind::open, body);
}

void ClientLink::step_open(std::uint64_t token, const open_request::Event& event, Time now) {
  const auto at = opens_.find(token);
  if (at == opens_.end()) return;  // the Open is forgotten: the answer is a late copy
  const auto [state, action] = open_request::step(at->second.state, event, now, {config_.resend_after});
  at->second.state = state;
  if (action == open_request::Action::send && proven_) send_open(token, at->second);
}

ClientGroup* ClientLink::group_of(const AggHeader& header) const noexcept {
  const std::uint32_t number = id_number(header.group_id);
  ClientGroup* group = number < groups_.size() ? groups_[number] : nullptr;
  return group != nullptr && group->config().group_id == header.group_id ? group : nullptr;
}

Errc ClientLink::to_group(const AggHeader& header, const BufferRef& frame, Time now) {
  ClientGroup* group = group_of(header);
  // null: the group has left, so the message is late
  return group == nullptr ? Errc::ok : group->on_message(header, frame, now);
}

void ClientLink::broke_a_rule(const AggHeader& header, Time now) {
  drop("the node broke a rule (" + wire::describe(header) + ")", now);
}

void ClientLink::drop(const std::string& why, Time now) {
  outbox_.drop(leaf_, Error{Errc::invalid, why});
  close(why, now, false);
}

}  // namespace sumac::proto
