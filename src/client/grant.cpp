#include "client/grant.hpp"

#include <algorithm>

#include "wire/agg.hpp"
#include "wire/host_codec.hpp"

namespace sumac::client {

using wire::HostKind;

std::uint32_t JobTree::connections() const {
  std::uint32_t most = 1;
  for (auto node = nodes.begin(); node != nodes.end(); ++node) {
    std::uint32_t count = 1;
    // The loop is bounded, because data from another process may have a cycle. Groups are refused then
    // (proto::compute_path).
    for (auto at = node; at->parent_id != at->node_id && count < wire::kPathMax; ++count) {
      const auto parent = std::ranges::find(nodes, at->parent_id, &proto::NodeParent::node_id);
      if (parent == nodes.end()) break;
      at = parent;
    }
    most = std::max(most, count);
  }
  return most;
}

const std::string* JobTree::address_of(NodeId node_id) const {
  const auto node = std::ranges::find(nodes, node_id, &proto::NodeParent::node_id);
  return node == nodes.end() ? nullptr : &node_address[static_cast<std::size_t>(node - nodes.begin())];
}

const std::string* JobTree::name_of(NodeId node_id) const {
  const auto node = std::ranges::find(nodes, node_id, &proto::NodeParent::node_id);
  return node == nodes.end() ? nullptr : &node_name[static_cast<std::size_t>(node - nodes.begin())];
}

bool GrantReader::whole() const noexcept {
  const auto& trees = grant_.trees;
  return !trees.empty() && trees.size() == grant_.job.tree_count && trees.back().host_leaf.size() == hosts_;
}

wire::HostHeader GrantReader::due() const noexcept {
  wire::HostHeader next;
  next.job_id = job_id_;
  const auto list = [&](HostKind kind, std::size_t index, std::uint32_t total) {
    next.kind = kind;
    next.index = static_cast<std::uint32_t>(index);
    next.total = total;
    next.entries = 1;
    return next;
  };
  next.kind = grant_.job.tree_count == 0 ? HostKind::job_granted : HostKind::job_tree;
  if (grant_.trees.empty()) return next;
  const auto& tree = grant_.trees.back();
  if (tree.nodes.size() < tree.body.node_count)
    return list(HostKind::job_node, tree.nodes.size(), tree.body.node_count);
  if (tree.host_leaf.size() < hosts_) return list(HostKind::job_leaf, tree.host_leaf.size(), hosts_);
  return next;
}

Result<> GrantReader::read(const wire::HostMessage& message) {
  const auto& header = message.header;
  if (whole()) return fail(Errc::invalid, "{} came after the whole grant", wire::describe(header));
  const auto next = due();
  if (header.kind != next.kind || header.job_id != next.job_id || header.index != next.index ||
      header.total != next.total)
    return fail(Errc::invalid, "{} came where {} was due", wire::describe(header), wire::describe(next));
  switch (header.kind) {
    case HostKind::job_granted: grant_.job = wire::host_entry<wire::JobGrantedBody>(message); return {};
    case HostKind::job_tree: {
      const auto body = wire::host_entry<wire::JobTreeBody>(message);
      if (body.tree_index != grant_.trees.size())
        return fail(Errc::invalid, "tree {} came where tree {} was due", body.tree_index, grant_.trees.size());
      grant_.trees.push_back({.body = body});
      return {};
    }
    case HostKind::job_node: {
      auto& tree = grant_.trees.back();
      for (std::uint32_t i = 0; i < header.entries; ++i) {
        const auto node = wire::host_entry<wire::JobNodeEntry>(message, i);
        tree.nodes.push_back({node.node_id, node.parent_id});
        tree.node_name.emplace_back(wire::get_text(node.name));
        tree.node_address.emplace_back(wire::get_text(node.address));
      }
      return {};
    }
    default:
      for (std::uint32_t i = 0; i < header.entries; ++i)
        grant_.trees.back().host_leaf.push_back(wire::host_entry<wire::JobLeafEntry>(message, i).node_id);
      return {};
  }
}

}  // namespace sumac::client
