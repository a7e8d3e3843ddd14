// The nodes: who is registered, what they were sent and have acknowledged, and the links between them.
#include <algorithm>
#include <utility>

#include "control/command_line.hpp"
#include "manager/core.hpp"
#include "manager/core_messages.hpp"
#include "wire/agg.hpp"
#include "wire/host.hpp"

namespace sumac::manager {

using control::v1::NodeDown;

Core::Node* Core::registered(StreamId stream) {
  const auto found = node_by_stream_.find(stream);
  return found == node_by_stream_.end() ? nullptr : &nodes_[found->second];
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
  if (auto saved = journal_.set_tree(fabric_text_, id); !saved)
    out.push_back(
        Say{LogLevel::error, "GENERAL", fmt::format("the tree's id could not be kept: {}", saved.error().context)});
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

Actions Core::node_registers(StreamId stream, const control::v1::Register& who, Time now) {
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
  if (!node_key_) {
    auto key = rules_.draw_secret();
    if (!key) return refuse(key.error().code, fmt::format("the manager can't draw a key: {}", key.error().context));
    node_key_ = *key;
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
  node_by_stream_[stream] = found->second;
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
  registered->set_node_key(node_key_->data(), node_key_->size());
  registered->set_node_id(id_of(found->second));
  registered->set_tree_id(tree_id_);
  registered->set_is_root(found->second == root_);
  // A job that was still beginning when this node was away has been refused.
  for (const auto& [id, job] : jobs_)
    if (job.granted && job.record.tree_id == tree_id_) *registered->add_grants() = grant_message(job.record);
  send(out, node, std::move(message));
  send_parent(out, node);
  for (auto& child : nodes_)
    if (child.parent >= 0 && static_cast<std::size_t>(child.parent) == found->second) send_parent(out, child);
  retry_held(out, now);
  return out;
}

Actions Core::node_acks(StreamId stream, std::uint64_t sequence, Time) {
  Actions out;
  Node* node = registered(stream);
  if (node == nullptr) return out;
  if (sequence == 0 || sequence > node->sent) {
    out.push_back(
        Refuse{stream, Error{Errc::invalid, fmt::format("acknowledged {}, only {} was sent", sequence, node->sent)}});
    return out;
  }
  const auto index = static_cast<std::size_t>(node - nodes_.data());
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    const auto job = at++;  // the job may be gone afterwards
    if (job->second.granted || job->second.wait_for[index] != sequence) continue;
    job->second.wait_for[index] = 0;
    finish_if_ready(out, job);
  }
  return out;
}

Actions Core::node_defers(StreamId stream, const control::v1::Deferred& deferred) {
  Actions out;
  Node* node = registered(stream);
  if (node == nullptr) return out;
  const auto index = static_cast<std::size_t>(node - nodes_.data());
  for (auto& [id, job] : jobs_) {
    if (job.granted || deferred.sequence() == 0 || job.wait_for[index] != deferred.sequence()) continue;
    job.deferred = fmt::format("node {}: {:.300}", node->name, deferred.why());
    out.push_back(Say{LogLevel::info, "JOBS", fmt::format("job_id_external: {} waits for {}", id, job.deferred)});
  }
  return out;
}

Actions Core::node_link(StreamId stream, const control::v1::Link& link, Time) {
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
  finish_ready(out);
  return out;
}

Actions Core::node_stream_ended(StreamId stream, Time) {
  Actions out;
  Node* node = registered(stream);
  if (node == nullptr) return out;
  node_by_stream_.erase(stream);
  node->stream = 0;
  node->link_up = false;
  std::string running;
  for (const auto& [id, job] : jobs_)
    if (job.granted) running += fmt::format(" {}", id);
  out.push_back(Say{LogLevel::warn, "GENERAL",
                    fmt::format("node {} is down: its stream ended; jobs on it:{}", node->name,
                                running.empty() ? " none" : running)});
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    const auto job = at++;
    if (!job->second.granted)
      fail_begin(out, job,
                 fmt::format("node {} went down while the job began: start it again, see its log", node->name));
  }
  return out;
}

std::string Core::missing_nodes() const {
  std::vector<std::string> absent;
  for (const auto& node : nodes_)
    if (node.in_tree && node.stream == 0) absent.push_back(node.name);
  if (absent.empty()) return {};
  if (absent.size() == 1)
    return fmt::format("node {} has not registered: start its sharp_an, or see its log", absent[0]);
  return fmt::format("nodes {} have not registered: start their sharp_an, or see their logs",
                     join(absent).substr(0, 300));
}

Capacity Core::capacity() const {
  Capacity least{UINT32_MAX, UINT32_MAX, UINT32_MAX};
  for (const auto& node : nodes_) {
    if (!node.in_tree || node.stream == 0) continue;
    least.osts = std::min(least.osts, node.who.osts());
    least.groups = std::min(least.groups, node.who.groups());
    least.payload_max = std::min(least.payload_max, node.who.payload_max());
  }
  return least;
}

}  // namespace sumac::manager
