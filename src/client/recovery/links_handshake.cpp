// Two processes of a job prove to each other that they are, and agree on the connection that they use.
#include <algorithm>
#include <cstring>

#include "client/recovery/links.hpp"

namespace sumac::client {
namespace {

using wire::PeerHeader;
using wire::PeerKind;

/// No tree has this id, so a proof of a tree's hop proves nothing here.
constexpr TreeId kNoTree{0};

}  // namespace

bool MemberLinks::say(net::ConnId conn, PeerKind kind, std::span<const std::byte> body) {
  std::array<std::byte, wire::kPeerHeaderBytes + sizeof(wire::WelcomeBody)> message;
  PeerHeader head;
  head.kind = kind;
  head.payload_bytes = static_cast<std::uint32_t>(body.size());
  wire::store(message.data(), head);
  std::memcpy(message.data() + wire::kPeerHeaderBytes, body.data(), body.size());
  return put(conn, std::span(message).first(wire::kPeerHeaderBytes + body.size()));
}

wire::WelcomeBody MemberLinks::welcome_of(const Conn& conn) const {
  wire::WelcomeBody welcome;
  welcome.nonce = conn.nonce;
  welcome.role = wire::Role::client;
  welcome.id = NodeId{number_of(config_.self)};
  return welcome;
}

wire::ProofTerms MemberLinks::terms_of(const Conn& conn, const wire::WelcomeBody& welcome, std::uint32_t parent) const {
  return {kNoTree, conn.hello, welcome, addresses_[parent]};
}

void MemberLinks::on_connected(net::ConnId id) {
  const auto at = conns_.find(id.value);
  if (at == conns_.end()) return;
  Conn& conn = at->second;
  conn.hello.job_id = config_.job_id;
  conn.hello.id = number_of(config_.self);
  if (wire::draw_nonce(conn.hello.nonce) && say(id, PeerKind::hello, wire::bytes_of(conn.hello))) return;
  transport_->close(id);
  on_closed(id, Error{Errc::io, "no hello can be sent"});
}

const char* MemberLinks::on_handshake(net::ConnId id, Conn& conn, const BufferRef& frame) {
  PeerHeader head;
  if (frame.size() < wire::kPeerHeaderBytes) return "a message is shorter than a header";
  wire::load(head, frame.data());
  if (const char* what = flaw(head, frame.size() - wire::kPeerHeaderBytes, 0); what != nullptr) return what;
  if (addresses_.empty()) return "the members do not know each other yet";
  switch (head.kind) {
    case PeerKind::hello: return on_hello(id, conn, wire::peer_body<wire::HelloBody>(frame.data()));
    case PeerKind::welcome: return on_welcome(id, conn, wire::peer_body<wire::WelcomeBody>(frame.data()));
    case PeerKind::proof: return on_proof(id, conn, wire::peer_body<wire::ProofBody>(frame.data()));
    case PeerKind::note: return on_note(id, conn, head);
    default: return "it is no message between members";
  }
}

/// Both ends decide alike: where both connect at once, the connection of the lower rank stays.
bool MemberLinks::yields_to_ours(std::uint32_t rank) const {
  return peers_[rank].attempt && number_of(config_.self) < rank;
}

const char* MemberLinks::on_hello(net::ConnId id, Conn& conn, const wire::HelloBody& hello) {
  if (conn.is_ours || conn.has_greeted) return "a second hello";
  if (hello.job_id != config_.job_id || hello.id >= peers_.size() || hello.id == number_of(config_.self))
    return "hello: it is no other rank of this job";
  if (yields_to_ours(hello.id)) return "hello: this rank connects itself";
  conn.has_greeted = true;
  conn.hello = hello;
  if (!wire::draw_nonce(conn.nonce)) return "there are no random numbers";
  wire::WelcomeBody welcome = welcome_of(conn);
  if (!wire::make_proof(wire::ProvingSide::parent, config_.key, terms_of(conn, welcome, number_of(config_.self)),
                        welcome.proof))
    return "the proof can't be made";
  return say(id, PeerKind::welcome, wire::bytes_of(welcome)) ? nullptr : "it takes no answer";
}

const char* MemberLinks::on_welcome(net::ConnId id, Conn& conn, const wire::WelcomeBody& welcome) {
  if (!conn.is_ours || conn.is_proven) return "a welcome that nobody asked for";
  if (welcome.id != NodeId{conn.rank}) return "another process answers at this address";
  const auto terms = terms_of(conn, welcome, conn.rank);
  if (!wire::proves(wire::ProvingSide::parent, config_.key, terms, welcome.proof))
    return "it does not know the job's key: another process listens at the rank's address";
  wire::ProofBody proof;
  if (!wire::make_proof(wire::ProvingSide::child, config_.key, terms, proof.proof)) return "the proof can't be made";
  conn.is_proven = true;
  return say(id, PeerKind::proof, wire::bytes_of(proof)) ? nullptr : "it takes no answer";
}

const char* MemberLinks::on_proof(net::ConnId id, Conn& conn, const wire::ProofBody& proof) {
  if (conn.is_ours || !conn.has_greeted || conn.is_proven) return "a proof that nobody asked for";
  const std::uint32_t rank = conn.hello.id;
  if (!wire::proves(wire::ProvingSide::child, config_.key, terms_of(conn, welcome_of(conn), number_of(config_.self)),
                    proof.proof))
    return "it does not know the job's key";
  if (yields_to_ours(rank)) return "proof: this rank connects itself";
  conn.is_proven = true;
  conn.rank = rank;
  transport_->admit(id);
  PeerHeader note;
  note.kind = PeerKind::note;
  note.index = static_cast<std::uint32_t>(MemberWord::taken);
  if (!put(id, wire::bytes_of(note))) return "it takes no answer";
  take(id, rank);
  return nullptr;
}

void MemberLinks::take(net::ConnId id, std::uint32_t rank) {
  Peer& peer = peers_[rank];
  if (peer.attempt == id) peer.attempt = {};
  if (const auto ours = std::exchange(peer.attempt, {})) end(ours);
  const auto former = std::exchange(peer.link, {});
  if (former) end(former);
  const bool is_loss = std::erase(lost_, rank) != 0 || former;
  peer.link = id;
  peer.retry_at = kNever;
  peer.pause = kRetryFirst;
  peer.refused_since = peer.unreached_since = kNever;
  for (const auto& frame : std::exchange(peer.waiting, {}))
    if (peer.link == id && !put(id, frame)) lose(rank);
  // Its user sends at once, by this connection: a further one would replace it at the other end, and so on without end.
  if (is_loss) events_.on_member_lost(WorldRank{rank});
}

const char* MemberLinks::on_note(net::ConnId id, Conn& conn, const PeerHeader& note) {
  if (!conn.is_proven) return "a note before the proof";
  const auto word = static_cast<MemberWord>(note.index);
  if (word == MemberWord::taken) {
    if (!conn.is_ours || peers_[conn.rank].attempt != id) return "a connection is taken once";
    take(id, conn.rank);
    return nullptr;
  }
  if (peers_[conn.rank].link != id) return "a note on a connection that is not taken";
  if (word != MemberWord::died && word != MemberWord::departed) return "a note without meaning";
  events_.on_member_note(WorldRank{conn.rank}, word, note.sequence, TreeId{note.group});
  return nullptr;
}

}  // namespace sumac::client
