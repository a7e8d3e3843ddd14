#include "proto/hop_member.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "hop/rule.h"

namespace sumac::proto {
namespace {

/// All members and nodes must agree on these fields of a number.
bool is_same_call(const HopHeader& a, const HopHeader& b) noexcept {
  return a.coll == b.coll && a.op == b.op && a.dtype == b.dtype && a.payload_bytes == b.payload_bytes &&
         a.root == b.root && a.meaning == b.meaning;
}

/// Only some members give data, and the result may come before all have contributed.
bool is_rooted(const HopHeader& header) noexcept { return header.coll == kHopBcast || header.coll == kHopReduce; }

}  // namespace

HopMember::HopMember(const HopMemberConfig& config, HopOutbox& outbox)
    : config_(config), outbox_(outbox), numbers_(2 * std::size_t{config.window}), next_(config.first) {
  assert(config.window >= 1 && config.window <= kHopWindowMax && (config.window & (config.window - 1)) == 0);
  // Each holds one of the numbers in front of the group, as a node's slots do.
  for (std::uint32_t back = 1; back <= numbers_.size(); ++back) {
    Number& n = at(seq_previous(config.first, back));
    n.number = seq_previous(config.first, back);
    n.is_answered = n.is_closed = true;
  }
}

void HopMember::probe(Time now) {
  send_probe(now);
  probe_due_ = deadline_after(now, config_.first_wait * (std::int64_t{1} << std::min(probes_sent_ - 1, 10u)));
  due_ = std::min(due_, probe_due_);
}

void HopMember::send_probe(Time now) {
  HopFrame frame{};
  frame.header.group = config_.group;
  frame.header.kind = kHopProbe;
  frame.header.child = config_.child;
  frame.header.sequence = ++probe_;
  ++probes_sent_;
  note_asked(now);
  probed_at_ = now;
  wire::HopFrameBytes bytes;
  outbox_.send_datagram(wire::seal_hop_frame(frame, config_.up, bytes));
}

bool HopMember::has_room(Sequence number) const noexcept {
  const bool is_within = open_.empty() || seq_before(number, seq_next(open_[0], config_.window));
  return is_within || (!HOP_KEEPS(kHopHoldsBack) && !open_.full());
}

void HopMember::contribute(const HopHeader& header, std::span<const std::byte> payload, Time now) {
  const Sequence number{header.sequence};
  assert(has_room(number) && !seq_before(number, next_) && payload.size() <= sizeof(HopPayload));
  Number& n = at(number);
  const bool is_early = n.number == number && n.is_answered && is_same_call(n.result.header, header);
  n.number = number;
  n.is_called = true;
  n.is_answered = is_early;
  n.is_closed = is_early && n.is_closed;
  n.sent = 0;
  n.call.header = header;
  n.call.header.group = config_.group;
  n.call.header.kind = kHopContribute;
  n.call.header.child = config_.child;
  n.call.header.flags = kHopFull;
  // Others of a bcast and the root of a reduce send zeros, since every frame has the operation's size. A source has its result.
  const bool has_value = !is_rooted(header) || !payload.empty();
  if (has_value) n.call.header.flags |= kHopValue;
  if (header.coll == kHopBcast && has_value) n.is_answered = true;
  n.call.payload = {};
  if (!payload.empty()) std::memcpy(&n.call.payload, payload.data(), payload.size());
  if (n.is_answered && !is_early) n.result = n.call;
  next_ = seq_next(number);
  open_.push_back(number);
  send(n, now);
}

void HopMember::send(Number& n, Time now) {
  if (++n.sent == 1) n.sent_at = now;
  note_asked(now);
  n.resend_at = deadline_after(now, wait(n.sent));
  due_ = std::min(due_, n.resend_at);
  wire::HopFrameBytes bytes;
  outbox_.send_datagram(wire::seal_hop_frame(n.call, config_.up, bytes));
}

Duration HopMember::wait(unsigned sent) const noexcept {
  if (!is_proven()) return config_.first_wait;
  const Duration even = std::max(config_.least_wait, round_trip_ * config_.levels * 5 / 4);
  if (sent <= kEvenWaits) return even;
  const unsigned doublings = std::min(sent - kEvenWaits, 10u);
  return std::min(even * (std::int64_t{1} << doublings), std::max(even, config_.longest_wait));
}

bool HopMember::is_answered(Sequence number) const noexcept {
  const Number& n = at(number);
  return seq_before(number, n.number) || (n.number == number && n.is_answered);
}

bool HopMember::is_closed(Sequence number) const noexcept {
  const Number& n = at(number);
  return seq_before(number, n.number) || (n.number == number && n.is_closed);
}

std::span<const std::byte> HopMember::result(Sequence number) const noexcept {
  const Number& n = at(number);
  if (n.number != number || !n.is_answered) return {};
  return std::as_bytes(std::span(n.result.payload.word)).first(n.result.header.payload_bytes);
}

Errc HopMember::on_datagram(std::span<const std::byte> datagram, Time now) {
  HopFrame frame;
  if (const Errc read = wire::open_hop_frame(datagram, config_.down, frame); read != Errc::ok) return read;
  unheard_ = 0;
  if (frame.header.kind == kHopProbed) {
    if (frame.header.sequence != probe_) return Errc::ok;  // It is a copy, or an answer to a former probe.
    round_trip_ = std::min(round_trip_, now - probed_at_);
    probe_due_ = kNever;
    return Errc::ok;
  }
  const Sequence number{frame.header.sequence};
  Number& n = at(number);
  if (n.number == number && n.is_called) {
    if (is_same_call(n.call.header, frame.header)) take(n, frame, now);
    return Errc::ok;
  }
  // The result may be here before this member calls, if it gives nothing.
  const bool may_come = !seq_before(number, next_) && seq_before(number, seq_next(next_, config_.window));
  if (!is_rooted(frame.header) || !may_come || is_open(n)) return Errc::ok;
  if (n.number != number) {
    n.number = number;
    n.is_called = n.is_answered = n.is_closed = false;
  }
  take(n, frame, now);
  return Errc::ok;
}

void HopMember::take(Number& n, const HopFrame& frame, Time now) {
  // A probe's answer may have been read late: its reader may have waited for something else. What everybody gives to is
  // answered no sooner than the whole way takes, and mostly not much later.
  if (is_proven() && !n.is_answered && n.sent == 1 && !is_rooted(frame.header))
    round_trip_ = std::min(round_trip_, (now - n.sent_at) / config_.levels);
  if (!n.is_answered) n.result = frame;
  n.is_answered = true;
  if (frame.header.flags & kHopClosed) n.is_closed = true;
  forget_closed();
}

void HopMember::forget_closed() {
  InlineVec<Sequence, kHopWindowMax> open;
  for (const Sequence number : open_)
    if (is_open(at(number))) open.push_back(number);
  open_ = open;
}

void HopMember::fail_from(Sequence first) {
  for (const Sequence number : open_)
    if (!seq_before(number, first)) at(number).is_called = false;
  forget_closed();
}

void HopMember::tick(Time now) {
  if (now < due_) return;
  due_ = kNever;
  if (now >= probe_due_) probe(now);
  due_ = std::min(due_, probe_due_);
  bool asks = false;
  for (const Sequence number : open_) {
    Number& n = at(number);
    if (now >= n.resend_at && (!n.is_answered || HOP_KEEPS(kHopAsksOn))) {
      asks = asks || n.sent >= kEvenWaits;
      send(n, now);
    }
    due_ = std::min(due_, n.resend_at);
  }
  // The node says nothing to a repetition while others are late. Its answer to a probe tells them from a lost way.
  if (asks && probe_due_ == kNever) send_probe(now);
}

}  // namespace sumac::proto
