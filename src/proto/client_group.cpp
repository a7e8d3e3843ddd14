// This file has a member's group as a whole: joining, verdict, leaving. Its numbers are in client_group_numbers.cpp.
#include "proto/client_group.hpp"

#include "hop/rule.h"
#include "proto/client_link.hpp"
#include "proto/guard.hpp"
#include "proto/id_pool.hpp"
#include "proto/resend.hpp"
#include "proto/with_body.hpp"

namespace sumac::proto {

using wire::AggHeader;
using wire::AggKind;
using Phase = ClientGroup::Phase;

namespace {
/// Frames carry whole words.
constexpr std::uint16_t datagram_payload(std::uint32_t payload_per_ost) noexcept {
  return static_cast<std::uint16_t>(std::min<std::uint32_t>(payload_per_ost, 8 * kHopPayloadWords) & ~7u);
}
}  // namespace

void ClientGroup::start(Time now) {
  const Time again = resend_time(now, config_.resend_after);
  life_ = membership::Joining{again};
  due_ = std::min(due_, again);
  send_join();
}

void ClientGroup::give_up(std::uint32_t dead) {
  if (!std::holds_alternative<membership::Standing>(life_) || verdict_ || std::exchange(has_given_up_, true)) return;
  if (is_cut_off_) return;
  const wire::TroubleBody body = wire::gave_up(config_.rank, dead);
  AggHeader h = head(AggKind::trouble);
  h.sequence = done_;
  h.origin = config_.rank;
  h.members = 1;
  control(h, body);
}

void ClientGroup::let_go(std::uint32_t dead) {
  give_up(dead);
  has_let_go_ = true;
  for (auto id = finished_; id != tail_; ++id) records_[id % kOperationsMax].is_let_go = true;
}

void ClientGroup::leave(Time now) {
  live(membership::LeaveWanted{}, now);
  if (is_cut_off_) live(membership::GroupOver{}, now);
  settle(now);  // Nobody waits for results whose memory is let go.
  drain(now);
}

Errc ClientGroup::on_placed(const AggHeader& header, Time now) {
  placed_ = header.sequence;
  const Errc taken = result(header, {}, now);
  placed_.reset();
  return taken;
}

Errc ClientGroup::on_message(const AggHeader& header, const BufferRef& frame, Time now) {
  switch (header.kind) {
    case AggKind::result: return result(header, frame, now);
    case AggKind::closed:
      if (note_closed(header.sequence, now) != Errc::ok) return Errc::invalid;
      proceed(now);
      return Errc::ok;
    case AggKind::invited:
      return with_body<wire::InvitedBody>(frame, [&](const wire::InvitedBody& body) {
        if (std::holds_alternative<membership::Joining>(life_)) invitation_ = body;
        return Errc::ok;
      });
    case AggKind::datagrams:
      return with_body<wire::DatagramsBody>(frame, [&](const wire::DatagramsBody& body) {
        if (std::holds_alternative<membership::Joining>(life_)) datagram_terms_ = body;
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
      return with_body<wire::VerdictBody>(frame, [&](const auto& body) { return judged(header, body, now); });
    case AggKind::over:
      return with_body<wire::OverBody>(frame, [&](const wire::OverBody& body) {
        if (!std::holds_alternative<membership::Departing>(life_)) lost_why_ = describe(body);
        cut_off((header.flags & wire::kFlagDatagrams) != 0, now);
        return Errc::ok;
      });
    default: return Errc::invalid;
  }
}

void ClientGroup::on_link_closed(Time now, bool answers) {
  if (lost_why_.empty() && !std::holds_alternative<membership::Departing>(life_))
    lost_why_ = "the connection to the leaf node is closed";
  cut_off(answers, now);
}

void ClientGroup::cut_off(bool kernels_go_on, Time now) {
  is_cut_off_ = true;
  const auto* standing = std::get_if<membership::Standing>(&life_);
  if (!kernels_go_on || standing == nullptr || standing->leaving || !lose_links(now))
    live(membership::GroupOver{}, now);
}

void ClientGroup::on_number_reused() {
  if (std::holds_alternative<membership::Joining>(life_)) {
    // The join was refused, and the answer was lost together with its reason.
    refusal_ = wire::RefusedBody{.job_id = config_.job_id,
                                 .reason = wire::RefuseReason::unknown_group,
                                 .node_id = config_.path.entries[0].node_id,
                                 .what = AggKind::join};
  } else if (!std::holds_alternative<membership::Departing>(life_)) {
    lost_why_ = "the tree gave this group's number to another group";
  }
  live(membership::NumberReused{}, Time{});
}

void ClientGroup::tick(Time now) {
  if (way_ && now >= way_->next_due()) tick_datagrams(now);
  if (now < due_) return;
  due_ = kNever;
  live(membership::Timeout{}, now);
  tick_numbers(now);
  if (!has_links()) tick_without_links(now);
}

Phase ClientGroup::phase() const noexcept {
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

bool ClientGroup::takes_operations() const noexcept {
  const auto* standing = std::get_if<membership::Standing>(&life_);
  return standing != nullptr && !standing->leaving;
}

Errc ClientGroup::why_not() const noexcept {
  if (verdict_) return Errc::verdict;
  switch (phase()) {
    case Phase::refused: return Errc::refused;
    case Phase::lost: return Errc::lost;
    case Phase::left: return lost_why_.empty() ? Errc::denied : Errc::lost;
    default: return Errc::denied;
  }
}

AggHeader ClientGroup::head(AggKind kind) const noexcept {
  AggHeader h;
  h.kind = kind;
  h.tree_id = config_.tree_id;
  h.group_id = config_.group_id;
  return h;
}

template <class Body>
void ClientGroup::control(AggHeader h, const Body& body) {
  h.payload_bytes = sizeof body;
  std::byte bytes[sizeof body];
  wire::store(bytes, body);
  outbox_.send_control(leaf_, h, {bytes, sizeof bytes});
}

void ClientGroup::live(const membership::Event& event, Time now) {
  auto [state, actions] = membership::step(life_, event, now, {config_.resend_after});
  life_ = state;
  const bool is_told = observer_ != nullptr && !std::holds_alternative<membership::Drained>(event);
  if (is_told) {
    if (std::holds_alternative<membership::LeaveAnswered>(event)) observer_->ended(true);
    if (std::holds_alternative<membership::GroupOver>(event) ||
        std::holds_alternative<membership::NumberReused>(event) ||
        std::holds_alternative<membership::VerdictCame>(event))
      observer_->ended(false);
  }
  for (const auto action : actions) switch (action) {
      case membership::Action::send_join: send_join(); break;
      case membership::Action::stand: stand(now); break;
      case membership::Action::note_refusal: break;
      case membership::Action::note_verdict: break;
      case membership::Action::send_leave: send_leave(); break;
      case membership::Action::fail_all:
        way_.reset();
        fail_from(done_, Errc::lost, now);
        break;
      case membership::Action::ignore: break;
    }
  due_ = std::min(due_, resend_at(life_));
  if (is_told && std::holds_alternative<membership::JoinedCame>(event) && !actions.empty() &&
      actions[0] == membership::Action::stand)
    observer_->stood();
}

void ClientGroup::send_join() {
  wire::JoinBody body;
  body.job_id = config_.job_id;
  if (config_.outlives) body.features |= wire::kFeatureOutlives;
  body.rank = config_.rank;
  body.world_rank = config_.world_rank;
  body.group_size = config_.group_size;
  body.osts = config_.osts;
  body.stream_window = config_.stream_window;
  body.payload_per_ost = config_.payload_per_ost;
  body.chunk_bytes = config_.chunk_bytes;
  body.path_length = static_cast<std::uint32_t>(config_.path.length);
  body.path = config_.path.entries;
  if (config_.datagrams.port != 0)
    wire::put_datagram_end(body, {.port = config_.datagrams.port,
                                  .group = static_cast<std::uint16_t>(id_number(config_.group_id)),
                                  .payload_max = datagram_payload(config_.payload_per_ost)});
  AggHeader h = head(AggKind::join);
  if (config_.reproducible) h.flags |= wire::kFlagReproducible;
  control(h, body);
}

Errc ClientGroup::joined(const AggHeader& header, const wire::JoinedBody& body, Time now) {
  if (std::holds_alternative<membership::Joining>(life_)) {
    if (body.osts > config_.osts || body.stream_window > config_.stream_window ||
        body.payload_per_ost > config_.payload_per_ost || body.chunk_bytes > config_.chunk_bytes)
      return Errc::invalid;
    joined_ = body;
    joined_flags_ = header.flags;
  }
  live(membership::JoinedCame{}, now);
  drain(now);
  return Errc::ok;
}

void ClientGroup::stand(Time now) {
  shape_ = {.osts = joined_.osts,
            .stream_window = joined_.stream_window,
            .payload_per_ost = joined_.payload_per_ost,
            .chunk_bytes = joined_.chunk_bytes,
            .root_node = joined_.root_node,
            .reproducible = (joined_flags_ & wire::kFlagReproducible) != 0};
  done_ = next_ = owed_ = closed_ = joined_.first;
  // The ring has twice the window, so that a number beyond it (which the window forbids) never shares a slot with one
  // in flight.
  ring_ = std::vector<Entry>(std::bit_ceil(2 * shape_.window()));
  by_link_from_ = joined_.first;
  if (datagram_terms_) try_datagrams(now);
}

void ClientGroup::send_leave() {
  outbox_.send(leaf_, contribution(wire::Coll::leave, std::get<membership::Departing>(life_).number), {});
}

/// Sends Leave if the caller asked for it and everything is complete.
void ClientGroup::drain(Time now) {
  if (finished_ != tail_ || done_ != next_ || (verdict_ && !settled_)) return;
  if (!verdict_ && !has_drained_datagrams()) return;
  if (owes_copies()) return;                    // Leave states that this member has every result that it gets
  if (!verdict_ && !room(shape_.osts)) return;  // it is a number of the window like any other
  live(membership::Drained{next_}, now);
}

Errc ClientGroup::judged(const AggHeader& header, const wire::VerdictBody& body, Time now) {
  const bool takes_it = std::holds_alternative<membership::Standing>(life_) ||
                        (std::holds_alternative<membership::Departing>(life_) && !verdict_);
  if (takes_it) {
    // The verdict's number cannot be one that no member may contribute yet. Datagrams that say that a number is closed may be lost, but
    // none is closed that this member has not contributed.
    const Sequence end = seq_next(way_ && HOP_KEEPS(kHopBoundsByOwn) ? next_ : closed_, shape_.window());
    if (!may_fail_from(header.sequence) || seq_before(end, header.sequence)) return Errc::invalid;
    verdict_ = Verdict{header.sequence, body};
    if (way_) way_->fail_from(header.sequence);
  }
  live(membership::VerdictCame{header.sequence}, now);
  settle(now);
  return Errc::ok;
}

/// A verdict's number cannot be one whose result has come. Only a bcast is answered by nodes below the group's root, which may
/// hear of a trouble before it hears of the bcast: that one stands here, and so do prompt numbers behind it, which the root may
/// answer before it.
bool ClientGroup::may_fail_from(Sequence first) const noexcept {
  if (!seq_before(first, owed_)) return true;
  if (seq_count(first, owed_) > ring_.size() / 2) return false;
  for (Sequence number = first; number != owed_; number = seq_next(number))
    if (const AggHeader& asked = entry(number).header;
        asked.sequence != number || !prompt(asked) || (number == first && asked.coll != wire::Coll::bcast))
      return false;
  return true;
}

/// The verdict takes effect when everything before its number is complete. Where the hop keeps the order that is at
/// once: a result before the verdict's number that has not come belongs to another call than this member's.
void ClientGroup::settle(Time now) {
  if (!verdict_ || settled_) return;
  const bool has_all = (config_.resend_after.count() == 0 && !awaits_datagrams(verdict_->first_failed)) ||
                       !seq_before(done_, verdict_->first_failed);
  if (guard(Guard::verdict_in_turn, !has_all)) return;
  settled_ = true;
  fail_from(done_, Errc::verdict, now);
  drain(now);
}

Result<std::unique_ptr<ClientGroup>> ClientGroup::make(const ClientGroupConfig& config, Outbox& outbox, LinkId leaf) {
  if (auto legal = check(config); !legal) return tl::unexpected(legal.error());
  return std::unique_ptr<ClientGroup>(new ClientGroup(config, outbox, leaf));
}

std::string ClientGroup::why(std::span<const std::string> names) const {
  if (verdict_) return describe(verdict_->body, names);
  if (refusal_) return describe(*refusal_);
  return lost_why_;
}

}  // namespace sumac::proto
