#include "p2p/engine.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "p2p/sequence.hpp"

namespace sumac::p2p {
namespace {

using wire::PeerHeader;
using wire::PeerKind;

/// A message whose body fits behind its header into a head that the transport copies is sent without a buffer.
constexpr std::size_t kInHead = 256 - wire::kPeerHeaderBytes;

/// The most messages for operations that this member has not begun: two for each operation in the window, and as many
/// announcements; a member that sends more is broken.
constexpr std::uint32_t kUnexpectedPerOperation = 4;

}  // namespace

Engine::Engine(const EngineConfig& config, Carrier& carrier, BufferPool& pool)
    : config_(config), carrier_(carrier), pool_(pool), peers_(config.size) {
  if (config.messages == nullptr) return;
  messages_ = std::make_unique<Messages>(
      Messages::Settings{config.size, config.eager_max, config.part_max}, carrier, pool, *config.messages,
      [this](std::uint32_t peer, PeerKind kind, std::uint32_t sequence, std::uint32_t index, const Payload& body) {
        return send_user_message(peer, kind, sequence, index, body);
      });
}

// ---- operations

wire::PeerTerms Engine::terms_of(const coll::Operation& o, Algorithm algorithm, bool is_direct) const {
  wire::PeerTerms terms;
  terms.coll = static_cast<std::uint8_t>(o.kind);
  terms.algorithm = static_cast<std::uint8_t>(algorithm);
  terms.direct = is_direct ? 1 : 0;
  terms.meaning = o.meaning;
  if (o.fold != nullptr && coll::collective(o.kind).reduces) {
    terms.op = o.fold->op;
    terms.dtype = o.fold->dtype;
    terms.tag = o.fold->tag;
    terms.element_bytes = static_cast<std::uint32_t>(o.fold->element_bytes);
  }
  if (coll::collective(o.kind).has_root) terms.root = static_cast<std::uint32_t>(o.root);
  if (coll::has_size(o.kind)) terms.bytes = o.bytes;
  if (o.kind == coll::Kind::allgatherv)
    for (std::uint32_t i = 0; i < config_.size; ++i) terms.bytes += o.out_blocks.bytes(static_cast<int>(i));
  return terms;
}

Engine::Progress Engine::start(const coll::Operation& operation, Algorithm algorithm, bool is_direct, void*& request,
                               Time now) {
  request = nullptr;
  if (failure_) return Progress::failed;
  if (spare_.empty()) {
    records_.push_back(std::make_unique<Running>());
    spare_.push_back(records_.back().get());
  }
  Running& running = *spare_.back();
  spare_.pop_back();
  running.begin({config_.rank, config_.size}, operation, algorithm, is_direct, config_.eager_max);
  running.terms = terms_of(operation, algorithm, is_direct);
  running.sequence = is_direct ? 0 : begun_++;
  running.ask_at = deadline_after(now, config_.ask_after);
  for (Lane& lane : running.outs()) lane.sequence = is_direct ? peers_[lane.peer].direct_out++ : running.sequence;
  for (Lane& lane : running.ins()) lane.sequence = is_direct ? peers_[lane.peer].direct_in++ : running.sequence;
  live_.push_back(&running);
  if (const auto gone = gone_peer_of(running)) {
    fail({Errc::lost,
          fmt::format("{} has left the group, and {} needs it", config_.name(*gone), text_of(running.terms))});
    return Progress::failed;
  }
  run(running);
  // Some of its messages may have come before it was begun.
  for (std::size_t i = 0; i < unexpected_.size() && !failure_;) {
    if (find(unexpected_[i].peer, unexpected_[i].header) != &running) {
      ++i;
      continue;
    }
    Unexpected message = std::move(unexpected_[i]);
    unexpected_.erase(unexpected_.begin() + static_cast<std::ptrdiff_t>(i));
    --peers_[message.peer].unexpected;
    deliver(running, message.peer, message.header, message.frame);
  }
  if (has_asks_ && !is_direct && !failure_)
    for (std::uint32_t peer = 0; peer < config_.size; ++peer) {
      auto& terms = peers_[peer].wants_terms;
      if (!terms || peers_[peer].wants_ended != running.sequence) continue;
      if (*terms != running.terms) {
        disagree(peer, running.sequence, *terms, running.terms);
        break;
      }
      terms.reset();
    }
  if (failure_) return Progress::failed;
  if (has_asks_) answer_asks();
  if (complete(running)) {
    recycle(running);
    return Progress::done;
  }
  request = &running;
  return Progress::pending;
}

std::optional<std::uint32_t> Engine::gone_peer_of(Running& running) const {
  for (const auto lanes : {running.outs(), running.ins()})
    for (const Lane& lane : lanes)
      if (peers_[lane.peer].has_left) return lane.peer;
  return std::nullopt;
}

Engine::Progress Engine::test(void* request) {
  auto& running = *static_cast<Running*>(request);
  if (running.state == Running::State::under_way) return Progress::pending;
  const bool is_done = running.state == Running::State::done;
  recycle(running);
  return is_done ? Progress::done : Progress::failed;
}

void Engine::recycle(Running& running) { spare_.push_back(&running); }

/// Returns true if all steps are over; then the operation is no longer live.
bool Engine::complete(Running& running) {
  if (!running.is_over() || running.state != Running::State::under_way) return false;
  running.state = Running::State::done;
  live_.erase(std::ranges::find(live_, &running));
  if (running.meets_all() && !running.is_direct && is_before(all_begun_, running.sequence + 1))
    all_begun_ = running.sequence + 1;
  if (has_asks_) answer_asks();
  return true;
}

// ---- messages out

PeerHeader Engine::header(PeerKind kind) const {
  PeerHeader h;
  h.kind = kind;
  h.group = config_.group;
  h.begun = begun_;
  h.ended = begun_;
  for (const Running* running : live_)
    if (!running->is_direct) {
      h.ended = running->sequence;
      break;
    }
  return h;
}

Errc Engine::send(std::uint32_t peer, const PeerHeader& h, const Payload& body) {
  if (peers_[peer].is_full) return Errc::again;
  std::array<std::byte, wire::kPeerHeaderBytes + kInHead> head;
  wire::store(head.data(), h);
  std::size_t bytes = wire::kPeerHeaderBytes;
  Payload rest = body;
  if (!body.owner && body.bytes.size() <= kInHead && !body.bytes.empty()) {
    std::memcpy(head.data() + bytes, body.bytes.data(), body.bytes.size());
    bytes += body.bytes.size();
    rest = {};
  }
  const Errc sent = carrier_.send(peer, std::span(head).first(bytes), rest);
  if (sent == Errc::again) peers_[peer].is_full = true;
  return sent;
}

Errc Engine::send_user_message(std::uint32_t peer, PeerKind kind, std::uint32_t sequence, std::uint32_t index,
                               const Payload& body) {
  PeerHeader h = header(kind);
  h.sequence = sequence;
  h.index = index;
  h.payload_bytes = static_cast<std::uint32_t>(body.bytes.size());
  return send(peer, h, body);
}

/// Returns whether the peer may get a message of this operation yet. Half a window ahead it asks how far the peer is.
bool Engine::is_before_window(std::uint32_t peer, std::uint32_t sequence) {
  Peer& p = peers_[peer];
  const std::uint32_t begun = is_before(p.begun, all_begun_) ? all_begun_ : p.begun;
  if (is_before(sequence, begun + config_.window / 2)) return true;
  if (!p.asked_begun || is_before(*p.asked_begun, begun)) {  // An earlier question has been answered.
    PeerHeader h = header(PeerKind::ask);
    h.sequence = sequence - config_.window / 2;
    h.index = wire::kAskBegun;
    if (send(peer, h) == Errc::ok) p.asked_begun = h.sequence;
  }
  return is_before(sequence, begun + config_.window);
}

void Engine::run(Running& running) {
  running.run();
  while (const auto touched = running.next_touched()) {
    if (failure_) return;
    if (touched->is_out)
      pump_out(running, *running.out_to(touched->peer));
    else
      pump_in(running, *running.in_from(touched->peer));
    running.run();
  }
}

void Engine::pump_out(Running& running, Lane& lane) {
  while (!failure_ && running.may_next(lane))
    if (!send_next(running, lane)) return;
}

bool Engine::send_next(Running& running, Lane& lane) {
  const auto body = running.next_out(lane);
  const bool is_long = running.is_long(body.size());
  if (is_long && lane.next >= lane.open) return false;
  if (!running.is_direct && !is_before_window(lane.peer, running.sequence)) return false;
  PeerHeader h = header(PeerKind::data);
  h.sequence = lane.sequence;
  h.index = lane.next;
  h.payload_bytes = static_cast<std::uint32_t>(body.size());
  h.terms = running.terms;
  Payload payload{body, {}};
  const bool is_borrowed = body.size() > kInHead && body.size() > config_.eager_max;
  if (body.size() > kInHead && !is_borrowed) {
    payload.owner = pool_.acquire(body.size());
    if (!payload.owner) {
      is_starved_ = true;  // settle() tries again.
      return false;
    }
    std::memcpy(payload.owner.data(), body.data(), body.size());
    payload.bytes = payload.owner.bytes();
  }
  if (send(lane.peer, h, payload) != Errc::ok) return false;
  const std::uint32_t step = running.next_step(lane);
  ++lane.next;
  if (is_borrowed) {
    peers_[lane.peer].leaving.push_back({&running, step, carrier_.taken(lane.peer)});
    ++leaving_;
  } else {
    running.left(step);
  }
  return true;
}

void Engine::pump_in(Running& running, Lane& lane) {
  running.open(lane);
  announce(running, lane);
  // Messages of this lane that came before their step might run.
  while (running.may_next(lane)) {
    const auto found = std::ranges::find_if(running.early, [&](const Running::Early& early) {
      return early.peer == lane.peer && early.index == lane.next;
    });
    if (found == running.early.end()) return;
    const BufferRef frame = std::move(found->frame);
    running.early.erase(found);
    running.take(lane, frame.data() + wire::kPeerHeaderBytes);
  }
}

void Engine::announce(Running& running, Lane& lane) {
  if (lane.announced >= lane.wanted) return;
  if (!running.is_direct && !is_before_window(lane.peer, running.sequence)) return;
  PeerHeader h = header(PeerKind::ready);
  h.sequence = lane.sequence;
  h.index = lane.open;
  h.terms = running.terms;
  if (send(lane.peer, h) == Errc::ok) lane.announced = lane.open;
}

/// Goes on with everything that waits for this peer.
void Engine::pump_peer(std::uint32_t peer) {
  // An operation that ends leaves the list, so the list is copied; no more than a few are under way at once.
  for (Running* running : std::vector<Running*>(live_)) {
    if (failure_) return;
    if (Lane* lane = running->in_from(peer); lane != nullptr) announce(*running, *lane);
    if (Lane* lane = running->out_to(peer); lane != nullptr) {
      pump_out(*running, *lane);
      run(*running);
    }
    complete(*running);
  }
}

/// Ends the sends whose bytes have left their memory.
void Engine::sweep(std::uint32_t peer) {
  auto& leaving = peers_[peer].leaving;
  if (leaving.empty()) return;
  const std::uint64_t left = carrier_.left(peer);
  std::size_t over = 0;
  while (over < leaving.size() && leaving[over].mark <= left) {
    Running* running = leaving[over].running;
    running->left(leaving[over].step);
    ++over;
    --leaving_;
    // The records of one operation usually follow each other.
    if (over == leaving.size() || leaving[over].running != running || leaving[over].mark > left) {
      run(*running);
      if (failure_) return;
      complete(*running);
    }
  }
  leaving.erase(leaving.begin(), leaving.begin() + static_cast<std::ptrdiff_t>(over));
}

// ---- messages in

Running* Engine::find(std::uint32_t peer, const PeerHeader& h) {
  for (Running* running : live_) {
    if (running->is_direct != (h.terms.direct != 0)) continue;
    if (!running->is_direct) {
      if (running->sequence == h.sequence) return running;
      continue;
    }
    const Lane* lane = h.kind == PeerKind::data ? running->in_from(peer) : running->out_to(peer);
    if (lane != nullptr && lane->sequence == h.sequence) return running;
  }
  return nullptr;
}

void Engine::on_message(std::uint32_t peer, const BufferRef& frame) {
  if (failure_) return;
  PeerHeader h;
  if (frame.size() < wire::kPeerHeaderBytes) return malformed(peer, "it is shorter than a header");
  const auto head = frame.bytes().first<wire::kPeerHeaderBytes>();
  const std::size_t payload = frame.size() - wire::kPeerHeaderBytes;
  constexpr auto kMost = static_cast<std::uint32_t>(kMessageMax);
  if (wire::decode_peer(head, payload, kMost, h) != Errc::ok) return malformed(peer, flaw(h, payload, kMost));
  if (h.group != config_.group) return malformed(peer, "it is of another group");
  Peer& p = peers_[peer];
  if (p.has_left) return malformed(peer, "it has left the group before");
  if (is_before(p.begun, h.begun)) {
    p.begun = h.begun;
    if (!live_.empty()) pump_peer(peer);
  }
  switch (h.kind) {
    case PeerKind::data:
    case PeerKind::ready: on_operation(peer, h, frame); break;
    case PeerKind::ask: on_ask(peer, h); break;
    case PeerKind::tell: on_tell(peer, h); break;
    case PeerKind::abort: {
      wire::AbortBody body;
      wire::load(body, frame.data() + wire::kPeerHeaderBytes);
      // A verdict of the peer's user is one for all members; the peer's own failures are a loss here.
      const auto code = static_cast<Errc>(body.code);
      const bool is_verdict = code == Errc::invalid || code == Errc::timeout || code == Errc::interrupted;
      fail(
          {is_verdict ? code : Errc::lost, std::string(body.text.data(), strnlen(body.text.data(), body.text.size()))});
      break;
    }
    case PeerKind::leave: on_leave(peer); break;
    case PeerKind::message:
    case PeerKind::offer:
    case PeerKind::take:
    case PeerKind::part:
    case PeerKind::credit:
    case PeerKind::note: on_user_message(peer, h, frame); break;
    case PeerKind::hello:
    case PeerKind::welcome:
    case PeerKind::proof: malformed(peer, "the handshake is over"); break;
  }
}

void Engine::on_user_message(std::uint32_t peer, const PeerHeader& h, const BufferRef& frame) {
  const char* what = messages_ == nullptr
                         ? "this group carries no messages"
                         : messages_->on_message(peer, h, frame.bytes().subspan(wire::kPeerHeaderBytes));
  if (what != nullptr && !failure_) malformed(peer, what);
}

void Engine::on_operation(std::uint32_t peer, const PeerHeader& h, const BufferRef& frame) {
  if (Running* running = find(peer, h); running != nullptr) {
    deliver(*running, peer, h, frame);
    if (!failure_) complete(*running);
    return;
  }
  Peer& p = peers_[peer];
  const std::uint32_t begun = h.terms.direct == 0 ? begun_ : h.kind == PeerKind::data ? p.direct_in : p.direct_out;
  if (is_before(h.sequence, begun)) return ended_before(peer, h);
  if (h.terms.direct == 0 && !is_before(h.sequence, begun + config_.window))
    return malformed(peer, "it is too far ahead");
  if (h.payload_bytes > config_.eager_max) return malformed(peer, "it is long and was not announced");
  if (p.unexpected >= kUnexpectedPerOperation * config_.window)
    return malformed(peer, "too many come before their operation");
  ++p.unexpected;
  unexpected_.push_back({peer, h, frame});
}

void Engine::deliver(Running& running, std::uint32_t peer, const PeerHeader& h, const BufferRef& frame) {
  if (h.terms != running.terms) return disagree(peer, h.sequence, h.terms, running.terms);
  if (h.kind == PeerKind::ready) {
    Lane* lane = running.out_to(peer);
    if (lane == nullptr || h.index > lane->count || h.index < lane->open)
      return malformed(peer, "it announces memory for messages that are not awaited");
    lane->open = h.index;
    pump_out(running, *lane);
    return run(running);
  }
  Lane* lane = running.in_from(peer);
  if (lane == nullptr || h.index != lane->received || lane->received == lane->count)
    return malformed(peer, "it is not the message that is awaited");
  const std::uint64_t bytes = running.bytes_of(*lane, h.index);
  if (h.payload_bytes != bytes) return unlike_sizes(peer, h, bytes);
  if (running.is_long(bytes) && h.index >= lane->announced) return malformed(peer, "it was not announced");
  ++lane->received;
  if (!running.may_next(*lane) || h.index != lane->next) {
    running.early.push_back({peer, h.index, frame});
    return;
  }
  running.take(*lane, frame.data() + wire::kPeerHeaderBytes);
  run(running);
}

std::span<std::byte> Engine::on_head(std::uint32_t peer, std::span<const std::byte, wire::kPeerHeaderBytes> head,
                                     std::size_t payload) {
  PeerHeader h;
  const auto refuse = [&](std::string_view what) {
    if (!faulty_) faulty_.emplace(peer, what);
    return std::span<std::byte>{};
  };
  if (failure_) return {};
  if (wire::decode_peer(head, payload, static_cast<std::uint32_t>(kMessageMax), h) != Errc::ok ||
      h.group != config_.group)
    return refuse("its header is wrong");
  if (h.kind == PeerKind::part && payload > config_.eager_max && messages_ != nullptr) {
    const char* what = nullptr;
    const auto memory = messages_->on_head(peer, h, &what);
    return what == nullptr ? memory : refuse(what);
  }
  // Short ones come whole: they may be early.
  if (h.kind != PeerKind::data || payload <= config_.eager_max) return {};
  Running* running = find(peer, h);
  if (running == nullptr) return refuse("it is long and was not announced");
  Lane* lane = running->in_from(peer);
  if (h.terms != running->terms) return {};  // It comes whole, and deliver() reports the difference.
  if (lane == nullptr || h.index != lane->received || h.index != lane->next || h.index >= lane->announced)
    return refuse("it is not the message that is awaited");
  if (payload != running->bytes_of(*lane, h.index)) return {};  // The same.
  Peer& p = peers_[peer];
  p.placing = running;
  if (std::byte* memory = running->next_in(*lane); memory != nullptr) return {memory, payload};
  if (p.scratch_bytes < payload) {
    p.scratch = std::make_unique_for_overwrite<std::byte[]>(payload);
    p.scratch_bytes = payload;
  }
  return {p.scratch.get(), payload};
}

void Engine::on_placed(std::uint32_t peer) {
  if (!failure_ && messages_ != nullptr && messages_->on_placed(peer)) return;
  Running* running = std::exchange(peers_[peer].placing, nullptr);
  if (failure_ || running == nullptr) return;
  Lane& lane = *running->in_from(peer);
  ++lane.received;
  const std::byte* memory = running->next_in(lane);
  running->take(lane, memory != nullptr ? memory : peers_[peer].scratch.get());
  run(*running);
  if (!failure_) complete(*running);
}

void Engine::on_writable(std::uint32_t peer) {
  peers_[peer].is_full = false;
  if (failure_) return;
  if (has_asks_) answer_asks();
  pump_peer(peer);
  if (!failure_ && messages_ != nullptr) messages_->pump(peer);
}

}  // namespace sumac::p2p
