// Parents are found here when slots are scarce: the radix is too small for the shape of the fabric, or a node or link
// is gone. Minimum depth under a bound on children is a hard problem; this is greedy, nearest parent first, with enough
// inner nodes added beforehand that two levels below the root suffice if they can.
#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "topo/tree_builder.hpp"

namespace sumac::topo {

std::vector<std::uint32_t> TreeBuilder::route(std::uint32_t from, std::uint32_t to, const std::uint16_t* row) const {
  std::vector<std::uint32_t> links;
  while (from != to) {
    const SwitchGraph::Edge* best = nullptr;
    for (const auto& edge : graph_.edges(from)) {
      if (row[edge.to] + 1 != row[from]) continue;
      if (best == nullptr || load_with(edge.link, 1) < load_with(best->link, 1)) best = &edge;
    }
    links.push_back(best->link);
    from = best->to;
  }
  return links;
}

Result<> TreeBuilder::attach(Draft& draft, std::vector<Flow> flows, std::vector<std::uint32_t> helpers) {
  const auto children = children_of(draft);
  std::vector<std::uint32_t> height(draft.parent.size(), 0);
  std::vector<std::uint64_t> spare(draft.parent.size(), 0);  // [node]: free slots of its whole subtree
  const auto below = [&](std::uint32_t top) {
    std::vector<std::uint32_t> all{top};
    for (std::size_t i = 0; i < all.size(); ++i)
      all.insert(all.end(), children[all[i]].begin(), children[all[i]].end());
    return all;
  };
  for (const auto& flow : flows) {
    if (flow.is_host) continue;
    const auto all = below(flow.index);
    for (auto next = all.rbegin(); next != all.rend(); ++next) {
      height[*next] = 0;
      for (const auto child : children[*next]) height[*next] = std::max(height[*next], height[child] + 1);
      spare[flow.index] += free_slots(draft, *next);
    }
  }
  // Flows that bring the most slots come first, so that the next ones find a parent near the root; hosts bring none.
  const auto rank = [&](const Flow& flow) {
    const auto name = std::string_view(flow.is_host ? fabric_.hosts[flow.index].name : fabric_.nodes[flow.index].name);
    const auto slots = flow.is_host ? 0U : free_slots(draft, flow.index);
    return std::tuple(flow.is_host, ~slots, flow.is_host ? 0 : ~spare[flow.index],
                      flow.is_host ? 0U : ~height[flow.index], name);
  };
  std::sort(flows.begin(), flows.end(), [&](const Flow& a, const Flow& b) { return rank(a) < rank(b); });

  // Add so many helpers that the second level has room for all flows that the first has not, and at least so many that
  // all find room.
  std::vector<std::uint32_t> inside;  // nodes that have a path to the root already
  std::uint64_t open = 0;
  for (std::uint32_t i = 0; i < draft.links.size(); ++i)
    if (draft.links[i] != kNone) {
      inside.push_back(i);
      open += free_slots(draft, i);
    }
  if (radix_ != 0) {
    std::uint64_t total = open;
    for (const auto& flow : flows)
      if (!flow.is_host) total += spare[flow.index];
    const auto two_levels = [&](std::uint64_t extra) {
      if (extra > open) return true;  // the first level has no room for more helpers
      std::uint64_t room = extra * radix_;
      for (std::size_t i = 0; i < flows.size() && i + extra < open; ++i)
        room += flows[i].is_host ? 0 : free_slots(draft, flows[i].index);
      return open - extra + room >= flows.size();
    };
    std::size_t extra = 0;
    while (extra < helpers.size() && (!two_levels(extra) || total + extra * (radix_ - 1) < flows.size())) ++extra;
    // If two levels are out of reach, the slots of all helpers may still be too few: keep at least the necessary
    // number.
    helpers.resize(extra);
    std::vector<Flow> first;
    for (const auto node : helpers) first.push_back({false, node});
    flows.insert(flows.begin(), first.begin(), first.end());
  } else {
    helpers.clear();
  }

  // Compute the distances from every switch where a parent may be.
  std::vector<std::uint32_t> sources;
  std::unordered_map<std::uint32_t, std::size_t> row_of;
  const auto source = [&](std::uint32_t node) {
    if (row_of.emplace(node_switch_[node], sources.size()).second) sources.push_back(node_switch_[node]);
  };
  for (const auto node : inside) source(node);
  for (const auto& flow : flows)
    if (!flow.is_host)
      for (const auto node : below(flow.index)) source(node);
  const auto rows = graph_.distances(sources);
  std::vector<const std::uint16_t*> row(draft.parent.size(), nullptr);
  for (std::uint32_t i = 0; i < row.size(); ++i)
    if (usable(i))
      if (const auto found = row_of.find(node_switch_[i]); found != row_of.end())
        row[i] = rows.data() + found->second * graph_.size();

  std::vector<std::uint32_t> level(draft.parent.size(), 0);  // [node]: number of nodes above it
  for (const auto node : inside)
    for (auto up = node; up != draft.root; up = draft.parent[up]) ++level[node];
  for (const auto& flow : flows) {
    const auto from = flow.is_host ? draft.host_switch[flow.index] : node_switch_[flow.index];
    std::uint32_t best = kNone;
    const auto key = [&](std::uint32_t i) {
      // Among equally short paths the one that meets a node soonest is best, then the one over the fewest nodes.
      return std::tuple(draft.links[i] + row[i][from], row[i][from], level[i], draft.slots[i],
                        std::string_view(fabric_.nodes[i].name));
    };
    for (const auto i : inside)
      if (row[i][from] != SwitchGraph::kFar && free_slots(draft, i) > 0 && (best == kNone || key(i) < key(best)))
        best = i;
    if (best == kNone)
      return fail(Errc::exhausted,
                  "a radix of {} leaves {} {} without a place: raise the radix, or add aggregation nodes", radix_,
                  flow.is_host ? "host" : "node",
                  flow.is_host ? fabric_.hosts[flow.index].name : fabric_.nodes[flow.index].name);
    auto links = route(from, node_switch_[best], row[best]);
    add_load(links, 1);
    ++draft.slots[best];
    if (flow.is_host) {
      draft.leaf[flow.index] = best;
      draft.host_route[flow.index] = std::move(links);
    } else {
      draft.parent[flow.index] = best;
      draft.links[flow.index] = draft.links[best] + static_cast<std::uint32_t>(links.size());
      draft.route[flow.index] = std::move(links);
      for (const auto node : below(flow.index)) {
        if (node != flow.index)
          draft.links[node] = draft.links[draft.parent[node]] + static_cast<std::uint32_t>(draft.route[node].size());
        level[node] = level[draft.parent[node]] + 1;
        inside.push_back(node);
      }
    }
    if (free_slots(draft, best) == 0) std::erase(inside, best);
  }
  return {};
}

void TreeBuilder::attach_idle(Draft& draft) {
  reckon_links(draft);
  // From the root outwards, find for each switch the node that would take flows from there, and the route to it.
  const auto walk = graph_.walk(node_switch_[draft.root]);
  std::vector<std::uint32_t> taker(graph_.size(), kNone);
  std::vector<SwitchGraph::Edge> up(graph_.size(), SwitchGraph::Edge{kNone, kNone});
  std::vector<std::uint32_t> used_at(graph_.size(), kNone);
  for (std::uint32_t i = 0; i < draft.parent.size(); ++i) {
    if (draft.links[i] == kNone || (draft.slots[i] == 0 && i != draft.root)) continue;
    auto& used = used_at[node_switch_[i]];
    if (used == kNone || draft.links[i] < draft.links[used]) used = i;
  }
  for (const auto at : walk.order) {
    taker[at] = used_at[at];
    for (const auto& edge : graph_.edges(at)) {
      if (walk.distance[edge.to] + 1 != walk.distance[at] || up[at].to != kNone) continue;
      up[at] = edge;
    }
    if (taker[at] == kNone) taker[at] = taker[up[at].to];
  }
  const auto way = [&](std::uint32_t from, std::uint32_t to) {
    std::vector<std::uint32_t> links;
    for (auto at = from; at != to && up[at].to != kNone; at = up[at].to) links.push_back(up[at].link);
    return links;
  };
  for (std::uint32_t i = 0; i < draft.parent.size(); ++i) {
    if (!usable(i) || draft.links[i] != kNone || walk.distance[node_switch_[i]] == kNone) continue;
    auto parent = taker[node_switch_[i]];
    auto links = way(node_switch_[i], node_switch_[parent]);
    // A node at the switch of a working one gets the same parent; when that is full, the next one up.
    while (parent != draft.root && (node_switch_[parent] == node_switch_[i] || free_slots(draft, parent) == 0)) {
      links.insert(links.end(), draft.route[parent].begin(), draft.route[parent].end());
      parent = draft.parent[parent];
    }
    if (free_slots(draft, parent) == 0) continue;
    draft.parent[i] = parent;
    draft.route[i] = std::move(links);
    draft.links[i] = draft.links[parent] + static_cast<std::uint32_t>(draft.route[i].size());
    ++draft.slots[parent];
  }
  std::vector<std::uint32_t> own(fabric_.hosts.size(), kNone);
  for (std::uint32_t i = 0; i < node_host_.size(); ++i)
    if (node_host_[i] != kNone && draft.links[i] != kNone && (draft.slots[i] != 0 || i == draft.root))
      own[node_host_[i]] = i;  // an idle node would work only for a host without ranks
  for (std::uint32_t host = 0; host < draft.leaf.size(); ++host) {
    const auto at = draft.host_switch[host];
    if (draft.leaf[host] != kNone || at == kNone || walk.distance[at] == kNone || fabric_.hosts[host].compute) continue;
    // It gets no rank, so it takes no slot; a rank that comes nevertheless has a path.
    draft.leaf[host] = own[host] != kNone && draft.port[host] == 0 ? own[host] : taker[at];
    draft.host_route[host] = way(at, node_switch_[draft.leaf[host]]);
  }
}

}  // namespace sumac::topo
