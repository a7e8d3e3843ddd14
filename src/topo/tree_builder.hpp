#pragma once
// The common state of build_trees() and update_forest(): names resolved once, the load that trees have put on links and
// nodes so far, and a tree while it is being made.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "topo/switch_graph.hpp"
#include "topo/tree.hpp"

namespace sumac::topo {

/// A tree in the making: the parent of each node and host, and the used slots of each node.
struct Draft {
  std::uint32_t root = kNone;
  std::vector<std::uint32_t> parent;              ///< [node]; kNone: none yet, or the root.
  std::vector<std::vector<std::uint32_t>> route;  ///< [node]: links to the parent.
  std::vector<std::uint32_t> slots;               ///< [node]: its children and hosts.
  /// [node]: links from it to the root; kNone: no path to the root (yet).
  std::vector<std::uint32_t> links;
  std::vector<std::uint32_t> leaf;  ///< [host]: the node that serves it.
  std::vector<std::vector<std::uint32_t>> host_route;
  std::vector<std::uint32_t> port;         ///< [host]: the port that it uses.
  std::vector<std::uint32_t> host_switch;  ///< The switch of that port; kNone: not in this plane, or down.
};

/// Something that needs a parent: a node with everything below it, or a host.
struct Flow {
  bool is_host = false;
  std::uint32_t index = 0;
};

class TreeBuilder {
 public:
  TreeBuilder(const Fabric& fabric, const TreeOptions& options);

  /// Counts the loads of a tree that exists already.
  void account(const AggregationTree& tree);

  /// Builds a new tree of one plane; `turn` chooses among the ports that a host has in it.
  Result<Draft> grow(std::uint32_t plane, std::uint32_t turn);
  /// Returns the planes worth a tree: those with a node that serve at least half as many hosts as the best; best first.
  std::vector<std::uint32_t> planes() const;
  /// Returns an empty draft: hosts have their port and switch, nothing has a parent.
  Draft blank(std::uint32_t plane, std::uint32_t turn) const;

  /// Gives each flow a parent that has a free slot and a path to the root; `helpers` are nodes without parent so far
  /// that may be added when slots are short. tree_attach.cpp explains the order of the flows.
  Result<> attach(Draft& draft, std::vector<Flow> flows, std::vector<std::uint32_t> helpers);
  /// Gives nodes without children, and hosts that get no rank, a free slot if there is one.
  void attach_idle(Draft& draft);

  AggregationTree finish(Draft draft, std::uint32_t id) const;

  const SwitchGraph& graph() const { return graph_; }
  std::uint32_t switch_of_node(std::uint32_t node) const { return node_switch_[node]; }
  bool usable(std::uint32_t node) const { return node_switch_[node] != kNone; }
  std::uint32_t free_slots(const Draft& draft, std::uint32_t node) const {
    return radix_ == 0 ? kNone : radix_ - std::min(radix_, draft.slots[node]);
  }
  /// Returns the switch that these links lead to; kNone: a link is down, or they do not connect.
  std::uint32_t follow(std::uint32_t from, std::span<const std::uint32_t> links) const;
  /// Returns the switch of a host's port; kNone: down.
  std::uint32_t switch_of_port(std::uint32_t host, std::uint32_t port) const {
    return port < ports_of_host_[host].size() ? ports_of_host_[host][port] : kNone;
  }
  /// Computes Draft::links of all nodes from the parents and routes.
  void reckon_links(Draft& draft) const;
  /// Returns the children of each node in the draft.
  static std::vector<std::vector<std::uint32_t>> children_of(const Draft& draft);

 private:
  /// `spares_host_links`: nodes that share the link of a host take flows only as the root. `is_crowded`: this left the
  /// root with more children than it should have, and the draft must not be used.
  Result<Draft> grow(std::uint32_t plane, std::uint32_t turn, bool spares_host_links, bool& is_crowded);
  bool shares_host_link(std::uint32_t node) const { return node_host_[node] != kNone && rate_rank(node) != 0; }
  std::uint32_t choose_root(std::uint32_t plane, const Draft& draft) const;
  std::vector<std::uint32_t> heads_at(std::uint32_t at, std::uint32_t root) const;
  /// Returns the links from one switch to another that is `row` links away, over the least loaded ones.
  std::vector<std::uint32_t> route(std::uint32_t from, std::uint32_t to, const std::uint16_t* row) const;
  double load_with(std::uint32_t link, std::size_t streams) const;
  void add_load(std::span<const std::uint32_t> links, int streams);
  std::uint64_t rate_rank(std::uint32_t node) const;

  const Fabric& fabric_;
  std::uint32_t radix_;
  SwitchGraph graph_;
  std::vector<std::uint32_t> node_switch_;                 ///< [node]: its switch; kNone: not usable.
  std::vector<std::uint32_t> node_host_;                   ///< [node]: its host; kNone: at a switch.
  std::vector<std::vector<std::uint32_t>> nodes_at_;       ///< [switch]: usable nodes at it.
  std::vector<std::vector<std::uint32_t>> ports_of_host_;  ///< [host]: switch of each port; kNone: down or unknown.
  std::vector<bool> may_be_root_;                          ///< [node]: it may be a root; empty: any node may.
  std::vector<std::uint32_t> streams_;                     ///< [link]: streams of all accounted trees.
  std::vector<std::uint32_t> root_uses_;
  std::vector<std::uint32_t> inner_uses_;
};

}  // namespace sumac::topo
