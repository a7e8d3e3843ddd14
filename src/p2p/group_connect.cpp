// A group's connections: who connects to whom, the proof of both ends, and the transport's events. Of each two members
// one connects and the other accepts, by the parity of the sum of their ranks, so that each does half of it.
#include <cassert>
#include <cstring>

#include "base/listed.hpp"
#include "p2p/group.hpp"
#include "wire/proof.hpp"

namespace sumac::p2p {
namespace {

using wire::PeerHeader;
using wire::PeerKind;

/// A peer that has nothing to send shows that it lives.
constexpr Millis kPing{1000};

bool connects(std::uint32_t rank, std::uint32_t peer) { return ((rank + peer) % 2 == 0) == (rank < peer); }

}  // namespace

Result<> Group::connect() {
  const auto mine = introduce(config_.rank, config_.size,
                              {.address = transport_->address(),
                               .host = config_.host_name,
                               .rate_bits_per_s = link_rate_of(transport_->address()),
                               .reproducible = config_.reproducible});
  if (!mine) return tl::unexpected(mine.error());
  std::vector<std::byte> blobs = *mine;
  if (config_.size > 1) {
    auto all = config_.exchange(*mine);
    if (!all) return within("exchange of addresses", all.error());
    blobs = std::move(*all);
  }
  auto members = read_introductions(blobs, config_.size);
  ::explicit_bzero(blobs.data(), blobs.size());
  if (!members) return tl::unexpected(members.error());
  members_ = std::move(*members);
  config_.reproducible = members_.reproducible;
  Carrier& carrier = *this;
  engine_ = std::make_unique<Engine>(EngineConfig{.rank = config_.rank,
                                                  .size = config_.size,
                                                  .group = members_.group,
                                                  .eager_max = eager_max_,
                                                  .messages = config_.messages,
                                                  .name = [this](std::uint32_t rank) { return name_of(rank); }},
                                     carrier, pool_);
  for (std::uint32_t peer = 0; peer < config_.size; ++peer) {
    if (peer == config_.rank || !connects(config_.rank, peer)) continue;
    auto conn = transport_->connect_by(config_.transport.device, members_.addresses[peer]);
    if (!conn) return within(name_of(peer), conn.error());
    links_[conn->value] = {.rank = peer, .is_connector = true};
  }
  const Time until = monotonic_now() + config_.connect_within;
  while (proven_ + 1 < config_.size) {
    look();
    if (auto checked = check_now_and_then(); !checked) return checked;
    if (engine_->failure()) return tl::unexpected(*engine_->failure());
    if (is_refused_) return fail(Errc::lost, "no connection with {}", trouble_);
    if (monotonic_now() >= until)
      return fail(Errc::timeout, "no connection with {} within {} ms{}{}", missing(), config_.connect_within.count(),
                  trouble_.empty() ? ": do these processes run, and can their hosts reach each other?" : "; the last: ",
                  trouble_);
    rest(std::min(until, monotonic_now() + kCheckEvery));
  }
  return {};
}

Result<> Group::check_now_and_then() {
  const Time now = monotonic_now();
  if (!config_.check || now - checked_ < kCheckEvery) return {};
  checked_ = now;
  return config_.check();
}

std::string Group::missing() const {
  std::vector<std::string> names;
  for (std::uint32_t peer = 0; peer < config_.size; ++peer)
    if (peer != config_.rank && !conns_[peer]) names.push_back(name_of(peer));
  return listed(names);
}

// ---- the handshake

bool Group::send_body(net::ConnId conn, PeerKind kind, std::span<const std::byte> body) {
  std::array<std::byte, wire::kPeerHeaderBytes + sizeof(wire::WelcomeBody)> message;
  PeerHeader h;
  h.kind = kind;
  h.group = members_.group;
  h.payload_bytes = static_cast<std::uint32_t>(body.size());
  wire::store(message.data(), h);
  std::memcpy(message.data() + wire::kPeerHeaderBytes, body.data(), body.size());
  return transport_->send(conn, std::span(message).first(wire::kPeerHeaderBytes + body.size()), {}) == Errc::ok;
}

void Group::greet(net::ConnId conn, Link& link) {
  link.hello.job_id = JobId{members_.group};
  link.hello.id = config_.rank;
  if (!wire::draw_nonce(link.hello.nonce) || !send_body(conn, PeerKind::hello, wire::bytes_of(link.hello))) {
    transport_->close(conn);
    links_.erase(conn.value);
  }
}

wire::WelcomeBody Group::welcome_of(const Link& link) const {
  wire::WelcomeBody welcome;
  welcome.nonce = link.nonce;
  welcome.role = wire::Role::client;
  welcome.id = NodeId{config_.rank};
  return welcome;
}

const char* Group::on_hello(net::ConnId conn, Link& link, const wire::HelloBody& hello) {
  if (link.is_connector || link.hello.job_id != JobId{}) return "a second hello";
  if (hello.job_id != JobId{members_.group} || hello.id >= config_.size || !connects(hello.id, config_.rank))
    return "hello: it is no member that connects to this one";
  link.hello = hello;
  if (!wire::draw_nonce(link.nonce)) return "this member has no random numbers";
  wire::WelcomeBody welcome = welcome_of(link);
  const wire::ProofTerms terms{TreeId{members_.group}, hello, welcome, members_.addresses[config_.rank]};
  if (!wire::make_proof(wire::ProvingSide::parent, members_.key, terms, welcome.proof))
    return "the proof can't be made";
  return send_body(conn, PeerKind::welcome, wire::bytes_of(welcome)) ? nullptr : "it takes no answer";
}

const char* Group::on_welcome(net::ConnId conn, Link& link, const wire::WelcomeBody& welcome) {
  if (!link.is_connector) return "a welcome that nobody asked for";
  if (welcome.id != NodeId{link.rank}) return "another member answers at this address";
  const wire::ProofTerms terms{TreeId{members_.group}, link.hello, welcome, members_.addresses[link.rank]};
  if (!wire::proves(wire::ProvingSide::parent, members_.key, terms, welcome.proof))
    return "it does not know the group's key: another process listens at the member's address";
  wire::ProofBody proof;
  if (!wire::make_proof(wire::ProvingSide::child, members_.key, terms, proof.proof)) return "the proof can't be made";
  if (!send_body(conn, PeerKind::proof, wire::bytes_of(proof))) return "it takes no answer";
  settle_in(conn, link, link.rank);
  return nullptr;
}

const char* Group::on_proof(net::ConnId conn, Link& link, const wire::ProofBody& proof) {
  if (link.is_connector || link.hello.job_id == JobId{}) return "a proof before the hello";
  const wire::ProofTerms terms{TreeId{members_.group}, link.hello, welcome_of(link), members_.addresses[config_.rank]};
  if (!wire::proves(wire::ProvingSide::child, members_.key, terms, proof.proof))
    return "it does not know the group's key";
  if (conns_[link.hello.id]) return "this member is connected already";
  transport_->admit(conn);
  settle_in(conn, link, link.hello.id);
  return nullptr;
}

void Group::settle_in(net::ConnId conn, Link& link, std::uint32_t rank) {
  link.rank = rank;
  link.is_proven = true;
  conns_[rank] = conn;
  ++proven_;
  // A connection that was just proven has no reason to refuse; if it ended meanwhile, on_closed() follows.
  (void)transport_->watch(conn, kPing, config_.silent_after);
}

const char* Group::on_handshake(net::ConnId conn, Link& link, const BufferRef& frame) {
  PeerHeader h;
  if (frame.size() < wire::kPeerHeaderBytes) return "a message is shorter than a header";
  const std::size_t payload = frame.size() - wire::kPeerHeaderBytes;
  wire::load(h, frame.data());
  if (const char* what = flaw(h, payload, 0); what != nullptr) return what;
  if (h.group != members_.group) return "it is of another group";
  switch (h.kind) {
    case PeerKind::hello: return on_hello(conn, link, wire::peer_body<wire::HelloBody>(frame.data()));
    case PeerKind::welcome: return on_welcome(conn, link, wire::peer_body<wire::WelcomeBody>(frame.data()));
    case PeerKind::proof: return on_proof(conn, link, wire::peer_body<wire::ProofBody>(frame.data()));
    default: return "it has not proven that it is a member";
  }
}

// ---- net::TransportEvents

void Group::on_accepted(net::ConnId conn) { links_[conn.value] = {}; }

void Group::on_connected(net::ConnId conn) {
  if (const auto at = links_.find(conn.value); at != links_.end()) greet(conn, at->second);
}

void Group::on_message(net::ConnId conn, BufferRef frame) {
  const auto at = links_.find(conn.value);
  if (at == links_.end()) return;
  Link& link = at->second;
  if (link.is_proven) return engine_->on_message(link.rank, frame);
  const char* what = on_handshake(conn, link, frame);
  if (what == nullptr) return;
  trouble_ = link.is_connector ? fmt::format("{}: {}", name_of(link.rank), what)
                               : fmt::format("{}: {}", transport_->peer(conn), what);
  is_refused_ = link.is_connector;
  transport_->close(conn);
  links_.erase(conn.value);
}

std::span<std::byte> Group::on_head(net::ConnId conn, std::span<const std::byte, 64> head, std::size_t bytes) {
  const auto at = links_.find(conn.value);
  if (at == links_.end() || !at->second.is_proven) return {};
  return engine_->on_head(at->second.rank, head, bytes - head.size());
}

void Group::on_placed(net::ConnId conn, BufferRef) {
  if (const auto at = links_.find(conn.value); at != links_.end()) engine_->on_placed(at->second.rank);
}

void Group::on_writable(net::ConnId conn) {
  const auto at = links_.find(conn.value);
  if (at != links_.end() && at->second.is_proven) engine_->on_writable(at->second.rank);
}

void Group::on_closed(net::ConnId conn, const Error& why) {
  const auto at = links_.find(conn.value);
  if (at == links_.end()) return;
  const Link link = at->second;
  links_.erase(at);
  if (link.is_proven) return engine_->on_lost(link.rank, why);
  if (!link.is_connector) return;
  trouble_ = fmt::format("{}: {}", name_of(link.rank), why.context);
  is_refused_ = true;
}

}  // namespace sumac::p2p
