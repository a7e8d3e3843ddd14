#include "topo/forest.hpp"

#include <algorithm>

#include "topo/tree_builder.hpp"

namespace sumac::topo {

namespace {

/// Follows one tree through a change of the fabric.
class Follower {
 public:
  Follower(const Fabric& fabric, const AggregationTree& old, TreeBuilder& builder, std::uint32_t turn)
      : fabric_(fabric), old_(old), builder_(builder), turn_(turn), works_(fabric.nodes.size(), false) {
    for (std::uint32_t i = 0; i < old.nodes.size(); ++i) works_[i] = !old.nodes[i].children.empty();
    for (const auto leaf : old.leaf_of_host)
      if (leaf != kNone) works_[leaf] = true;
  }

  /// Appends the changed tree, if there is one, and the record of its change.
  void follow(ForestUpdate& update) {
    TreeChange change{old_.id, old_.id};
    auto tree = builder_.usable(old_.root) ? repair(change) : Result<AggregationTree>(fail(Errc::lost, "the root"));
    if (!tree) {
      change = {old_.id, old_.id};
      tree = rebuild();
      change.fate = tree ? Fate::rebuilt : Fate::lost;
      if (tree) {
        compare(*tree, change);
      } else {
        for (std::uint32_t i = 0; i < works_.size(); ++i)
          if (works_[i]) change.gone.push_back(i);
      }
    }
    if (change.fate == Fate::lost) {
      change.after = 0;
    } else {
      if (change.fate != Fate::kept && change.fate != Fate::extended) change.after = update.forest.next_id++;
      tree->id = change.after;
      update.forest.trees.push_back(std::move(*tree));
    }
    update.changes.push_back(std::move(change));
  }

 private:
  Result<AggregationTree> rebuild() {
    const auto planes = builder_.planes();
    if (planes.empty()) return fail(Errc::not_found, "no node is up");
    const auto count = static_cast<std::uint32_t>(planes.size());
    auto draft = builder_.grow(planes[turn_ % count], turn_ / count);
    if (!draft) return tl::unexpected(draft.error());
    return builder_.finish(std::move(*draft), 0);
  }

  bool sound(std::uint32_t node) const {  // its route to its parent is unchanged
    const auto parent = static_cast<std::uint32_t>(old_.nodes[node].parent);
    return builder_.usable(node) && builder_.usable(parent) &&
           builder_.follow(builder_.switch_of_node(node), old_.nodes[node].route) == builder_.switch_of_node(parent);
  }
  bool served(std::uint32_t host) const {
    const auto leaf = old_.leaf_of_host[host];
    return leaf != kNone && builder_.usable(leaf) &&
           builder_.follow(builder_.switch_of_port(host, old_.port_of_host[host]), old_.route_of_host[host]) ==
               builder_.switch_of_node(leaf);
  }

  Result<AggregationTree> repair(TreeChange& change) {
    const auto plane = builder_.graph().plane_of(builder_.switch_of_node(old_.root));
    auto draft = builder_.blank(plane, turn_);
    draft.root = old_.root;
    std::vector<Flow> flows;
    const auto here = [&](std::uint32_t at) { return at != kNone && builder_.graph().plane_of(at) == plane; };
    for (std::uint32_t i = 0; i < old_.nodes.size(); ++i) {
      if (!old_.nodes[i].in_tree || i == old_.root) continue;
      if (sound(i)) {
        draft.parent[i] = static_cast<std::uint32_t>(old_.nodes[i].parent);
        draft.route[i] = old_.nodes[i].route;
        ++draft.slots[draft.parent[i]];
      } else if (works_[i] && here(builder_.switch_of_node(i))) {
        flows.push_back({false, i});
      }
    }
    for (std::uint32_t host = 0; host < draft.leaf.size(); ++host) {
      if (host < old_.leaf_of_host.size() && served(host) &&
          here(builder_.switch_of_port(host, old_.port_of_host[host]))) {
        draft.port[host] = old_.port_of_host[host];
        draft.host_switch[host] = builder_.switch_of_port(host, draft.port[host]);
        draft.leaf[host] = old_.leaf_of_host[host];
        draft.host_route[host] = old_.route_of_host[host];
        if (fabric_.hosts[host].compute) ++draft.slots[draft.leaf[host]];
      } else if (draft.host_switch[host] != kNone && fabric_.hosts[host].compute) {
        flows.push_back({true, host});
      }
    }
    builder_.reckon_links(draft);
    if (!flows.empty()) {
      std::vector<std::uint32_t> helpers;
      for (std::uint32_t i = 0; i < draft.parent.size(); ++i)
        if (builder_.usable(i) && here(builder_.switch_of_node(i)) && draft.links[i] == kNone &&
            draft.parent[i] == kNone &&
            std::none_of(flows.begin(), flows.end(), [&](const Flow& f) { return !f.is_host && f.index == i; }))
          helpers.push_back(i);
      if (auto ok = builder_.attach(draft, std::move(flows), std::move(helpers)); !ok)
        return tl::unexpected(ok.error());
    }
    builder_.attach_idle(draft);
    take_home(draft);
    auto tree = builder_.finish(std::move(draft), old_.id);
    compare(tree, change);
    return tree;
  }

  /// Moves hosts that were served by a remote node, because their switch had none, to a node that has come to their
  /// switch.
  void take_home(Draft& draft) const {
    std::vector<std::uint32_t> fresh(fabric_.switches.size(), kNone);
    for (std::uint32_t i = 0; i < draft.parent.size(); ++i) {
      const bool was = i < old_.nodes.size() && old_.nodes[i].in_tree;
      if (!was && draft.parent[i] != kNone) fresh[builder_.switch_of_node(i)] = i;
    }
    for (std::uint32_t host = 0; host < draft.leaf.size(); ++host) {
      const auto at = draft.host_switch[host];
      const auto leaf = draft.leaf[host];
      if (at == kNone || leaf == kNone || fresh[at] == kNone || draft.host_route[host].empty()) continue;
      const auto node = fresh[at];
      if (builder_.free_slots(draft, node) == 0 ||
          draft.links[node] > draft.links[leaf] + draft.host_route[host].size())
        continue;
      if (fabric_.hosts[host].compute) {
        --draft.slots[leaf];
        ++draft.slots[node];
      }
      draft.leaf[host] = node;
      draft.host_route[host].clear();
    }
  }

  void compare(const AggregationTree& now, TreeChange& change) const {
    bool same = now.root == old_.root && now.nodes.size() == old_.nodes.size() &&
                now.leaf_of_host == old_.leaf_of_host && now.route_of_host == old_.route_of_host;
    for (std::uint32_t i = 0; i < old_.nodes.size(); ++i) {
      const auto& before = old_.nodes[i];
      const auto& after = now.nodes[i];
      const bool moved = before.parent != after.parent || before.route != after.route;
      same = same && before.in_tree == after.in_tree && !moved;
      if (!before.in_tree || !works_[i]) continue;
      if (!after.in_tree) {
        change.gone.push_back(i);
      } else if (moved) {
        change.reparented.push_back(i);
      }
    }
    for (std::uint32_t host = 0; host < old_.leaf_of_host.size(); ++host) {
      if (old_.leaf_of_host[host] == kNone || !fabric_.hosts[host].up) continue;
      const bool away = now.root != old_.root && now.leaf_of_host[host] != old_.leaf_of_host[host];
      if (away || !served(host) || now.leaf_of_host[host] == kNone) change.moved.push_back(host);
    }
    if (change.fate == Fate::rebuilt) return;
    const bool noticed = !change.gone.empty() || !change.reparented.empty() || !change.moved.empty();
    change.fate = same ? Fate::kept : noticed ? Fate::repaired : Fate::extended;
  }

  const Fabric& fabric_;
  const AggregationTree& old_;
  TreeBuilder& builder_;
  std::uint32_t turn_;
  std::vector<bool> works_;  ///< [node]: it had children or hosts.
};

}  // namespace

Result<Forest> build_forest(const Fabric& fabric, const TreeOptions& options) {
  auto trees = build_trees(fabric, options);
  if (!trees) return tl::unexpected(trees.error());
  const auto next = static_cast<std::uint32_t>(trees->size() + 1);
  return Forest{std::move(*trees), next};
}

ForestUpdate update_forest(const Fabric& fabric, const Forest& forest, const TreeOptions& options) {
  ForestUpdate update;
  update.forest.next_id = forest.next_id;
  const TreeBuilder blank(fabric, options);
  for (std::uint32_t i = 0; i < forest.trees.size(); ++i) {
    // The other trees count with their present loads; trees that have not followed yet count with their old loads.
    auto builder = blank;
    for (const auto& tree : update.forest.trees) builder.account(tree);
    for (std::uint32_t later = i + 1; later < forest.trees.size(); ++later) builder.account(forest.trees[later]);
    Follower(fabric, forest.trees[i], builder, i).follow(update);
  }
  return update;
}

}  // namespace sumac::topo
