#pragma once
// The messages by which sharpd answers the begin of a job, made from a few facts.
#include <string>
#include <vector>

#include "wire/host_codec.hpp"

namespace sumac::client::test {

/// Two hosts; two trees, the first with a root and a leaf, the second with the leaf's process alone.
struct Answer {
  struct Node {
    NodeId node_id{}, parent_id{};
    std::string name{}, address{};
  };
  struct Tree {
    wire::JobTreeBody body{};
    std::vector<Node> nodes{};
    std::vector<NodeId> host_leaf{};
  };

  JobId job_id{42};
  wire::JobGrantedBody granted{.quota = {51, 128, 51, 1, 1, 2, 16, 65536, 1}};
  std::vector<Tree> trees{
      {{.tree_id = TreeId{5}, .root_node = NodeId{1}, .delay_ns = 2'000},
       {{NodeId{1}, NodeId{1}, "an-root", "tcp:10.0.0.1:7000"}, {NodeId{2}, NodeId{1}, "an-leaf", "tcp:10.0.0.2:7000"}},
       {NodeId{2}, NodeId{1}}},
      {{.tree_id = TreeId{6}, .root_node = NodeId{2}, .rate_bits_per_s = 12'500'000'000, .member_nodes = 1},
       {{NodeId{2}, NodeId{2}, "an-leaf", "tcp:10.0.0.2:7001"}},
       {NodeId{2}, NodeId{2}}}};

  std::vector<wire::HostMessage> messages() const {
    auto body = granted;
    body.tree_count = static_cast<std::uint32_t>(trees.size());
    std::vector<wire::HostMessage> all{wire::host_message(wire::HostKind::job_granted, body, job_id)};
    const auto add = [&](std::vector<wire::HostMessage> list) { all.insert(all.end(), list.begin(), list.end()); };
    for (std::uint32_t i = 0; i < trees.size(); ++i) {
      auto tree = trees[i].body;
      tree.tree_index = i;
      tree.node_count = static_cast<std::uint32_t>(trees[i].nodes.size());
      all.push_back(wire::host_message(wire::HostKind::job_tree, tree, job_id));
      std::vector<wire::JobNodeEntry> nodes;
      for (const auto& node : trees[i].nodes) {
        nodes.push_back({node.node_id, node.parent_id, {}, {}});
        if (!wire::put_text(nodes.back().name, node.name) || !wire::put_text(nodes.back().address, node.address))
          return {};
      }
      add(wire::host_lists(wire::HostKind::job_node, nodes, job_id));
      std::vector<wire::JobLeafEntry> leaves;
      for (const auto leaf : trees[i].host_leaf) leaves.push_back({leaf});
      add(wire::host_lists(wire::HostKind::job_leaf, leaves, job_id));
    }
    return all;
  }
};

}  // namespace sumac::client::test
