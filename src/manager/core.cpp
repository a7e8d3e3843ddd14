#include "manager/core.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "control/command_line.hpp"
#include "wire/agg.hpp"
#include "wire/host.hpp"

namespace sumac::manager {

using control::v1::JobDown;
using control::v1::NodeDown;

namespace {

control::v1::Grant grant_message(std::uint64_t job_id, const Allocation& grant) {
  control::v1::Grant message;
  message.set_job_id(job_id);
  message.set_osts(grant.osts);
  message.set_groups(grant.max_groups);
  message.set_payload_max(grant.payload_per_ost);
  message.set_stream_window(grant.stream_window);
  message.set_chunk_max(grant.chunk_bytes);
  message.set_features(grant.features);
  return message;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

Core::Core(const topo::Fabric& fabric, const topo::AggregationTree& tree, CoreRules rules)
    : rules_(rules), root_(tree.root) {
  for (const auto& node : tree.nodes) {
    node_by_name_[node.name] = nodes_.size();
    nodes_.push_back(Node{.name = node.name, .parent = node.parent});
  }
  for (std::size_t i = 0; i < fabric.hosts.size(); ++i) leaf_of_host_[fabric.hosts[i].name] = tree.leaf_of_host[i];
}

Core::Node* Core::registered(StreamId stream) {
  const auto found =
      std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) { return node.stream == stream; });
  return stream == 0 || found == nodes_.end() ? nullptr : &*found;
}

void Core::send(Actions& out, Node& node, NodeDown message) {
  message.set_sequence(++node.sent);
  out.push_back(ToNode{node.stream, std::move(message)});
}

void Core::send_parent(Actions& out, Node& child) {
  if (child.stream == 0 || child.parent < 0) return;
  const Node& parent = nodes_[static_cast<std::size_t>(child.parent)];
  if (parent.stream == 0) return;
  NodeDown message;
  message.mutable_parent()->set_node_id(id_of(static_cast<std::size_t>(child.parent)));
  message.mutable_parent()->set_name(parent.name);
  message.mutable_parent()->set_address(parent.who.address());
  send(out, child, std::move(message));
}

/// The root has registered: in the same life as before, or the tree is a new one.
void Core::note_root(Actions& out, const Node& root) {
  // 31 bits of the life, for the looks of it in people's logs; 0 is none.
  const auto id = std::max<std::uint32_t>(static_cast<std::uint32_t>(root.who.life() >> 33), 1);
  if (id == std::exchange(tree_id_, id)) return;
  for (const auto& [job_id, job] : jobs_)
    out.push_back(
        Say{LogLevel::warn, "JOBS",
            fmt::format("job_id_external: {} can't go on: the tree's root {} is a new process", job_id, root.name)});
  for (auto& node : nodes_) {
    if (node.stream == 0 || &node == &root) continue;
    NodeDown message;
    message.mutable_tree()->set_tree_id(tree_id_);
    send(out, node, std::move(message));
  }
}

Actions Core::node_registers(StreamId stream, const control::v1::Register& who, Time) {
  Actions out;
  const auto refuse = [&](Errc code, std::string text) {
    out.push_back(Say{LogLevel::error, "GENERAL", fmt::format("refused node {:.64}: {}", who.name(), text)});
    out.push_back(Refuse{stream, Error{code, std::move(text)}});
    return out;
  };
  if (who.version() != control::kControlVersion)
    return refuse(Errc::unsupported,
                  fmt::format("it speaks version {} of the control messages, the manager {}: install the same "
                              "version everywhere",
                              who.version(), control::kControlVersion));
  const auto found = node_by_name_.find(who.name());
  if (found == node_by_name_.end()) {
    std::vector<std::string> known;
    for (const auto& node : nodes_) known.push_back(node.name);
    return refuse(Errc::not_found,
                  fmt::format("the fabric has no node of that name: --name is one of {}", join(known).substr(0, 400)));
  }
  if (who.address().empty() || who.address().size() >= wire::kAddressMax)
    return refuse(Errc::invalid, fmt::format("its address has {} bytes, legal are 1 to {}", who.address().size(),
                                             wire::kAddressMax - 1));
  if (who.osts() == 0 || who.groups() == 0 || who.groups() > 0xFFFF || who.payload_max() == 0 ||
      who.payload_max() > wire::kPayloadMax)
    return refuse(Errc::invalid, fmt::format("its capacity makes no sense: {} OSTs, {} groups, payload {}", who.osts(),
                                             who.groups(), who.payload_max()));
  Node& node = nodes_[found->second];
  if (node.stream != 0)
    return refuse(Errc::exists, fmt::format("node {} is registered already, by pid {} at {}: stop one of the two",
                                            node.name, node.who.pid(), node.who.address()));

  node.stream = stream;
  node.who = who;
  node.sent = 0;
  node.link_up = false;
  node.link_why = "not connected yet";
  out.push_back(Say{LogLevel::info, "GENERAL",
                    fmt::format("node {} registered: node id {}, {}, {} OSTs, {} groups", node.name,
                                id_of(found->second), who.address(), who.osts(), who.groups())});
  if (found->second == root_) note_root(out, node);
  NodeDown message;
  auto* registered = message.mutable_registered();
  registered->set_node_id(id_of(found->second));
  registered->set_tree_id(tree_id_);
  registered->set_is_root(found->second == root_);
  // All of them run: a job that was still beginning when this node was away has been refused.
  for (const auto& [id, job] : jobs_)
    if (job.tree_id == tree_id_) *registered->add_grants() = grant_message(id, job.grant);
  send(out, node, std::move(message));
  send_parent(out, node);
  for (auto& child : nodes_)
    if (child.parent >= 0 && static_cast<std::size_t>(child.parent) == found->second) send_parent(out, child);
  return out;
}

Actions Core::node_acks(StreamId stream, std::uint64_t sequence, Time now) {
  Actions out;
  Node* node = registered(stream);
  if (node == nullptr) return out;
  if (sequence == 0 || sequence > node->sent) {
    out.push_back(
        Refuse{stream, Error{Errc::invalid, fmt::format("acknowledged {}, only {} was sent", sequence, node->sent)}});
    return out;
  }
  const auto index = static_cast<std::size_t>(node - nodes_.data());
  for (auto& [id, job] : jobs_)
    if (job.wait_for[index] == sequence) job.wait_for[index] = 0;
  finish_ready(out, now);
  return out;
}

Actions Core::node_defers(StreamId stream, const control::v1::Deferred& deferred) {
  Actions out;
  Node* node = registered(stream);
  if (node == nullptr) return out;
  const auto index = static_cast<std::size_t>(node - nodes_.data());
  for (auto& [id, job] : jobs_) {
    if (deferred.sequence() == 0 || job.wait_for[index] != deferred.sequence()) continue;
    job.deferred = fmt::format("node {}: {:.300}", node->name, deferred.why());
    out.push_back(Say{LogLevel::info, "JOBS", fmt::format("job_id_external: {} waits for {}", id, job.deferred)});
  }
  return out;
}

Actions Core::node_link(StreamId stream, const control::v1::Link& link, Time now) {
  Actions out;
  Node* node = registered(stream);
  if (node == nullptr || node->parent < 0) return out;
  if (node->link_up != link.up()) {
    const auto& parent = nodes_[static_cast<std::size_t>(node->parent)].name;
    out.push_back(link.up() ? Say{LogLevel::info, "GENERAL",
                                  fmt::format("node {} is connected to its parent {}", node->name, parent)}
                            : Say{LogLevel::warn, "GENERAL",
                                  fmt::format("node {} lost its parent {}: {:.200}", node->name, parent, link.why())});
  }
  node->link_up = link.up();
  node->link_why = link.why().substr(0, 300);
  finish_ready(out, now);
  return out;
}

Actions Core::node_stream_ended(StreamId stream, Time) {
  Actions out;
  Node* node = registered(stream);
  if (node == nullptr) return out;
  node->stream = 0;
  node->link_up = false;
  std::vector<std::uint64_t> waiting;
  std::string running;
  for (const auto& [id, job] : jobs_) {
    if (!job.granted)
      waiting.push_back(id);
    else
      running += fmt::format(" {}", id);
  }
  out.push_back(Say{LogLevel::warn, "GENERAL",
                    fmt::format("node {} is down: its stream ended; jobs on it:{}", node->name,
                                running.empty() ? " none" : running)});
  for (const auto id : waiting) {
    const Job job = jobs_.extract(id).mapped();
    const std::string why =
        fmt::format("node {} went down while the job began: start it again, see its log", node->name);
    revoke(out, job, why);
    refuse_job(out, job.stream, job.id, why);
  }
  return out;
}

Result<Core::Job> Core::admit(const control::v1::JobBegin& begin) const {
  if (begin.version() != control::kControlVersion)
    return fail(Errc::unsupported,
                "sharpd speaks version {} of the control messages, the manager {}: install the same version "
                "everywhere",
                begin.version(), control::kControlVersion);
  if (const auto old = jobs_.find(begin.job_id()); old != jobs_.end())
    return fail(Errc::exists, "job id {} is running already (begun by {}): choose another", begin.job_id(),
                old->second.holder);
  if (begin.hosts().empty()) return fail(Errc::invalid, "the job names no host");
  if (begin.world_size() < static_cast<std::uint32_t>(begin.hosts_size()))
    return fail(Errc::invalid, "{} ranks can't be on {} hosts", begin.world_size(), begin.hosts_size());
  Job job;
  job.id = begin.job_id();
  job.holder = begin.holder().substr(0, 200);
  std::set<std::string_view> seen;
  for (const auto& host : begin.hosts()) {
    const auto leaf = leaf_of_host_.find(host);
    if (leaf == leaf_of_host_.end())
      return fail(Errc::not_found,
                  "host {:.64} is not in the fabric: add it to sharp_am's fabric file, or give its sharpd --host NAME",
                  host);
    if (!seen.insert(host).second) return fail(Errc::invalid, "host {:.64} is named twice", host);
    job.leaves.push_back(leaf->second);
  }
  std::vector<std::string> absent;
  for (const auto& node : nodes_)
    if (node.stream == 0) absent.push_back(node.name);
  if (absent.size() == 1)
    return fail(Errc::lost, "node {} has not registered: start its sharp_an, or see its log", absent[0]);
  if (!absent.empty())
    return fail(Errc::lost, "nodes {} have not registered: start their sharp_an, or see their logs",
                join(absent).substr(0, 300));
  const auto& asked = begin.wish();
  const Wish wish{asked.osts(),    asked.payload_per_ost(),    asked.max_groups(),
                  asked.max_qps(), asked.max_group_channels(), asked.num_trees(),
                  begin.features()};
  auto grant = allocate(rules_.quota, capacity(), usage(), wish);
  if (!grant) return tl::unexpected(grant.error());
  job.grant = *grant;
  return job;
}

Actions Core::job_begins(StreamId stream, const control::v1::JobBegin& begin, Time now) {
  Actions out;
  const auto& wish = begin.wish();
  out.push_back(
      Say{LogLevel::info, "JOBS",
          fmt::format(
              "begin job: job_id_external: {} requested qps: {} user_data_per_ost: {} osts: {} groups: {} trees: {} "
              "req_feature_mask: {:#x} hosts: {} ranks: {} by {:.200}",
              begin.job_id(), wish.max_qps(), wish.payload_per_ost(), wish.osts(), wish.max_groups(), wish.num_trees(),
              begin.features(), begin.hosts_size(), begin.world_size(), begin.holder())});
  auto admitted = admit(begin);
  if (!admitted) {
    refuse_job(out, stream, begin.job_id(), admitted.error().context);
    return out;
  }
  Job& job = jobs_[begin.job_id()] = *std::move(admitted);
  job.number = ++last_number_;
  job.stream = stream;
  job.tree_id = tree_id_;
  job.begun = now;
  job.deadline = deadline_after(now, rules_.grant_timeout);
  for (auto& node : nodes_) {
    NodeDown message;
    *message.mutable_grant() = grant_message(job.id, job.grant);
    send(out, node, std::move(message));
    job.wait_for.push_back(node.sent);
  }
  out.push_back(
      Say{LogLevel::info, "JOBS",
          fmt::format("job_id_external: {} job_id_sharp: {} allocation: {{ q:{}, ud:{} o:{} g:{} }} w:{} tree_id: {}",
                      job.id, job.number, job.grant.max_qps, job.grant.payload_per_ost, job.grant.osts,
                      job.grant.max_groups, job.grant.stream_window, job.tree_id)});
  return out;
}

void Core::refuse_job(Actions& out, StreamId stream, std::uint64_t job_id, const std::string& text) {
  out.push_back(
      Say{LogLevel::error, "JOBS", fmt::format("Begin job id: {} failed with status: No resource: {}", job_id, text)});
  JobDown message;
  message.mutable_refused()->set_status(kStatusJobError);
  message.mutable_refused()->set_text(text);
  out.push_back(ToJob{stream, std::move(message), true});
}

void Core::revoke(Actions& out, const Job& job, const std::string& why) {
  for (auto& node : nodes_) {
    if (node.stream == 0) continue;
    NodeDown message;
    message.mutable_revoke()->set_job_id(job.id);
    message.mutable_revoke()->set_why(why);
    send(out, node, std::move(message));
  }
}

std::string Core::missing_for(const Job& job) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (job.wait_for[i] != 0) {
      if (!job.deferred.empty())
        return fmt::format("{}: ranks of a former job still hold them: wait until they end, or ask for less",
                           job.deferred);
      return fmt::format(
          "node {} has not acknowledged the grant in {} ms: is its process stopped, or its machine overloaded?",
          nodes_[i].name, std::chrono::duration_cast<Millis>(rules_.grant_timeout).count());
    }
  for (const auto& node : nodes_)
    if (node.parent >= 0 && !node.link_up) {
      const auto& parent = nodes_[static_cast<std::size_t>(node.parent)];
      return fmt::format("node {} is not connected to its parent {} at {}: {}", node.name, parent.name,
                         parent.who.address(), node.link_why);
    }
  return {};
}

void Core::finish_ready(Actions& out, Time) {
  for (auto& [id, job] : jobs_) {
    if (job.granted || !missing_for(job).empty()) continue;
    job.granted = true;
    JobDown message;
    *message.mutable_granted() = granted_message(job);
    out.push_back(ToJob{job.stream, std::move(message), false});
    out.push_back(
        Say{LogLevel::info, "JOBS",
            fmt::format("job_id_external: {} job_id_sharp: {} runs on {} nodes", id, job.number, nodes_.size())});
  }
}

control::v1::JobGranted Core::granted_message(const Job& job) const {
  control::v1::JobGranted message;
  auto* grant = message.mutable_grant();
  grant->set_osts(job.grant.osts);
  grant->set_payload_per_ost(job.grant.payload_per_ost);
  grant->set_max_groups(job.grant.max_groups);
  grant->set_max_qps(job.grant.max_qps);
  grant->set_max_group_channels(job.grant.max_group_channels);
  grant->set_num_trees(job.grant.num_trees);
  message.set_tree_id(job.tree_id);
  message.set_tree_index(0);
  message.set_tree_count(1);
  message.set_root_node(id_of(root_));
  message.set_stream_window(job.grant.stream_window);
  message.set_chunk_bytes(job.grant.chunk_bytes);
  message.set_features(job.grant.features);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    auto* node = message.add_nodes();
    node->set_node_id(id_of(i));
    node->set_parent_id(nodes_[i].parent < 0 ? id_of(i) : id_of(static_cast<std::size_t>(nodes_[i].parent)));
    node->set_name(nodes_[i].name);
    node->set_address(nodes_[i].who.address());
  }
  for (const auto leaf : job.leaves) message.add_leaves(id_of(leaf));
  return message;
}

Actions Core::job_ends(StreamId stream, Time) {
  Actions out;
  const auto found =
      std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& entry) { return entry.second.stream == stream; });
  if (found == jobs_.end()) {
    out.push_back(Refuse{stream, Error{Errc::invalid, "end of a job that this stream has not begun"}});
    return out;
  }
  const Job job = std::move(found->second);
  jobs_.erase(found);
  revoke(out, job, "the job ended");
  JobDown message;
  message.mutable_ended()->set_why("ended by its owner");
  out.push_back(ToJob{stream, std::move(message), true});
  out.push_back(
      Say{LogLevel::info, "JOBS", fmt::format("end job: job_id_external: {} job_id_sharp: {}", job.id, job.number)});
  return out;
}

Actions Core::job_stream_ended(StreamId stream, Time) {
  Actions out;
  const auto found =
      std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& entry) { return entry.second.stream == stream; });
  if (found == jobs_.end()) return out;
  const Job job = std::move(found->second);
  jobs_.erase(found);
  revoke(out, job, "the job's owner is gone");
  out.push_back(Say{LogLevel::warn, "JOBS",
                    fmt::format("job_id_external: {} job_id_sharp: {} released: {} is gone without ending it", job.id,
                                job.number, job.holder)});
  return out;
}

Actions Core::tick(Time now) {
  Actions out;
  std::vector<std::uint64_t> late;
  for (const auto& [id, job] : jobs_)
    if (!job.granted && job.deadline <= now) late.push_back(id);
  for (const auto id : late) {
    const Job job = jobs_.extract(id).mapped();
    const auto why = missing_for(job);
    revoke(out, job, why);
    refuse_job(out, job.stream, job.id, why);
  }
  return out;
}

Time Core::next_deadline() const {
  Time next = kNever;
  for (const auto& [id, job] : jobs_)
    if (!job.granted) next = std::min(next, job.deadline);
  return next;
}

Capacity Core::capacity() const {
  Capacity least{UINT32_MAX, UINT32_MAX, UINT32_MAX};
  for (const auto& node : nodes_) {
    if (node.stream == 0) continue;
    least.osts = std::min(least.osts, node.who.osts());
    least.groups = std::min(least.groups, node.who.groups());
    least.payload_max = std::min(least.payload_max, node.who.payload_max());
  }
  return least;
}

Usage Core::usage() const {
  Usage sum;
  for (const auto& [id, job] : jobs_) {
    sum.osts += job.grant.osts;
    sum.groups += job.grant.max_groups;
  }
  return sum;
}

}  // namespace sumac::manager
