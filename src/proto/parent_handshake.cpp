#include "proto/parent_handshake.hpp"

#include "proto/with_body.hpp"

namespace sumac::proto {

using wire::AggKind;
using wire::RefuseReason;

const char* ParentHandshake::judge(Link& link, const wire::AggHeader& header, const BufferRef& frame,
                                   std::string& more) {
  if (header.kind == AggKind::hello && !link.greeted)
    return use_body<wire::HelloBody>(frame, [&](const auto& body) { return hello(link, body, more); });
  if (header.kind == AggKind::proof && link.greeted)
    return use_body<wire::ProofBody>(frame, [&](const auto& body) { return proof(link, body); });
  return link.greeted ? "hello is followed by the proof" : "a child says hello first";
}

/// Finds the key that this hello's sender must know. Returns false when there is none.
bool ParentHandshake::key_of(const wire::HelloBody& hello, Secret& key) const noexcept {
  if (hello.role == wire::Role::node)
    return wire::make_pair_key(ctx_.config.node_key, ctx_.config.tree_id, NodeId{hello.id}, ctx_.config.node_id, key);
  const Job* job = ctx_.jobs.find(hello.job_id);
  if (job != nullptr) key = job->grant.job_key;
  return job != nullptr;
}

wire::WelcomeBody ParentHandshake::welcome_of(const Link& link) const noexcept {
  wire::WelcomeBody body;
  body.nonce = link.nonce;
  body.id = ctx_.config.node_id;
  if (ctx_.outbox.datagram_node() != nullptr) body.options = wire::kWelcomeDatagrams;
  return body;
}

wire::ProofTerms ParentHandshake::terms_of(const Link& link) const noexcept {
  return {ctx_.config.tree_id, link.hello, welcome_of(link), ctx_.config.address};
}

const char* ParentHandshake::hello(Link& link, const wire::HelloBody& body, std::string& more) {
  const auto no = [&](RefuseReason reason, std::uint32_t limit, std::uint32_t asked) {
    ctx_.refuse(link.id, ctx_.refusal(body.job_id, 0, reason, AggKind::hello, limit, asked));
  };
  // This check comes before anything else in the hello is believed: its meaning depends on its version.
  if (body.version != wire::kAggVersion) {
    no(RefuseReason::version, wire::kAggVersion, body.version);
    const std::string peer = fmt::format("{} {}", body.role == wire::Role::node ? "node" : "world rank", body.id);
    more = fmt::format(": {} speaks wire version {}, this node version {}: upgrade Sumac {}", peer, body.version,
                       wire::kAggVersion, body.version > wire::kAggVersion ? "on this node" : "on the host of " + peer);
    return "hello: the peer speaks another wire version";
  }
  Secret key{};
  if (!key_of(body, key)) {
    no(RefuseReason::unknown_job, 0, 0);
    return "hello: the job is not granted at this node";
  }
  link.greeted = true;
  link.hello = body;
  wire::WelcomeBody welcome = welcome_of(link);
  const bool made = wire::make_proof(wire::ProvingSide::parent, key, terms_of(link), welcome.proof);
  wipe(key);
  if (!made) return "hello: this node can't prove who it is";
  ctx_.control(link.id, ctx_.header(AggKind::welcome), welcome);
  return nullptr;
}

/// A job's key admits its members any number of times: without this limit one user's ranks could take all connections.
bool ParentHandshake::has_room_for(const Job& job) const {
  if (job.grant.links_percent == 0) return true;
  std::uint64_t links = 0;
  ctx_.links.each([&](const Link& link) {
    links += link.proven && link.role == wire::Role::client && link.user == job.grant.uid ? 1 : 0;
  });
  return 100 * links < std::uint64_t{ctx_.config.limits.links} * job.grant.links_percent;
}

const char* ParentHandshake::proof(Link& link, const wire::ProofBody& body) {
  const wire::HelloBody& said = link.hello;
  Secret key{};
  const bool is_known = key_of(said, key);
  const bool is_proven = is_known && wire::proves(wire::ProvingSide::child, key, terms_of(link), body.proof);
  wipe(key);
  if (!is_proven) {
    // The refusal is sent before anything is made or changed for this link, so it costs no other peer anything.
    ctx_.refuse(link.id, ctx_.refusal(said.job_id, 0, is_known ? RefuseReason::bad_key : RefuseReason::unknown_job,
                                      AggKind::hello, 0, 0));
    return said.role == wire::Role::node ? "proof: it does not have the key of the node that it says it is"
                                         : "proof: it does not have the key of its job";
  }
  const Job* job = said.role == wire::Role::client ? ctx_.jobs.find(said.job_id) : nullptr;
  if (job != nullptr && !has_room_for(*job)) {
    ctx_.refuse(link.id, ctx_.refusal(said.job_id, 0, RefuseReason::node_limit, AggKind::hello,
                                      ctx_.config.limits.links * job->grant.links_percent / 100, 0));
    return "proof: its user's jobs have as many connections to this node as one user may have";
  }
  link.proven = true;
  link.role = said.role;
  link.job_id = said.job_id;
  if (job != nullptr) link.job_life = job->life, link.user = job->grant.uid;
  link.peer = said.id;
  link.child_of.assign(ctx_.config.limits.groups + 1, kNoChild);
  ctx_.outbox.greeted(link.id, link.role, link.job_id);
  return nullptr;
}

}  // namespace sumac::proto
