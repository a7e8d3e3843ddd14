// One tree is built from the outermost switches inwards. The node at a switch takes the flows that arrive there, from
// its hosts and from farther out. Then the node itself, or every flow if there is no node, goes on over one link to a
// switch that is one link nearer to the root. So every path through the tree is a shortest one, and each choice among
// links takes the earlier choices into account.
#include <algorithm>
#include <string_view>
#include <tuple>

#include "topo/tree_builder.hpp"

namespace sumac::topo {

namespace {

/// The next switch and the link for flows that a switch does not take.
struct Up {
  std::uint32_t to = kNone;
  std::uint32_t link = kNone;
};

std::vector<std::uint32_t> way_up(const std::vector<Up>& ups, std::uint32_t from, std::uint32_t to) {
  std::vector<std::uint32_t> links;
  for (auto at = from; at != to; at = ups[at].to) links.push_back(ups[at].link);
  return links;
}

}  // namespace

Result<Draft> TreeBuilder::grow(std::uint32_t plane, std::uint32_t turn) {
  bool is_crowded = false;
  const auto kept = streams_;
  bool any_on_host = false;
  for (std::uint32_t i = 0; i < node_host_.size(); ++i) any_on_host = any_on_host || shares_host_link(i);
  if (!any_on_host) return grow(plane, turn, false, is_crowded);
  auto draft = grow(plane, turn, true, is_crowded);
  if (draft && !is_crowded) return draft;
  streams_ = kept;
  return grow(plane, turn, false, is_crowded);
}

Result<Draft> TreeBuilder::grow(std::uint32_t plane, std::uint32_t turn, bool spares_host_links, bool& is_crowded) {
  auto draft = blank(plane, turn);
  draft.root = choose_root(plane, draft);
  const auto root_switch = node_switch_[draft.root];
  const auto walk = graph_.walk(root_switch);
  const auto& distance = walk.distance;

  // Links from each switch to the next node on a shortest path to the root.
  std::vector<std::uint32_t> to_node(graph_.size(), kNone);
  for (const auto at : walk.order) {
    if (!nodes_at_[at].empty()) {
      to_node[at] = 0;
      continue;
    }
    for (const auto& edge : graph_.edges(at))
      if (distance[edge.to] + 1 == distance[at] && to_node[edge.to] != kNone)
        to_node[at] = std::min(to_node[at], to_node[edge.to] + 1);
  }

  std::vector<std::vector<Flow>> arrived(graph_.size());
  for (std::uint32_t host = 0; host < draft.host_switch.size(); ++host)
    if (draft.host_switch[host] != kNone && fabric_.hosts[host].compute)
      arrived[draft.host_switch[host]].push_back({true, host});
  const auto origin = [&](const Flow& flow) {
    return flow.is_host ? draft.host_switch[flow.index] : node_switch_[flow.index];
  };
  std::vector<Up> ups(graph_.size());
  const auto take = [&](std::uint32_t node, const Flow& flow) {
    auto links = way_up(ups, origin(flow), node_switch_[node]);
    if (flow.is_host) {
      draft.leaf[flow.index] = node;
      draft.host_route[flow.index] = std::move(links);
    } else {
      draft.parent[flow.index] = node;
      draft.route[flow.index] = std::move(links);
    }
    ++draft.slots[node];
  };

  for (auto next = walk.order.rbegin(); next != walk.order.rend(); ++next) {
    const auto at = *next;
    auto& flows = arrived[at];
    if (flows.empty() || at == root_switch) continue;
    std::vector<Flow> onwards;
    // A node with a single child that is a node adds nothing up, so it is skipped.
    std::size_t taken = 0;
    if (flows.size() > 1 || flows.front().is_host) {
      for (const auto head : heads_at(at, draft.root)) {
        if (taken == flows.size()) break;
        // The path past a node that shares a host's link is shorter by that link, in both directions, and leaves the
        // link to the tree whose root the node is.
        if (spares_host_links && shares_host_link(head)) continue;
        const auto room = std::min<std::size_t>(free_slots(draft, head), flows.size() - taken);
        for (std::size_t i = 0; i < room; ++i) take(head, flows[taken++]);
        onwards.push_back({false, head});
      }
    }
    onwards.insert(onwards.end(), flows.begin() + static_cast<std::ptrdiff_t>(taken), flows.end());
    const auto key = [&](const SwitchGraph::Edge& edge) {
      const auto& heads = nodes_at_[edge.to];
      std::uint32_t uses = 0;
      for (const auto head : heads) uses += inner_uses_[head];
      return std::tuple(to_node[edge.to], load_with(edge.link, onwards.size()), uses, arrived[edge.to].size(),
                        std::string_view(fabric_.switches[edge.to].name), edge.link);
    };
    const SwitchGraph::Edge* best = nullptr;
    for (const auto& edge : graph_.edges(at))
      if (distance[edge.to] + 1 == distance[at] && (best == nullptr || key(edge) < key(*best))) best = &edge;
    ups[at] = {best->to, best->link};
    streams_[best->link] += static_cast<std::uint32_t>(onwards.size());
    arrived[best->to].insert(arrived[best->to].end(), onwards.begin(), onwards.end());
    flows.clear();
  }

  auto flows = std::move(arrived[root_switch]);
  is_crowded = spares_host_links && flows.size() > (radix_ == 0 ? kFlatMax : radix_);
  if (is_crowded) return draft;
  draft.links[draft.root] = 0;
  if (radix_ == 0 || flows.size() <= radix_) {
    for (const auto& flow : flows) take(draft.root, flow);
  } else {
    // The root has too many flows: those that find no slot there get another path.
    for (const auto& flow : flows) add_load(way_up(ups, origin(flow), root_switch), -1);
    std::vector<bool> placed(fabric_.nodes.size(), false);
    for (std::uint32_t i = 0; i < placed.size(); ++i) placed[i] = draft.parent[i] != kNone || i == draft.root;
    for (const auto& flow : flows)
      if (!flow.is_host) placed[flow.index] = true;
    std::vector<std::uint32_t> helpers;
    for (std::uint32_t i = 0; i < placed.size(); ++i)
      if (!placed[i] && usable(i) && distance[node_switch_[i]] != kNone) helpers.push_back(i);
    std::sort(helpers.begin(), helpers.end(), [&](std::uint32_t a, std::uint32_t b) {
      const auto rank = [&](std::uint32_t i) {
        return std::tuple(distance[node_switch_[i]], inner_uses_[i], rate_rank(i),
                          std::string_view(fabric_.nodes[i].name));
      };
      return rank(a) < rank(b);
    });
    if (auto ok = attach(draft, std::move(flows), std::move(helpers)); !ok) return tl::unexpected(ok.error());
  }
  // The load of this tree is counted again when it is finished and accounted: here it served only the choices above.
  for (std::uint32_t i = 0; i < draft.route.size(); ++i) add_load(draft.route[i], -1);
  for (const auto& links : draft.host_route) add_load(links, -1);
  attach_idle(draft);
  return draft;
}

}  // namespace sumac::topo
