#include "topo/test_tree_check.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <queue>
#include <unordered_map>

namespace sumac::topo {

namespace {

/// The fabric's names, looked up once.
class View {
 public:
  explicit View(const Fabric& fabric) : fabric_(fabric) {
    for (const auto& each : fabric.switches) up_[each.name] = each.up;
    for (const auto& each : fabric.hosts) hosts_[each.name] = &each;
  }

  /// Returns the name of the node's switch, or "" if it is down.
  std::string place(const Node& node) const {
    if (!node.up) return "";
    if (node.place.at_host.empty()) return if_up(node.place.at_switch);
    const auto* host = hosts_.at(node.place.at_host);
    return host->up ? if_up(host->leaf) : "";
  }
  std::string port(const Host& host, std::uint32_t number) const {
    return host.up ? if_up(number == 0 ? host.leaf : host.rails[number - 1].leaf) : "";
  }

  std::unordered_map<std::string, std::uint32_t> distances(const std::string& from) const {
    std::unordered_map<std::string, std::vector<std::string>> beside;
    for (const auto& link : fabric_.links)
      if (link.up && up_.at(link.a) && up_.at(link.b)) {
        beside[link.a].push_back(link.b);
        beside[link.b].push_back(link.a);
      }
    std::unordered_map<std::string, std::uint32_t> found{{from, 0}};
    std::queue<std::string> queue({from});
    for (; !queue.empty(); queue.pop())
      for (const auto& next : beside[queue.front()])
        if (found.emplace(next, found[queue.front()] + 1).second) queue.push(next);
    return found;
  }

  /// Returns the end of a route; "" if it is broken.
  std::string follow(std::string at, const std::vector<std::uint32_t>& links) const {
    for (const auto index : links) {
      const auto& link = fabric_.links[index];
      if (!link.up || (link.a != at && link.b != at)) return "";
      at = link.a == at ? link.b : link.a;
      if (!up_.at(at)) return "";
    }
    return at;
  }

 private:
  std::string if_up(const std::string& name) const {
    const auto at = up_.find(name);
    return at != up_.end() && at->second ? name : "";
  }

  const Fabric& fabric_;
  std::unordered_map<std::string, bool> up_;
  std::unordered_map<std::string, const Host*> hosts_;
};

std::uint32_t farthest(const Fabric& fabric, const View& view, std::uint32_t node) {
  const auto from = view.distances(view.place(fabric.nodes[node]));
  std::uint32_t most = 0;
  for (const auto& host : fabric.hosts)
    if (host.compute)
      if (const auto at = from.find(view.port(host, 0)); at != from.end()) most = std::max(most, at->second);
  return most;
}

}  // namespace

std::vector<bool> working_nodes(const Fabric& fabric, const AggregationTree& tree) {
  std::vector<bool> works(tree.nodes.size(), false);
  for (std::uint32_t host = 0; host < tree.leaf_of_host.size(); ++host)
    if (tree.leaf_of_host[host] != kNone && fabric.hosts[host].compute) works[tree.leaf_of_host[host]] = true;
  // From the leaves upwards: a node above a working one works too.
  for (bool again = true; again;) {
    again = false;
    for (const auto& node : tree.nodes)
      if (node.parent >= 0 && works[static_cast<std::size_t>(&node - tree.nodes.data())] &&
          !works[static_cast<std::size_t>(node.parent)]) {
        works[static_cast<std::size_t>(node.parent)] = true;
        again = true;
      }
  }
  return works;
}

std::uint32_t most_children(const Fabric& fabric, const AggregationTree& tree) {
  const auto works = working_nodes(fabric, tree);
  std::vector<std::uint32_t> count(tree.nodes.size(), 0);
  for (std::uint32_t i = 0; i < tree.nodes.size(); ++i)
    if (tree.nodes[i].parent >= 0 && works[i]) ++count[static_cast<std::size_t>(tree.nodes[i].parent)];
  for (std::uint32_t host = 0; host < tree.leaf_of_host.size(); ++host)
    if (tree.leaf_of_host[host] != kNone && fabric.hosts[host].compute) ++count[tree.leaf_of_host[host]];
  return *std::max_element(count.begin(), count.end());
}

bool same_tree(const AggregationTree& a, const AggregationTree& b) {
  if (a.root != b.root || a.leaf_of_host != b.leaf_of_host || a.port_of_host != b.port_of_host ||
      a.route_of_host != b.route_of_host || a.nodes.size() != b.nodes.size())
    return false;
  return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), [](const TreeNode& x, const TreeNode& y) {
    return x.name == y.name && x.parent == y.parent && x.depth == y.depth && x.children == y.children &&
           x.in_tree == y.in_tree && x.links_to_root == y.links_to_root && x.route == y.route;
  });
}

std::string check_tree(const Fabric& fabric, const AggregationTree& tree, const TreeLaw& law) {
  if (tree.nodes.size() != fabric.nodes.size() || tree.leaf_of_host.size() != fabric.hosts.size())
    return "the tree is not of this fabric";
  const View view(fabric);
  const auto root_at = view.place(fabric.nodes[tree.root]);
  if (root_at.empty() || tree.nodes[tree.root].parent != -1 || !tree.nodes[tree.root].in_tree)
    return "the root is none";
  const auto from_root = view.distances(root_at);
  std::vector<std::uint32_t> slots(tree.nodes.size(), 0);
  for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) {
    const auto& node = tree.nodes[i];
    const auto at = view.place(fabric.nodes[i]);
    if (!node.in_tree) {
      if (law.shortest && !at.empty() && from_root.contains(at)) return fmt::format("node {} is left out", node.name);
      if (node.parent != -1 || !node.children.empty()) return fmt::format("node {} is half out", node.name);
      continue;
    }
    if (at.empty()) return fmt::format("node {} is down", node.name);
    std::uint32_t links = 0;
    std::uint32_t depth = 0;
    for (auto up = i; up != tree.root; up = static_cast<std::uint32_t>(tree.nodes[up].parent)) {
      if (tree.nodes[up].parent < 0) return fmt::format("node {} has no way to the root", node.name);
      if (++depth > tree.nodes.size()) return fmt::format("node {} is in a loop", node.name);
      links += static_cast<std::uint32_t>(tree.nodes[up].route.size());
    }
    if (links != node.links_to_root || depth != node.depth) return fmt::format("node {} reckons wrongly", node.name);
    if (i == tree.root) continue;
    const auto parent = static_cast<std::uint32_t>(node.parent);
    ++slots[parent];
    const auto& siblings = tree.nodes[parent].children;
    if (std::count(siblings.begin(), siblings.end(), i) != 1)
      return fmt::format("node {} is not its parent's child", node.name);
    if (view.follow(at, node.route) != view.place(fabric.nodes[parent]))
      return fmt::format("node {} has no way to its parent", node.name);
  }
  for (std::uint32_t i = 0; i < tree.leaf_of_host.size(); ++i) {
    const auto& host = fabric.hosts[i];
    const auto leaf = tree.leaf_of_host[i];
    bool here = false;
    for (std::uint32_t number = 0; number <= host.rails.size(); ++number)
      here = here || from_root.contains(view.port(host, number));
    if (leaf == kNone) {
      if (here) return fmt::format("host {} is left out", host.name);
      continue;
    }
    if (!tree.nodes[leaf].in_tree) return fmt::format("host {} has a leaf that is not in the tree", host.name);
    const auto at = view.port(host, tree.port_of_host[i]);
    if (at.empty() || view.follow(at, tree.route_of_host[i]) != view.place(fabric.nodes[leaf]))
      return fmt::format("host {} has no way to its leaf", host.name);
    if (!host.compute) continue;
    ++slots[leaf];
    const auto links = tree.route_of_host[i].size() + tree.nodes[leaf].links_to_root;
    if (law.shortest && links != from_root.at(at))
      return fmt::format("host {} is {} links from the root, its way has {}", host.name, from_root.at(at), links);
  }
  for (std::uint32_t i = 0; i < slots.size(); ++i)
    if (law.radix != 0 && slots[i] > law.radix)
      return fmt::format("node {} has {} children, the radix is {}", tree.nodes[i].name, slots[i], law.radix);
  return "";
}

std::uint32_t farthest_host(const Fabric& fabric, std::uint32_t node) { return farthest(fabric, View(fabric), node); }

std::uint32_t least_farthest_host(const Fabric& fabric) {
  const View view(fabric);
  auto least = kNone;
  for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i)
    if (!view.place(fabric.nodes[i]).empty()) least = std::min(least, farthest(fabric, view, i));
  return least;
}

}  // namespace sumac::topo
