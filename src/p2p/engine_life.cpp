// The engine's side of liveness: questions to members whose messages are missing, members that leave, and failures.
#include <algorithm>
#include <utility>

#include "base/meaning.hpp"
#include "p2p/engine.hpp"
#include "p2p/sequence.hpp"

namespace sumac::p2p {

using wire::PeerHeader;
using wire::PeerKind;

namespace {

constexpr std::string_view kMustAgree =
    "all members must call the same collectives, in the same order and with the same sizes";

}  // namespace

// ---- waiting for others

bool Engine::waits_for(Running& running, std::uint32_t peer) {
  const Lane* in = running.in_from(peer);
  const Lane* out = running.out_to(peer);
  return (in != nullptr && in->received < in->count) || (out != nullptr && out->next < out->count);
}

/// Asks everyone whose message the oldest operation misses.
void Engine::ask(Time now) {
  for (Running* running : live_) {
    if (running->is_direct || running->has_asked) continue;
    if (now < running->ask_at) return;
    running->has_asked = true;
    PeerHeader h = header(PeerKind::ask);
    h.sequence = running->sequence;
    h.index = wire::kAskEnded;
    h.terms = running->terms;
    for (std::uint32_t peer = 0; peer < config_.size; ++peer)
      if (waits_for(*running, peer) && send(peer, h) != Errc::ok) running->has_asked = false;
    if (!running->has_asked) running->ask_at = deadline_after(now, config_.ask_after);
    return;
  }
}

void Engine::on_ask(std::uint32_t peer, const PeerHeader& h) {
  Peer& p = peers_[peer];
  has_asks_ = true;
  if (h.index == wire::kAskBegun) {
    p.wants_begun = h.sequence;
  } else {
    p.wants_ended = h.sequence;
    p.wants_terms = h.terms;
    if (is_before(h.sequence, begun_)) p.wants_terms.reset();
    for (Running* running : live_)
      if (!running->is_direct && running->sequence == h.sequence && running->terms != h.terms)
        return disagree(peer, h.sequence, h.terms, running->terms);
  }
  answer_asks();
}

void Engine::answer_asks() {
  PeerHeader h = header(PeerKind::tell);
  has_asks_ = false;
  for (std::uint32_t peer = 0; peer < config_.size; ++peer) {
    Peer& p = peers_[peer];
    if (p.wants_begun && is_before(*p.wants_begun, h.begun)) p.wants_begun.reset(), p.owes_tell = true;
    if (p.wants_ended && is_before(*p.wants_ended, h.ended)) p.wants_ended.reset(), p.owes_tell = true;
    if (p.owes_tell && send(peer, h) == Errc::ok) p.owes_tell = false;
    has_asks_ = has_asks_ || p.owes_tell || p.wants_begun || p.wants_ended;
  }
}

/// Everything that the peer sent for the operations that it has ended is here: its messages arrive in order.
void Engine::on_tell(std::uint32_t peer, const PeerHeader& h) {
  for (Running* running : live_)
    if (!running->is_direct && is_before(running->sequence, h.ended) && waits_for(*running, peer))
      return fail(
          {Errc::invalid, fmt::format("operation {}: {} has ended it, but here {} still waits for its message: {}",
                                      running->sequence, config_.name(peer), text_of(running->terms), kMustAgree)});
}

void Engine::on_leave(std::uint32_t peer) {
  Peer& p = peers_[peer];
  p.has_left = true;
  p.owes_tell = false;
  p.wants_begun = p.wants_ended = std::nullopt;
  for (Running* running : live_)
    if (waits_for(*running, peer))
      return fail({Errc::lost, fmt::format("operation {}: {} has left the group while {} still waits for its message",
                                           running->sequence, config_.name(peer), text_of(running->terms))});
  if (messages_ != nullptr) messages_->on_left(peer);
}

void Engine::settle(Time now) {
  if (faulty_ && !failure_) {
    const auto [peer, what] = *faulty_;
    malformed(peer, what);
  }
  if (failure_) return;
  if (std::exchange(is_starved_, false))
    for (std::uint32_t peer = 0; peer < config_.size && !failure_; ++peer) pump_peer(peer);
  if (leaving_ > 0)
    for (std::uint32_t peer = 0; peer < config_.size && !failure_; ++peer) sweep(peer);
  if (!live_.empty() && !failure_) ask(now);
  if (messages_ != nullptr && !failure_) messages_->settle();
}

Time Engine::next_due() const {
  for (const Running* running : live_)
    if (!running->is_direct && !running->has_asked) return running->ask_at;
  return kNever;
}

bool Engine::leave() {
  if (failure_) return true;
  bool is_told = true;
  for (std::uint32_t peer = 0; peer < config_.size; ++peer) {
    Peer& p = peers_[peer];
    if (peer == config_.rank || p.has_left || p.is_told_to_leave) continue;
    p.is_told_to_leave = send(peer, header(PeerKind::leave)) != Errc::again;
    is_told = is_told && p.is_told_to_leave;
  }
  return is_told;
}

// ---- failures

void Engine::on_lost(std::uint32_t peer, const Error& why) {
  if (failure_ || (peers_[peer].has_left && (live_.empty() || std::ranges::none_of(live_, [&](Running* running) {
                                               return waits_for(*running, peer);
                                             }))))
    return;
  const std::string during =
      live_.empty() ? "" : fmt::format("operation {} ({}): ", live_[0]->sequence, text_of(live_[0]->terms));
  fail({why.code, fmt::format("{}{} is lost: {}", during, config_.name(peer), why.context)});
}

void Engine::malformed(std::uint32_t peer, std::string_view what) {
  fail({Errc::invalid, fmt::format("{} sent a message that can't be right: {}", config_.name(peer), what)});
}

void Engine::disagree(std::uint32_t peer, std::uint32_t sequence, const wire::PeerTerms& theirs,
                      const wire::PeerTerms& ours) {
  fail({Errc::invalid, fmt::format("operation {}: {} called {}, {} called {}: {}", sequence, config_.name(peer),
                                   text_of(theirs), config_.name(config_.rank), text_of(ours), kMustAgree)});
}

void Engine::unlike_sizes(std::uint32_t peer, const PeerHeader& h, std::uint64_t awaited) {
  fail({Errc::invalid,
        fmt::format("operation {}: {} sent {} bytes where {} awaits {}, in {}: {}", h.sequence, config_.name(peer),
                    h.payload_bytes, config_.name(config_.rank), awaited, text_of(h.terms), kMustAgree)});
}

/// A member that agreed would have sent it before this one could end the operation.
void Engine::ended_before(std::uint32_t peer, const PeerHeader& h) {
  fail({Errc::invalid,
        fmt::format("operation {}: {} called {}, but here the operation has ended without its message: {}", h.sequence,
                    config_.name(peer), text_of(h.terms), kMustAgree)});
}

void Engine::fail(Error why) {
  if (failure_) return;
  wire::AbortBody body;
  body.code = static_cast<std::uint32_t>(why.code);
  std::copy_n(why.context.begin(), std::min(why.context.size(), body.text.size() - 1), body.text.begin());
  PeerHeader h = header(PeerKind::abort);
  h.payload_bytes = sizeof body;
  BufferRef bytes = pool_.acquire(sizeof body);
  if (bytes) wire::store(bytes.data(), body);
  for (std::uint32_t peer = 0; peer < config_.size && bytes; ++peer) {
    if (peer == config_.rank || peers_[peer].has_left) continue;
    // A peer whose queue is full learns of it when its connection closes.
    (void)send(peer, h, {bytes.bytes(), bytes});
  }
  failure_ = std::move(why);
  for (Running* running : live_) running->state = Running::State::failed;
  live_.clear();
  unexpected_.clear();
  for (Peer& peer : peers_) {
    peer.leaving.clear();
    peer.placing = nullptr;
  }
  leaving_ = 0;
  carrier_.on_failed();
  if (messages_ != nullptr) messages_->fail(*failure_);
}

std::size_t Engine::early_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const Unexpected& message : unexpected_) bytes += message.frame.footprint();
  for (const Running* running : live_)
    for (const auto& early : running->early) bytes += early.frame.footprint();
  return bytes;
}

std::string text_of(const wire::PeerTerms& t) {
  std::string text = t.coll < coll::kKinds ? std::string(to_string(static_cast<coll::Kind>(t.coll))) : "?";
  if (t.direct != 0) text = "direct " + text;
  if (t.bytes != 0) text += fmt::format(" of {} bytes", t.bytes);
  if (t.element_bytes != 0)
    text += t.dtype == Dtype::null ? fmt::format(", elements of {} bytes", t.element_bytes)
                                   : fmt::format(", {} {}", to_string(t.dtype), to_string(t.op));
  if (t.coll < coll::kKinds && coll::collective(static_cast<coll::Kind>(t.coll)).has_root)
    text += fmt::format(", root {}", t.root);
  if (const std::string meant = describe_meaning(t.meaning); !meant.empty()) text += " (" + meant + ")";
  return text + fmt::format(", by {}", to_string(static_cast<Algorithm>(t.algorithm)));
}

}  // namespace sumac::p2p
