// A member's group as a whole: joining, verdict, leaving. Its numbers are in client_group_numbers.cpp.
#include "proto/client_group.hpp"

#include "proto/client_group_impl.hpp"
#include "proto/client_link.hpp"
#include "proto/guard.hpp"
#include "proto/with_body.hpp"

namespace sumac::proto {

using wire::AggHeader;
using wire::AggKind;
using Phase = ClientGroup::Phase;

void ClientGroup::Impl::start(Time now) {
  const Time again = resend_time(now, config_.resend_after);
  life_ = membership::Joining{again};
  due_ = std::min(due_, again);
  send_join();
}

void ClientGroup::Impl::give_up() {
  if (!std::holds_alternative<membership::Standing>(life_) || verdict_) return;
  wire::TroubleBody body;
  body.reason = wire::TroubleReason::gave_up;
  body.culprit = config_.rank;
  AggHeader h = head(AggKind::trouble);
  h.sequence = done_;
  h.origin = config_.rank;
  h.members = 1;
  control(h, body);
}

void ClientGroup::Impl::leave(Time now) {
  live(membership::LeaveWanted{}, now);
  drain(now);
}

Errc ClientGroup::Impl::on_placed(const AggHeader& header, Time now) {
  return header.epoch != config_.epoch ? Errc::ok : result(header, {}, now);
}

Errc ClientGroup::Impl::on_message(const AggHeader& header, const BufferRef& frame, Time now) {
  if (guard(Guard::member_epoch, header.epoch != config_.epoch)) return Errc::ok;  // of another epoch: late
  switch (header.kind) {
    case AggKind::result: return result(header, frame, now);
    case AggKind::invited:
      return with_body<wire::InvitedBody>(frame, [&](const wire::InvitedBody& body) {
        if (std::holds_alternative<membership::Joining>(life_)) invitation_ = body;
        return Errc::ok;
      });
    case AggKind::joined:
      return with_body<wire::JoinedBody>(frame, [&](const auto& body) { return joined(header, body, now); });
    case AggKind::refused:
      return with_body<wire::RefusedBody>(frame, [&](const wire::RefusedBody& body) {
        if (std::holds_alternative<membership::Joining>(life_)) refusal_ = body;
        live(membership::RefusedCame{}, now);
        return Errc::ok;
      });
    case AggKind::verdict:
      return with_body<wire::VerdictBody>(frame, [&](const auto& body) { return verdict(header, body, now); });
    case AggKind::void_epoch:
      return with_body<wire::VoidBody>(frame, [&](const wire::VoidBody& body) {
        if (!std::holds_alternative<membership::Departing>(life_)) lost_why_ = describe(body);
        live(membership::EpochOver{}, now);
        return Errc::ok;
      });
    default: return Errc::invalid;
  }
}

void ClientGroup::Impl::link_closed(Time now) {
  if (lost_why_.empty() && !std::holds_alternative<membership::Departing>(life_))
    lost_why_ = "the connection to the leaf node is closed";
  live(membership::EpochOver{}, now);
}

void ClientGroup::Impl::number_reused() {
  if (std::holds_alternative<membership::Joining>(life_)) {
    // It was refused, and the answer was lost; why, nobody knows any more.
    refusal_ = wire::RefusedBody{.job_id = config_.job_id,
                                 .reason = wire::RefuseReason::unknown_group,
                                 .node_id = config_.path.entries[0].node_id,
                                 .what = AggKind::join};
  } else if (!std::holds_alternative<membership::Departing>(life_)) {
    lost_why_ = "the tree gave this group's number to another group";
  }
  live(membership::NumberReused{}, Time{});
}

void ClientGroup::Impl::tick(Time now) {
  if (now < due_) return;
  due_ = kNever;
  live(membership::Timeout{}, now);
  tick_numbers(now);
}

Phase ClientGroup::Impl::phase() const noexcept {
  return std::visit(
      overloaded{[](const membership::Joining&) { return Phase::joining; },
                 [](const membership::Standing& s) { return s.leaving ? Phase::leaving : Phase::standing; },
                 [](const membership::Condemned& s) { return s.leaving ? Phase::leaving : Phase::condemned; },
                 [](const membership::Departing&) { return Phase::leaving; },
                 [](const membership::Left&) { return Phase::left; },
                 [](const membership::Refused&) { return Phase::refused; },
                 [](const membership::Lost&) { return Phase::lost; }},
      life_);
}

bool ClientGroup::Impl::takes_operations() const noexcept {
  const auto* standing = std::get_if<membership::Standing>(&life_);
  return standing != nullptr && !standing->leaving;
}

Errc ClientGroup::Impl::why_not() const noexcept {
  if (verdict_) return Errc::verdict;
  switch (phase()) {
    case Phase::refused: return Errc::refused;
    case Phase::lost: return Errc::lost;
    case Phase::left: return lost_why_.empty() ? Errc::denied : Errc::lost;
    default: return Errc::denied;
  }
}

AggHeader ClientGroup::Impl::head(AggKind kind) const noexcept {
  AggHeader h;
  h.kind = kind;
  h.tree_id = config_.tree_id;
  h.group_id = config_.group_id;
  h.epoch = config_.epoch;
  return h;
}

template <class Body>
void ClientGroup::Impl::control(AggHeader h, const Body& body) {
  h.payload_bytes = sizeof body;
  std::byte bytes[sizeof body];
  wire::store(bytes, body);
  outbox_.send_control(leaf_, h, {bytes, sizeof bytes});
}

void ClientGroup::Impl::live(const membership::Event& event, Time now) {
  auto [state, actions] = membership::step(life_, event, now, {config_.resend_after});
  life_ = state;
  for (const auto action : actions) switch (action) {
      case membership::Action::send_join: send_join(); break;
      case membership::Action::stand: stand(); break;
      case membership::Action::note_refusal: break;
      case membership::Action::note_verdict: break;
      case membership::Action::send_leave: send_leave(); break;
      case membership::Action::fail_all: fail_from(done_, Errc::lost, now); break;
      case membership::Action::ignore: break;
    }
  due_ = std::min(due_, resend_at(life_));
}

void ClientGroup::Impl::send_join() {
  wire::JoinBody body;
  body.job_id = config_.job_id;
  body.rank = config_.rank;
  body.world_rank = config_.world_rank;
  body.group_size = config_.group_size;
  body.osts = config_.osts;
  body.stream_window = config_.stream_window;
  body.payload_max = config_.payload_max;
  body.chunk_max = config_.chunk_max;
  body.path_length = static_cast<std::uint16_t>(config_.path.length);
  body.path = config_.path.entries;
  AggHeader h = head(AggKind::join);
  if (config_.reproducible) h.flags |= wire::kFlagReproducible;
  control(h, body);
}

Errc ClientGroup::Impl::joined(const AggHeader& header, const wire::JoinedBody& body, Time now) {
  if (std::holds_alternative<membership::Joining>(life_)) {
    if (body.osts > config_.osts || body.stream_window > config_.stream_window ||
        body.payload_max > config_.payload_max || body.chunk_max > config_.chunk_max)
      return Errc::invalid;
    joined_ = body;
    joined_flags_ = header.flags;
  }
  live(membership::JoinedCame{}, now);
  drain(now);
  return Errc::ok;
}

void ClientGroup::Impl::stand() {
  shape_ = {.osts = joined_.osts,
            .stream_window = joined_.stream_window,
            .payload_max = joined_.payload_max,
            .chunk_max = joined_.chunk_max,
            .root_node = joined_.root_node,
            .reproducible = (joined_flags_ & wire::kFlagReproducible) != 0};
  done_ = next_ = owed_ = joined_.low;
  // Twice the window, so that a number beyond it (which the window forbids) never meets one that is under way.
  ring_ = std::vector<Entry>(std::bit_ceil(2 * std::max(shape_.osts, shape_.stream_window)));
}

void ClientGroup::Impl::send_leave() {
  outbox_.send(leaf_, contribution(wire::Coll::leave, std::get<membership::Departing>(life_).number), {});
}

/// If the caller wants to leave, now may be the time.
void ClientGroup::Impl::drain(Time now) {
  if (finished_ != tail_ || done_ != next_ || (verdict_ && !settled_)) return;
  if (owed_ != done_) return;  // Leave says that we have everything, and is a number of the window
  live(membership::Drained{next_}, now);
}

Errc ClientGroup::Impl::verdict(const AggHeader& header, const wire::VerdictBody& body, Time now) {
  const bool takes_it = std::holds_alternative<membership::Standing>(life_) ||
                        (std::holds_alternative<membership::Departing>(life_) && !verdict_);
  if (takes_it) {
    // It speaks of a number between what is complete here and what was sent: the node cannot have answered more.
    if (wire::seq_before(header.sequence, done_) || wire::seq_before(next_, header.sequence)) return Errc::invalid;
    verdict_ = Verdict{header.sequence, body};
  }
  live(membership::VerdictCame{header.sequence}, now);
  settle(now);
  return Errc::ok;
}

/// The verdict takes effect when everything before its number is complete.
void ClientGroup::Impl::settle(Time now) {
  if (!verdict_ || settled_) return;
  if (guard(Guard::verdict_in_turn, done_ != verdict_->first_failed)) return;
  settled_ = true;
  fail_from(verdict_->first_failed, Errc::verdict, now);
  drain(now);
}

Result<std::unique_ptr<ClientGroup>> ClientGroup::make(const ClientGroupConfig& config, Outbox& outbox, LinkId leaf) {
  if (auto legal = check(config); !legal) return tl::unexpected(legal.error());
  return std::unique_ptr<ClientGroup>(new ClientGroup(std::make_unique<Impl>(config, outbox, leaf)));
}

ClientGroup::ClientGroup(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ClientGroup::~ClientGroup() = default;
void ClientGroup::start(Time now) { impl_->start(now); }
tl::expected<OpId, Errc> ClientGroup::post(const Operation& operation, Time now) { return impl_->post(operation, now); }
std::optional<Completion> ClientGroup::next_completion() { return impl_->next_completion(); }
std::uint32_t ClientGroup::outstanding() const noexcept { return impl_->tail_ - impl_->head_; }
Errc ClientGroup::ask_for_lock(Time now) { return impl_->ask_for_lock(now); }
StreamLock ClientGroup::stream_lock() const noexcept { return impl_->lock_.state(); }
void ClientGroup::wake(Time now) { impl_->pump(now); }
void ClientGroup::give_up() { impl_->give_up(); }
void ClientGroup::leave(Time now) { impl_->leave(now); }
Errc ClientGroup::on_message(const AggHeader& header, const BufferRef& frame, Time now) {
  return impl_->on_message(header, frame, now);
}
std::span<std::byte> ClientGroup::place(const AggHeader& header) noexcept { return impl_->place(header); }
std::span<std::byte> ClientGroup::expect(AggHeader& header) noexcept { return impl_->expect(header); }
Errc ClientGroup::on_placed(const AggHeader& header, Time now) { return impl_->on_placed(header, now); }
void ClientGroup::on_link_closed(Time now) { impl_->link_closed(now); }
void ClientGroup::on_number_reused() { impl_->number_reused(); }
void ClientGroup::tick(Time now) { impl_->tick(now); }
Time ClientGroup::next_due() const noexcept { return impl_->due_; }
ClientGroup::Phase ClientGroup::phase() const noexcept { return impl_->phase(); }
const ClientGroupConfig& ClientGroup::config() const noexcept { return impl_->config_; }
const GroupShape& ClientGroup::shape() const noexcept { return impl_->shape_; }
const std::optional<Verdict>& ClientGroup::verdict() const noexcept { return impl_->verdict_; }
const std::optional<wire::RefusedBody>& ClientGroup::refusal() const noexcept { return impl_->refusal_; }
std::uint32_t ClientGroup::in_flight() const noexcept { return impl_->next_ - impl_->owed_; }
const std::optional<wire::InvitedBody>& ClientGroup::invitation() const noexcept { return impl_->invitation_; }
void ClientGroup::listen(bool listening) noexcept { impl_->trial_.listen(listening); }
bool ClientGroup::listening() const noexcept { return impl_->trial_.listening(); }
ClientGroup::Heard ClientGroup::on_multicast(const AggHeader& header, const BufferRef& frame, Time now) {
  return impl_->multicast(header, frame, now);
}

std::string ClientGroup::why() const {
  if (impl_->verdict_) return describe(impl_->verdict_->body);
  if (impl_->refusal_) return describe(*impl_->refusal_);
  return impl_->lost_why_;
}

}  // namespace sumac::proto
