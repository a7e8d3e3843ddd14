#include "topo/switch_graph.hpp"

#include <algorithm>
#include <bit>

namespace sumac::topo {

SwitchGraph::SwitchGraph(const Fabric& fabric) {
  const auto count = static_cast<std::uint32_t>(fabric.switches.size());
  index_.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) index_.emplace(fabric.switches[i].name, i);
  struct Ends {
    std::uint32_t a, b, link;
  };
  std::vector<Ends> ends;
  ends.reserve(fabric.links.size());
  first_.assign(count + 1, 0);
  for (std::uint32_t i = 0; i < fabric.links.size(); ++i) {
    const auto& link = fabric.links[i];
    const auto a = find(link.a);
    const auto b = find(link.b);
    if (!link.up || a == kNone || b == kNone || !fabric.switches[a].up || !fabric.switches[b].up) continue;
    ends.push_back({a, b, i});
    ++first_[a + 1];
    ++first_[b + 1];
  }
  for (std::uint32_t i = 0; i < count; ++i) first_[i + 1] += first_[i];
  edges_.resize(2 * ends.size());
  auto next = first_;
  for (const auto& each : ends) {
    edges_[next[each.a]++] = {each.b, each.link};
    edges_[next[each.b]++] = {each.a, each.link};
  }

  plane_.assign(count, kNone);
  std::vector<std::uint32_t> queue;
  for (std::uint32_t start = 0; start < count; ++start) {
    if (plane_[start] != kNone || !fabric.switches[start].up) continue;
    plane_[start] = plane_count_;
    queue.assign(1, start);
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (const auto& edge : edges(queue[i]))
        if (plane_[edge.to] == kNone) {
          plane_[edge.to] = plane_count_;
          queue.push_back(edge.to);
        }
    ++plane_count_;
  }
}

std::uint32_t SwitchGraph::find(std::string_view switch_name) const {
  const auto at = index_.find(switch_name);
  return at == index_.end() ? kNone : at->second;
}

SwitchGraph::Walk SwitchGraph::walk(std::uint32_t from) const {
  Walk walk{std::vector(size(), kNone), {from}};
  walk.distance[from] = 0;
  for (std::size_t i = 0; i < walk.order.size(); ++i) {
    const auto here = walk.order[i];
    for (const auto& edge : edges(here))
      if (walk.distance[edge.to] == kNone) {
        walk.distance[edge.to] = walk.distance[here] + 1;
        walk.order.push_back(edge.to);
      }
  }
  return walk;
}

template <class Visit>
void SwitchGraph::walk_batch(std::span<const std::uint32_t> sources, Visit visit) const {
  std::vector<std::uint64_t> seen(size(), 0);
  std::vector<std::uint64_t> arriving(size(), 0);
  std::vector<std::uint64_t> here(size(), 0);
  std::vector<std::uint32_t> active;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (here[sources[i]] == 0) active.push_back(sources[i]);
    here[sources[i]] |= std::uint64_t{1} << i;
  }
  for (const auto at : active) seen[at] = here[at];
  std::vector<std::uint32_t> reached;
  for (std::uint32_t links = 0; !active.empty(); ++links) {
    reached.clear();
    for (const auto at : active) {
      visit(at, here[at], links);
      for (const auto& edge : edges(at)) {
        const auto fresh = here[at] & ~seen[edge.to];
        if (fresh == 0) continue;
        if (arriving[edge.to] == 0) reached.push_back(edge.to);
        arriving[edge.to] |= fresh;
      }
    }
    for (const auto at : active) here[at] = 0;
    for (const auto at : reached) {
      here[at] = arriving[at];
      seen[at] |= arriving[at];
      arriving[at] = 0;
    }
    active.swap(reached);
  }
}

std::vector<SwitchGraph::Reach> SwitchGraph::reach(std::span<const std::uint32_t> sources,
                                                   std::span<const std::uint32_t> hosts_at) const {
  std::vector<Reach> all(sources.size());
  for (std::size_t begin = 0; begin < sources.size(); begin += 64) {
    const auto batch = sources.subspan(begin, std::min<std::size_t>(64, sources.size() - begin));
    walk_batch(batch, [&](std::uint32_t at, std::uint64_t bits, std::uint32_t links) {
      if (hosts_at[at] == 0) return;
      for (; bits != 0; bits &= bits - 1) {
        auto& reach = all[begin + static_cast<std::size_t>(std::countr_zero(bits))];
        reach.farthest = links;  // the walk visits switches in order of distance
        reach.sum += std::uint64_t{links} * hosts_at[at];
      }
    });
  }
  return all;
}

std::vector<std::uint16_t> SwitchGraph::distances(std::span<const std::uint32_t> sources) const {
  std::vector<std::uint16_t> rows(sources.size() * size(), kFar);
  for (std::size_t begin = 0; begin < sources.size(); begin += 64) {
    const auto batch = sources.subspan(begin, std::min<std::size_t>(64, sources.size() - begin));
    walk_batch(batch, [&](std::uint32_t at, std::uint64_t bits, std::uint32_t links) {
      const auto distance = static_cast<std::uint16_t>(std::min<std::uint32_t>(links, kFar));
      for (; bits != 0; bits &= bits - 1)
        rows[(begin + static_cast<std::size_t>(std::countr_zero(bits))) * size() + at] = distance;
    });
  }
  return rows;
}

}  // namespace sumac::topo
