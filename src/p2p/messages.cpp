#include "p2p/messages.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "p2p/engine.hpp"
#include "p2p/sequence.hpp"

namespace sumac::p2p {
namespace {

using wire::MessageBody;
using wire::PeerHeader;
using wire::PeerKind;

/// So many parts are on their way to one member at once: enough for the connection to stay busy, and few, because the
/// messages of operations come behind them.
constexpr std::size_t kPartsAhead = 4;
/// A body that is sent without a buffer of the pool.
constexpr std::size_t kSmall = 128;

}  // namespace

Messages::Messages(const Settings& settings, Carrier& carrier, BufferPool& pool, MessageEvents& events, Send send)
    : settings_(settings),
      carrier_(carrier),
      pool_(pool),
      events_(events),
      send_(std::move(send)),
      peers_(settings.size) {}

// ---- messages out

bool Messages::post(std::uint32_t peer, std::uint32_t tag, std::span<const std::byte> bytes, void* cookie) {
  Peer& p = peers_[peer];
  if (is_over_ || p.has_left) return false;
  auto out = std::make_unique<Out>();
  out->tag = tag;
  out->bytes = bytes;
  out->cookie = cookie;
  p.waiting.push_back(std::move(out));
  pump(peer);
  return true;
}

void Messages::owe(std::uint32_t peer, const Control& control) {
  peers_[peer].owed.push_back(control);
  pump(peer);
}

void Messages::note(std::uint32_t peer, std::uint32_t word, std::uint32_t number) {
  if (!is_over_ && !peers_[peer].has_left) owe(peer, {PeerKind::note, number, word});
}

void Messages::pump(std::uint32_t peer) {
  Peer& p = peers_[peer];
  if (is_over_ || p.has_left) return;
  while (!p.owed.empty()) {
    const Control& control = p.owed.front();
    if (send_(peer, control.kind, control.sequence, control.index, {}) != Errc::ok) return;
    p.owed.pop_front();
  }
  while (!p.waiting.empty() && is_before(p.posted, p.credit))
    if (!begin_next(peer)) return;
  send_parts(peer);
}

/// Sends the next message, or offers it. Returns false if the connection or the pool is full.
bool Messages::begin_next(std::uint32_t peer) {
  Peer& p = peers_[peer];
  Out& out = *p.waiting.front();
  const MessageBody body{.bytes = out.bytes.size(), .tag = out.tag};
  const std::size_t whole = sizeof body + out.bytes.size();
  const bool is_short = whole <= settings_.eager_max;
  std::array<std::byte, kSmall> small;
  const std::size_t bytes = is_short ? whole : sizeof body;
  Payload payload{std::span<const std::byte>(small).first(std::min(bytes, small.size())), {}};
  std::byte* to = small.data();
  if (bytes > small.size()) {
    payload.owner = pool_.acquire(bytes);
    if (!payload.owner) {
      is_starved_ = true;  // settle() tries again.
      return false;
    }
    to = payload.owner.data();
    payload.bytes = payload.owner.bytes();
  }
  wire::store(to, body);
  if (is_short && !out.bytes.empty()) std::memcpy(to + sizeof body, out.bytes.data(), out.bytes.size());
  if (send_(peer, is_short ? PeerKind::message : PeerKind::offer, p.posted, 0, payload) != Errc::ok) return false;
  out.number = p.posted++;
  auto begun = std::move(p.waiting.front());
  p.waiting.pop_front();
  if (!is_short)
    p.offered.push_back(std::move(begun));
  else
    events_.on_sent(begun->cookie);
  return true;
}

std::uint64_t Messages::part_bytes(std::uint64_t bytes, std::uint64_t moved) const noexcept {
  return std::min<std::uint64_t>(settings_.part_max, bytes - moved);
}

void Messages::send_parts(std::uint32_t peer) {
  Peer& p = peers_[peer];
  while (!p.going.empty() && p.leaving.size() < kPartsAhead) {
    Out& out = *p.going.front();
    const auto part = out.bytes.subspan(out.moved, part_bytes(out.bytes.size(), out.moved));
    if (send_(peer, PeerKind::part, out.number, out.parts, {part, {}}) != Errc::ok) return;
    out.moved += part.size();
    ++out.parts;
    ++leaving_;
    p.leaving.push_back({carrier_.taken(peer), nullptr});
    if (out.moved < out.bytes.size()) continue;
    p.leaving.back().last = std::move(p.going.front());
    p.going.pop_front();
  }
}

void Messages::sweep(std::uint32_t peer) {
  Peer& p = peers_[peer];
  if (p.leaving.empty()) return;
  const std::uint64_t left = carrier_.left(peer);
  while (!p.leaving.empty() && p.leaving.front().mark <= left) {
    const auto last = std::move(p.leaving.front().last);
    p.leaving.pop_front();
    --leaving_;
    ++parts_left_;
    if (last && last->cookie != nullptr) events_.on_sent(last->cookie);
  }
  send_parts(peer);
}

void Messages::settle() {
  if (is_over_) return;
  const auto each = [&](auto&& body) {
    for (std::uint32_t peer = 0; peer < settings_.size; ++peer) body(peer);
  };
  if (std::exchange(is_starved_, false)) each([this](std::uint32_t peer) { pump(peer); });
  if (leaving_ > 0) each([this](std::uint32_t peer) { sweep(peer); });
}

const char* Messages::on_take(std::uint32_t peer, const PeerHeader& h) {
  Peer& p = peers_[peer];
  const auto found = std::ranges::find_if(p.offered, [&](const auto& out) { return out->number == h.sequence; });
  if (found == p.offered.end()) return "it takes a message that was not offered";
  auto out = std::move(*found);
  p.offered.erase(found);
  if (h.index == wire::kTakeSend) {
    p.going.push_back(std::move(out));
    send_parts(peer);
  } else if (out->cookie != nullptr) {
    events_.on_sent(out->cookie);
  }
  return nullptr;
}

// ---- messages in

const char* Messages::on_message(std::uint32_t peer, const PeerHeader& h, std::span<const std::byte> body) {
  if (is_over_) return nullptr;
  Peer& p = peers_[peer];
  switch (h.kind) {
    case PeerKind::message:
    case PeerKind::offer: return on_arrival(peer, h, body);
    case PeerKind::take: return on_take(peer, h);
    case PeerKind::part:
      if (const char* what = flaw_of_part(p, h); what != nullptr) return what;
      if (In& in = p.taken.front(); in.memory != nullptr) std::memcpy(in.memory + in.moved, body.data(), body.size());
      arrived(peer);
      return nullptr;
    case PeerKind::credit:
      if (is_before(p.credit, h.sequence)) p.credit = h.sequence;
      pump(peer);
      return nullptr;
    case PeerKind::note: events_.on_note(peer, h.index, h.sequence); return nullptr;
    default: return "it is no message";
  }
}

const char* Messages::on_arrival(std::uint32_t peer, const PeerHeader& h, std::span<const std::byte> body) {
  Peer& p = peers_[peer];
  MessageBody message;
  wire::load(message, body.data());
  if (const char* what = flaw(message, h.kind, body.size()); what != nullptr) return what;
  if (h.sequence != p.come || !is_before(h.sequence, p.granted)) return "it is not the message that may come next";
  const bool is_short = message.bytes + sizeof message <= settings_.eager_max;
  if (is_short != (h.kind == PeerKind::message)) return "a message of this size comes in another way";
  ++p.come;
  ++p.held;
  if (is_short) {
    if (events_.on_arrived(peer, message.tag, body.subspan(sizeof message))) release(peer);
    return nullptr;
  }
  const In offer{{.number = h.sequence}, message.bytes};
  const auto answered = events_.on_offer(peer, offer.number, message.tag, message.bytes);
  if (answered.what == MessageEvents::Answer::What::later)
    p.offers.push_back(offer);
  else
    answer(peer, offer, answered);
  return nullptr;
}

void Messages::answer(std::uint32_t peer, In offer, const MessageEvents::Answer& answer) {
  const bool is_taken = answer.what == MessageEvents::Answer::What::take;
  if (is_taken) {
    offer.memory = answer.memory;
    offer.cookie = answer.cookie;
    peers_[peer].taken.push_back(offer);
  }
  owe(peer, {PeerKind::take, offer.number, is_taken ? wire::kTakeSend : wire::kTakeDrop});
  release(peer);
}

bool Messages::take(std::uint32_t peer, std::uint32_t number, std::byte* memory, void* cookie) {
  auto& offers = peers_[peer].offers;
  const auto found = std::ranges::find_if(offers, [&](const In& in) { return in.number == number; });
  if (found == offers.end()) return false;
  const In offer = *found;
  offers.erase(found);
  answer(peer, offer, {MessageEvents::Answer::What::take, memory, cookie});
  return true;
}

void Messages::drop(std::uint32_t peer, std::uint32_t number) {
  auto& offers = peers_[peer].offers;
  const auto found = std::ranges::find_if(offers, [&](const In& in) { return in.number == number; });
  if (found == offers.end()) return;
  const In offer = *found;
  offers.erase(found);
  answer(peer, offer, {MessageEvents::Answer::What::drop, nullptr, nullptr});
}

void Messages::release(std::uint32_t peer) {
  Peer& p = peers_[peer];
  if (p.held > 0) --p.held;  // After extend() messages are released that hold nothing any more.
  grant(peer);
}

bool Messages::is_stuck(std::uint32_t peer) const noexcept { return peers_[peer].come == peers_[peer].granted; }

void Messages::extend(std::uint32_t peer) {
  peers_[peer].held = 0;
  grant(peer);
}

/// One message brings the credit of half of them.
void Messages::grant(std::uint32_t peer) {
  Peer& p = peers_[peer];
  const std::uint32_t credit = p.come - p.held + kMessagesAhead;
  if (is_over_ || p.has_left || is_before(credit, p.granted + kMessagesAhead / 2)) return;
  p.granted = credit;
  owe(peer, {PeerKind::credit, credit, 0});
}

const char* Messages::flaw_of_part(const Peer& p, const PeerHeader& h) const {
  if (p.taken.empty() || p.taken.front().number != h.sequence) return "it is a part of a message that nobody took";
  const In& in = p.taken.front();
  if (h.index != in.parts || h.payload_bytes != part_bytes(in.bytes, in.moved)) return "it is not the next part";
  return nullptr;
}

std::span<std::byte> Messages::on_head(std::uint32_t peer, const PeerHeader& h, const char** flaw_p) {
  Peer& p = peers_[peer];
  *flaw_p = nullptr;
  if (is_over_) return {};
  *flaw_p = flaw_of_part(p, h);
  if (*flaw_p != nullptr) return {};
  p.is_placing = true;
  const In& in = p.taken.front();
  if (in.memory != nullptr) return {in.memory + in.moved, h.payload_bytes};
  if (!p.scratch) p.scratch = std::make_unique_for_overwrite<std::byte[]>(settings_.part_max);
  return {p.scratch.get(), h.payload_bytes};
}

bool Messages::on_placed(std::uint32_t peer) {
  if (!std::exchange(peers_[peer].is_placing, false)) return false;
  arrived(peer);
  return true;
}

void Messages::arrived(std::uint32_t peer) {
  Peer& p = peers_[peer];
  In& in = p.taken.front();
  in.moved += part_bytes(in.bytes, in.moved);
  ++in.parts;
  if (in.moved < in.bytes) return;
  void* const cookie = in.cookie;
  p.taken.pop_front();
  if (cookie != nullptr) events_.on_received(cookie);
}

// ---- ends

/// The connection stops using memory of ours: it copies what it has still to send, and receives in memory of its own.
void Messages::detach(std::uint32_t peer) {
  carrier_.detach(peer);
  peers_[peer].is_placing = false;
}

bool Messages::withdraw(const void* cookie) {
  const auto has_it = [&](const auto& out) { return out != nullptr && out->cookie == cookie; };
  for (std::uint32_t peer = 0; peer < settings_.size; ++peer) {
    Peer& p = peers_[peer];
    if (std::erase_if(p.waiting, has_it) > 0) return true;
    const auto keep = [&](Out& out) {
      // The receiver counts on it, so it goes on from a copy.
      out.own.assign(out.bytes.begin(), out.bytes.end());
      out.bytes = out.own;
      out.cookie = nullptr;
      return true;
    };
    if (const auto at = std::ranges::find_if(p.offered, has_it); at != p.offered.end()) return keep(**at);
    if (const auto at = std::ranges::find_if(p.going, has_it); at != p.going.end()) {
      detach(peer);
      return keep(**at);
    }
    for (Leaving& leaving : p.leaving)
      if (has_it(leaving.last)) {
        detach(peer);
        leaving.last->cookie = nullptr;
        return true;
      }
    for (In& in : p.taken)
      if (in.cookie == cookie) {
        if (p.is_placing && &in == &p.taken.front()) detach(peer);
        in.memory = nullptr;
        in.cookie = nullptr;
        return true;
      }
  }
  return false;
}

void Messages::close() {
  if (std::exchange(is_over_, true)) return;
  for (std::uint32_t peer = 0; peer < settings_.size; ++peer)
    if (!peers_[peer].leaving.empty() || peers_[peer].is_placing) detach(peer);
  peers_ = std::vector<Peer>(settings_.size);
  leaving_ = 0;
}

void Messages::on_left(std::uint32_t peer) {
  if (is_over_) return;
  if (!peers_[peer].leaving.empty()) detach(peer);
  leaving_ -= peers_[peer].leaving.size();
  peers_[peer] = {};
  peers_[peer].has_left = true;
  events_.on_left(peer);
}

void Messages::fail(const Error& why) {
  if (std::exchange(is_over_, true)) return;
  peers_ = std::vector<Peer>(settings_.size);
  leaving_ = 0;
  events_.on_failed(why);
}

}  // namespace sumac::p2p
