#pragma once
// The workshop behind build_trees() and update_forest(): names resolved once, the load that trees put on links and nodes
// so far, and a tree while it is being made.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "topo/switch_graph.hpp"
#include "topo/tree.hpp"

namespace sumac::topo {

/// A tree in the making: who is whose parent, and how full everybody is.
struct Draft {
  std::uint32_t root = kNone;
  std::vector<std::uint32_t> parent;              ///< Of each node; kNone: none yet, or the root.
  std::vector<std::vector<std::uint32_t>> route;  ///< Links to the parent.
  std::vector<std::uint32_t> slots;               ///< Children and hosts of each node.
  std::vector<std::uint32_t> links;               ///< From each node to the root; kNone: no way to the root (yet).
  std::vector<std::uint32_t> leaf;                ///< Of each host.
  std::vector<std::vector<std::uint32_t>> host_route;
  std::vector<std::uint32_t> port;         ///< Of each host.
  std::vector<std::uint32_t> host_switch;  ///< Where that port hangs; kNone: not in this plane, or down.
};

/// What needs a parent: a node with everything below it, or a host.
struct Flow {
  bool is_host = false;
  std::uint32_t index = 0;
};

class TreeBuilder {
 public:
  TreeBuilder(const Fabric& fabric, const TreeOptions& options);

  /// The trees that there are already: their loads count.
  void account(const AggregationTree& tree);

  /// A new tree of one plane; `turn` chooses among the ports that a host has in it.
  Result<Draft> grow(std::uint32_t plane, std::uint32_t turn);
  /// The planes worth a tree: those with a node, that serve at least half as many hosts as the best; best first.
  std::vector<std::uint32_t> planes() const;
  /// An empty draft: hosts know their port and switch, nobody has a parent.
  Draft blank(std::uint32_t plane, std::uint32_t turn) const;

  /// Gives each flow a parent that has a free slot and a way to the root; `helpers` are nodes without a place so far that
  /// may be put in where slots are short. In order of what is left after the first ones fill the root: see tree_attach.cpp.
  Result<> attach(Draft& draft, std::vector<Flow> flows, std::vector<std::uint32_t> helpers);
  /// Gives nodes without children, and hosts that get no rank, a place where one is free.
  void attach_idle(Draft& draft);

  AggregationTree finish(Draft draft, std::uint32_t id) const;

  const SwitchGraph& graph() const { return graph_; }
  std::uint32_t switch_of_node(std::uint32_t node) const { return node_switch_[node]; }
  bool usable(std::uint32_t node) const { return node_switch_[node] != kNone; }
  std::uint32_t free_slots(const Draft& draft, std::uint32_t node) const {
    return radix_ == 0 ? kNone : radix_ - std::min(radix_, draft.slots[node]);
  }
  /// Where one comes to from a switch over these links, all up; kNone: they don't hang together.
  std::uint32_t follow(std::uint32_t from, std::span<const std::uint32_t> links) const;
  /// The switch of a host's port; kNone: down.
  std::uint32_t switch_of_port(std::uint32_t host, std::uint32_t port) const {
    return port < ports_of_host_[host].size() ? ports_of_host_[host][port] : kNone;
  }
  /// Draft::links of all nodes, from what the parents and routes say.
  void reckon_links(Draft& draft) const;
  /// Children of each node in the draft.
  static std::vector<std::vector<std::uint32_t>> children_of(const Draft& draft);

 private:
  /// `spares_host_links`: nodes that share the link of a host take nothing but as the root. `is_crowded`: that left the root
  /// with more children than it should have, and the draft is none.
  Result<Draft> grow(std::uint32_t plane, std::uint32_t turn, bool spares_host_links, bool& is_crowded);
  bool shares_host_link(std::uint32_t node) const { return node_host_[node] != kNone && rate_rank(node) != 0; }
  std::uint32_t choose_root(std::uint32_t plane, const Draft& draft) const;
  std::vector<std::uint32_t> heads_at(std::uint32_t at, std::uint32_t root) const;
  /// Links from one switch to another that is `row` links away, by the least loaded ones.
  std::vector<std::uint32_t> route(std::uint32_t from, std::uint32_t to, const std::uint16_t* row) const;
  double load_with(std::uint32_t link, std::size_t streams) const;
  void add_load(std::span<const std::uint32_t> links, int streams);
  std::uint64_t rate_rank(std::uint32_t node) const;

  const Fabric& fabric_;
  std::uint32_t radix_;
  SwitchGraph graph_;
  std::vector<std::uint32_t> node_switch_;                 ///< kNone: not usable.
  std::vector<std::uint32_t> node_host_;                   ///< kNone: at a switch.
  std::vector<std::vector<std::uint32_t>> nodes_at_;       ///< Usable ones, by switch.
  std::vector<std::vector<std::uint32_t>> ports_of_host_;  ///< Switch of each port; kNone: down or unknown.
  std::vector<bool> may_be_root_;                          ///< Empty: all.
  std::vector<std::uint32_t> streams_;                     ///< On each link, of all trees accounted.
  std::vector<std::uint32_t> root_uses_;
  std::vector<std::uint32_t> inner_uses_;
};

}  // namespace sumac::topo
