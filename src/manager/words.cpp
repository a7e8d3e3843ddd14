#include "manager/words.hpp"

#include "control/quota.hpp"
#include "manager/tree.hpp"

namespace sumac::manager {
namespace {

namespace v1 = control::v1;

std::optional<Secret> key_of(const std::string& bytes) {
  const auto key = control::key_of(bytes);
  return key ? std::optional(*key) : std::nullopt;
}

Listening record_of(const v1::Listening& from) {
  return {from.tree(), from.address(), from.why(), control::ranges_of(from.held())};
}

NodeRegister record_of(const v1::Register& from) {
  NodeRegister to{.version = from.version(),
                  .name = from.name(),
                  .trees = {},
                  .osts = from.osts(),
                  .groups = from.groups(),
                  .payload_max = from.payload_max(),
                  .pid = from.pid(),
                  .life = from.life(),
                  .release = from.release()};
  for (const auto& listening : from.trees()) to.trees.push_back(record_of(listening));
  return to;
}

Neighbour record_of(const v1::Neighbour& from) {
  // A state that this manager does not know says that the neighbour is silent, which costs least.
  const auto state = from.state() == v1::Neighbour::HEARD  ? Neighbour::State::heard
                     : from.state() == v1::Neighbour::LOST ? Neighbour::State::lost
                                                           : Neighbour::State::silent;
  return {from.tree(), NodeId{from.node_id()}, state, from.silent_ms()};
}

HostRegister record_of(const v1::HostRegister& from) {
  HostRegister to{.version = from.version(),
                  .host = from.host(),
                  .life = from.life(),
                  .pid = from.pid(),
                  .release = from.release(),
                  .jobs = {}};
  for (const auto& job : from.jobs()) to.jobs.push_back({job.ticket(), JobId{job.job_id()}, job.granted()});
  return to;
}

JobBegin record_of(const v1::JobBegin& from) {
  return {.ticket = from.ticket(),
          .job_id = JobId{from.job_id()},
          .world_size = from.world_size(),
          .hosts = {from.hosts().begin(), from.hosts().end()},
          .quota = control::quota_of(from.quota()),
          .holder = from.holder(),
          .uid = from.uid(),
          .devices = from.devices(),
          .outlives_trees = from.outlives_trees(),
          .queue_seconds = from.queue_seconds()};
}

RankDied record_of(const v1::RankDied& from) {
  return {.job_id = JobId{from.job_id()},
          .world_rank = from.world_rank(),
          .uid = from.uid(),
          .job_key = key_of(from.job_key()),
          .who = from.who()};
}

// ---- to nodes

void write(v1::Grant& to, const Grant& from) {
  to.set_tree(from.tree);
  to.set_job_id(number_of(from.job_id));
  *to.mutable_quota() = control::quota_message(from.quota);
  to.set_job_key(from.job_key.data(), from.job_key.size());
  to.set_uid(from.uid);
  control::add_ranges(*to.mutable_numbers(), from.numbers);
  for (const auto node : from.below) to.add_below(number_of(node));
  to.set_ranks_here(from.ranks_here);
  to.set_links_percent(from.links_percent);
}

void write(v1::NodeTree& to, const NodeTree& from) {
  to.set_tree(from.tree);
  to.set_tree_id(number_of(from.tree_id));
  to.set_is_root(from.is_root);
  to.set_over(from.over);
  for (const auto& grant : from.grants) write(*to.add_grants(), grant);
}

void write(v1::NodeDown& to, const Grant& from) { write(*to.mutable_grant(), from); }
void write(v1::NodeDown& to, const NodeTree& from) { write(*to.mutable_tree(), from); }
void write(v1::NodeDown& to, const Registered& from) {
  auto& message = *to.mutable_registered();
  message.set_node_id(number_of(from.node_id));
  for (const auto& tree : from.trees) write(*message.add_trees(), tree);
  message.set_away_ms(from.away_ms);
  message.set_hop_totals_ms(from.hop_totals_ms);
  message.set_node_key(from.node_key.data(), from.node_key.size());
}
void write(v1::NodeDown& to, const Parent& from) {
  auto& message = *to.mutable_parent();
  message.set_tree(from.tree);
  message.set_node_id(number_of(from.node_id));
  message.set_name(from.name);
  message.set_address(from.address);
  message.set_key(from.key.data(), from.key.size());
}
void write(v1::NodeDown& to, const Revoke& from) {
  auto& message = *to.mutable_revoke();
  message.set_tree(from.tree);
  message.set_job_id(number_of(from.job_id));
  message.set_why(from.why);
}
void write(v1::NodeDown& to, const RankDeath& from) {
  auto& message = *to.mutable_rank_died();
  message.set_tree(from.tree);
  message.set_job_id(number_of(from.job_id));
  message.set_world_rank(from.world_rank);
  message.set_host(from.host);
}

// ---- to sharpds

void write(v1::GrantedTree& to, const GrantedTree& from) {
  const auto& share = from.share;
  to.set_tree_id(number_of(share.id));
  to.set_root_node(number_of(node_id(share.nodes.front())));
  to.set_rate_bits_per_s(from.numbers.rate_bits_per_s);
  to.set_delay_ns(from.numbers.delay_ns);
  to.set_member_nodes(from.numbers.member_nodes);
  for (std::size_t n = 0; n < share.nodes.size(); ++n) {
    auto& node = *to.add_nodes();
    node.set_node_id(number_of(node_id(share.nodes[n])));
    node.set_parent_id(number_of(node_id(share.nodes[share.parents[n] == 0 ? 0 : share.parents[n] - 1])));
    node.set_name(from.nodes[n].first);
    node.set_address(from.nodes[n].second);
  }
  for (const auto leaf : share.leaves) to.add_leaves(number_of(node_id(share.nodes[leaf])));
}

void write(v1::HostDown& to, const HostRegistered& from) {
  auto& message = *to.mutable_registered();
  message.set_lease_ms(from.lease_ms);
  message.set_renew_ms(from.renew_ms);
  for (const auto ticket : from.gone) message.add_gone(ticket);
}
void write(v1::JobGranted& message, const JobGranted& from) {
  message.set_ticket(from.ticket);
  *message.mutable_quota() = control::quota_message(from.quota);
  message.set_job_key(from.job_key.data(), from.job_key.size());
  for (const auto& tree : from.trees) write(*message.add_trees(), tree);
  message.mutable_fabric()->set_host_rate_bits_per_s(from.hosts.rate_bits_per_s);
  message.mutable_fabric()->set_rails(from.hosts.rails);
  message.mutable_fabric()->set_nodes_on_member_hosts(from.nodes_on_member_hosts);
}
void write(v1::HostDown& to, const JobGranted& from) { write(*to.mutable_granted(), from); }
void write(v1::HostDown& to, const JobTrees& from) {
  auto& message = *to.mutable_job_trees();
  message.set_job_id(number_of(from.job_id));
  message.set_times_again(from.times_again);
  write(*message.mutable_granted(), from.granted);
}
void write(v1::HostDown& to, const JobRefused& from) {
  to.mutable_refused()->set_status(from.status);
  to.mutable_refused()->set_text(from.text);
  to.mutable_refused()->set_ticket(from.ticket);
}
void write(v1::HostDown& to, const JobEnded& from) {
  to.mutable_ended()->set_why(from.why);
  to.mutable_ended()->set_ticket(from.ticket);
}
void write(v1::HostDown& to, const MemberDeath& from) {
  auto& message = *to.mutable_rank_died();
  message.set_job_id(number_of(from.job_id));
  message.set_world_rank(from.world_rank);
  message.set_job_key(from.job_key.data(), from.job_key.size());
}
void write(v1::HostDown& to, const HostPlace& from) { to.mutable_place()->set_in_fabric(from.in_fabric); }
void write(v1::HostDown& to, const JobDaemons& from) {
  to.mutable_job_daemons()->set_job_id(number_of(from.job_id));
  for (const auto& one : from.daemons) {
    auto& daemon = *to.mutable_job_daemons()->add_daemons();
    daemon.set_role(one.role);
    daemon.set_name(one.name);
    daemon.set_address(one.address);
  }
}

}  // namespace

std::optional<FromNode> read(const v1::NodeUp& message) {
  switch (message.what_case()) {
    case v1::NodeUp::kRegister: return record_of(message.register_());
    case v1::NodeUp::kAck: return Ack{message.ack().sequence()};
    case v1::NodeUp::kDeferred: return Deferred{message.deferred().sequence(), message.deferred().why()};
    case v1::NodeUp::kLink: return Link{message.link().tree(), message.link().up(), message.link().why()};
    case v1::NodeUp::kNeighbour: return record_of(message.neighbour());
    case v1::NodeUp::kListening: return record_of(message.listening());
    case v1::NodeUp::kInspectable: return Inspectable{message.inspectable().address()};
    case v1::NodeUp::kHop: return HopReport{message.hop().tree(), control::hop_totals_of(message.hop())};
    case v1::NodeUp::WHAT_NOT_SET: break;
  }
  return std::nullopt;
}

std::optional<FromHost> read(const v1::HostUp& message) {
  switch (message.what_case()) {
    case v1::HostUp::kRegister: return record_of(message.register_());
    case v1::HostUp::kBegin: return record_of(message.begin());
    case v1::HostUp::kEnd: return JobEnd{message.end().ticket(), JobId{message.end().job_id()}, message.end().why()};
    case v1::HostUp::kRenew: return Renew{{message.renew().tickets().begin(), message.renew().tickets().end()}};
    case v1::HostUp::kRankDied: return record_of(message.rank_died());
    case v1::HostUp::kInspectable: return Inspectable{message.inspectable().address()};
    case v1::HostUp::kJobDaemons:
      return JobDaemonsAsked{JobId{message.job_daemons().job_id()}, key_of(message.job_daemons().job_key())};
    case v1::HostUp::kTreesWanted:
      return TreesWanted{JobId{message.trees_wanted().job_id()}, key_of(message.trees_wanted().job_key()),
                         message.trees_wanted().times_again()};
    case v1::HostUp::WHAT_NOT_SET: break;
  }
  return std::nullopt;
}

v1::NodeDown written(const SendToNode& to) {
  v1::NodeDown message;
  message.set_sequence(to.sequence);
  std::visit([&](const auto& one) { write(message, one); }, to.message);
  return message;
}

v1::HostDown written(const SendToHost& to) {
  v1::HostDown message;
  std::visit([&](const auto& one) { write(message, one); }, to.message);
  return message;
}

}  // namespace sumac::manager
