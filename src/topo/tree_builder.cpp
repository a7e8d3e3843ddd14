#include "topo/tree_builder.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace sumac::topo {

TreeBuilder::TreeBuilder(const Fabric& fabric, const TreeOptions& options)
    : fabric_(fabric),
      radix_(options.radix),
      graph_(fabric),
      nodes_at_(fabric.switches.size()),
      streams_(fabric.links.size(), 0),
      root_uses_(fabric.nodes.size(), 0),
      inner_uses_(fabric.nodes.size(), 0) {
  const auto usable_switch = [&](const std::string& name) {
    const auto at = graph_.find(name);
    return at != kNone && fabric.switches[at].up ? at : kNone;
  };
  std::unordered_map<std::string_view, std::uint32_t> hosts;
  hosts.reserve(fabric.hosts.size());
  ports_of_host_.reserve(fabric.hosts.size());
  for (std::uint32_t i = 0; i < fabric.hosts.size(); ++i) {
    const auto& host = fabric.hosts[i];
    hosts.emplace(host.name, i);
    auto& ports = ports_of_host_.emplace_back(1, host.up ? usable_switch(host.leaf) : kNone);
    for (const auto& rail : host.rails) ports.push_back(host.up ? usable_switch(rail.leaf) : kNone);
  }
  bool named = false;
  std::vector<bool> may(fabric.nodes.size(), false);
  for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
    const auto& node = fabric.nodes[i];
    const auto on_host = hosts.find(node.place.at_host);
    node_host_.push_back(node.place.at_host.empty() || on_host == hosts.end() ? kNone : on_host->second);
    node_switch_.push_back(!node.up                     ? kNone
                           : node.place.at_host.empty() ? usable_switch(node.place.at_switch)
                           : node_host_.back() == kNone ? kNone
                                                        : ports_of_host_[node_host_.back()][0]);
    if (!usable(i)) continue;
    nodes_at_[node_switch_[i]].push_back(i);
    const auto& at = fabric.switches[node_switch_[i]].name;
    may[i] = std::any_of(fabric.roots.begin(), fabric.roots.end(),
                         [&](const std::string& root) { return root == node.name || root == at; });
    named = named || may[i];
  }
  if (named) may_be_root_ = std::move(may);
}

std::uint64_t TreeBuilder::rate_rank(std::uint32_t node) const {
  const auto& said = fabric_.nodes[node].link_rate_bits_per_s;
  const auto rate = said ? *said : node_host_[node] == kNone ? 0 : fabric_.hosts[node_host_[node]].link.rate_bits_per_s;
  return rate == 0 ? 0 : ~rate;  // nodes without limit come first, then the fastest
}

double TreeBuilder::load_with(std::uint32_t link, std::size_t streams) const {
  constexpr double kNoLimit = 1e15;  // a link without limit is chosen by its streams alone
  const auto rate = fabric_.links[link].spec.rate_bits_per_s;
  return static_cast<double>(streams_[link] + streams) / (rate == 0 ? kNoLimit : static_cast<double>(rate));
}

void TreeBuilder::add_load(std::span<const std::uint32_t> links, int streams) {
  for (const auto link : links) streams_[link] += static_cast<std::uint32_t>(streams);
}

void TreeBuilder::account(const AggregationTree& tree) {
  ++root_uses_[tree.root];
  std::vector<bool> works(tree.nodes.size(), false);
  for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) works[i] = !tree.nodes[i].children.empty();
  for (std::size_t host = 0; host < tree.leaf_of_host.size(); ++host) {
    if (tree.leaf_of_host[host] == kNone) continue;
    works[tree.leaf_of_host[host]] = true;
    add_load(tree.route_of_host[host], 1);
  }
  for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) {
    if (!works[i]) continue;  // a node without work sends nothing
    ++inner_uses_[i];
    add_load(tree.nodes[i].route, 1);
  }
}

Draft TreeBuilder::blank(std::uint32_t plane, std::uint32_t turn) const {
  const auto nodes = fabric_.nodes.size();
  const auto hosts = fabric_.hosts.size();
  Draft draft;
  draft.parent.assign(nodes, kNone);
  draft.route.resize(nodes);
  draft.slots.assign(nodes, 0);
  draft.links.assign(nodes, kNone);
  draft.leaf.assign(hosts, kNone);
  draft.host_route.resize(hosts);
  draft.port.assign(hosts, 0);
  draft.host_switch.assign(hosts, kNone);
  for (std::uint32_t host = 0; host < hosts; ++host) {
    const auto& ports = ports_of_host_[host];
    const auto here = [&](std::uint32_t at) { return at != kNone && graph_.plane_of(at) == plane; };
    const auto count = static_cast<std::uint32_t>(std::count_if(ports.begin(), ports.end(), here));
    if (count == 0) continue;
    auto skip = turn % count;
    for (std::uint32_t port = 0; port < ports.size(); ++port) {
      if (!here(ports[port]) || skip-- != 0) continue;
      draft.port[host] = port;
      draft.host_switch[host] = ports[port];
      break;
    }
  }
  return draft;
}

std::vector<std::uint32_t> TreeBuilder::planes() const {
  struct Plane {
    std::uint32_t index, hosts;
  };
  std::vector<std::uint32_t> hosts(graph_.plane_count(), 0);
  for (std::uint32_t i = 0; i < ports_of_host_.size(); ++i) {
    if (!fabric_.hosts[i].compute) continue;
    std::vector<std::uint32_t> mine;
    for (const auto at : ports_of_host_[i])
      if (at != kNone) mine.push_back(graph_.plane_of(at));
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    for (const auto plane : mine) ++hosts[plane];
  }
  std::vector<bool> has_node(graph_.plane_count(), false);
  for (const auto at : node_switch_)
    if (at != kNone) has_node[graph_.plane_of(at)] = true;
  std::vector<Plane> found;
  for (std::uint32_t plane = 0; plane < graph_.plane_count(); ++plane)
    if (has_node[plane]) found.push_back({plane, hosts[plane]});
  std::stable_sort(found.begin(), found.end(), [](const Plane& a, const Plane& b) { return a.hosts > b.hosts; });
  std::vector<std::uint32_t> best;
  for (const auto& plane : found)
    if (plane.hosts * 2 >= found.front().hosts) best.push_back(plane.index);
  return best;
}

std::uint32_t TreeBuilder::choose_root(std::uint32_t plane, const Draft& draft) const {
  std::vector<std::uint32_t> hosts_at(graph_.size(), 0);
  for (std::uint32_t host = 0; host < draft.host_switch.size(); ++host)
    if (draft.host_switch[host] != kNone && fabric_.hosts[host].compute) ++hosts_at[draft.host_switch[host]];
  std::vector<std::uint32_t> candidates;
  for (const bool any : {false, true}) {  // if none of the named roots is up here, any node will do
    for (std::uint32_t i = 0; i < node_switch_.size(); ++i)
      if (usable(i) && graph_.plane_of(node_switch_[i]) == plane && (any || may_be_root_.empty() || may_be_root_[i]))
        candidates.push_back(i);
    if (!candidates.empty()) break;
  }
  std::vector<std::uint32_t> sources;
  for (const auto i : candidates) sources.push_back(node_switch_[i]);
  const auto reach = graph_.reach(sources, hosts_at);
  const auto key = [&](std::uint32_t i) {
    return std::tuple(root_uses_[candidates[i]], reach[i].farthest, reach[i].sum, inner_uses_[candidates[i]],
                      rate_rank(candidates[i]), std::string_view(fabric_.nodes[candidates[i]].name));
  };
  std::uint32_t best = 0;
  for (std::uint32_t i = 1; i < candidates.size(); ++i)
    if (key(i) < key(best)) best = i;
  return candidates[best];
}

/// Returns the nodes that may take flows at a switch, the first to be filled first.
std::vector<std::uint32_t> TreeBuilder::heads_at(std::uint32_t at, std::uint32_t root) const {
  auto heads = nodes_at_[at];
  std::sort(heads.begin(), heads.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto key = [&](std::uint32_t i) {
      return std::tuple(i != root, inner_uses_[i], rate_rank(i), std::string_view(fabric_.nodes[i].name));
    };
    return key(a) < key(b);
  });
  return heads;
}

std::vector<std::vector<std::uint32_t>> TreeBuilder::children_of(const Draft& draft) {
  std::vector<std::vector<std::uint32_t>> children(draft.parent.size());
  for (std::uint32_t i = 0; i < draft.parent.size(); ++i)
    if (draft.parent[i] != kNone) children[draft.parent[i]].push_back(i);
  return children;
}

std::uint32_t TreeBuilder::follow(std::uint32_t from, std::span<const std::uint32_t> links) const {
  auto at = from;
  for (const auto link : links) {
    if (at == kNone || link >= fabric_.links.size()) return kNone;
    const auto edges = graph_.edges(at);  // these are only the edges that are up
    const auto edge = std::find_if(edges.begin(), edges.end(), [&](const auto& each) { return each.link == link; });
    at = edge == edges.end() ? kNone : edge->to;
  }
  return at;
}

void TreeBuilder::reckon_links(Draft& draft) const {
  const auto children = children_of(draft);
  draft.links.assign(draft.parent.size(), kNone);
  draft.links[draft.root] = 0;
  std::vector<std::uint32_t> queue{draft.root};
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (const auto child : children[queue[i]]) {
      draft.links[child] = draft.links[queue[i]] + static_cast<std::uint32_t>(draft.route[child].size());
      queue.push_back(child);
    }
}

AggregationTree TreeBuilder::finish(Draft draft, std::uint32_t id) const {
  reckon_links(draft);
  AggregationTree tree;
  tree.id = id;
  tree.root = draft.root;
  tree.leaf_of_host = std::move(draft.leaf);
  tree.port_of_host = std::move(draft.port);
  tree.route_of_host = std::move(draft.host_route);
  const auto children = children_of(draft);
  tree.nodes.reserve(draft.parent.size());
  for (std::uint32_t i = 0; i < draft.parent.size(); ++i) {
    TreeNode node;
    node.name = fabric_.nodes[i].name;
    const auto& said = fabric_.nodes[i].link_rate_bits_per_s;
    node.link_rate_bits_per_s = said                     ? *said
                                : node_host_[i] == kNone ? 0
                                                         : fabric_.hosts[node_host_[i]].link.rate_bits_per_s;
    node.host = node_host_[i];
    node.in_tree = draft.links[i] != kNone;
    if (node.in_tree) {
      node.parent = draft.parent[i] == kNone ? -1 : static_cast<std::int32_t>(draft.parent[i]);
      node.children = children[i];
      node.links_to_root = draft.links[i];
      node.route = std::move(draft.route[i]);
    }
    tree.nodes.push_back(std::move(node));
  }
  std::vector<std::uint32_t> queue{tree.root};
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (const auto child : tree.nodes[queue[i]].children) {
      tree.nodes[child].depth = tree.nodes[queue[i]].depth + 1;
      queue.push_back(child);
    }
  // Hosts below a node without path to the root have no leaf.
  for (std::uint32_t host = 0; host < tree.leaf_of_host.size(); ++host) {
    auto& leaf = tree.leaf_of_host[host];
    if (leaf == kNone || tree.nodes[leaf].in_tree) continue;
    leaf = kNone;
    tree.route_of_host[host].clear();
  }
  return tree;
}

}  // namespace sumac::topo
