#include "topo/tree.hpp"

#include <algorithm>

#include "topo/tree_builder.hpp"

namespace sumac::topo {

std::uint32_t host_of(const Fabric& fabric, const Node& node) {
  if (node.place.at_host.empty()) return kNone;
  const auto at = std::ranges::find(fabric.hosts, node.place.at_host, &Host::name);
  return at == fabric.hosts.end() ? kNone : static_cast<std::uint32_t>(at - fabric.hosts.begin());
}

std::uint64_t link_rate_bits_per_s(const Fabric& fabric, const Node& node) {
  if (node.link_rate_bits_per_s) return *node.link_rate_bits_per_s;
  const auto host = host_of(fabric, node);
  return host == kNone ? 0 : fabric.hosts[host].link.rate_bits_per_s;
}

std::uint32_t AggregationTree::levels() const {
  std::uint32_t most = 0;
  for (const auto leaf : leaf_of_host)
    if (leaf != kNone) most = std::max(most, nodes[leaf].depth + 1);
  return most;
}

std::uint32_t AggregationTree::depth_links() const {
  std::uint32_t most = 0;
  for (std::size_t host = 0; host < leaf_of_host.size(); ++host)
    if (leaf_of_host[host] != kNone)
      most = std::max<std::uint32_t>(
          most, nodes[leaf_of_host[host]].links_to_root + static_cast<std::uint32_t>(route_of_host[host].size()));
  return most;
}

TreeOptions tree_options(const Fabric& fabric) { return {fabric.trees, fabric.radix}; }

Result<std::vector<AggregationTree>> build_trees(const Fabric& fabric, const TreeOptions& options) {
  if (fabric.nodes.empty())
    return fail(Errc::not_found, "fabric {} has no aggregation node: name one under 'nodes'", fabric.name);
  if (options.radix == 1)
    return fail(Errc::invalid, "a radix of 1 makes no tree: a node needs at least 2 children, or 0 for no limit");
  TreeBuilder builder(fabric, options);
  const auto planes = builder.planes();
  if (planes.empty())
    return fail(Errc::not_found, "no aggregation node of fabric {} is up: start one of its {}", fabric.name,
                fabric.nodes.size());
  std::vector<AggregationTree> trees;
  for (std::uint32_t i = 0; i < options.count; ++i) {
    const auto turns = static_cast<std::uint32_t>(planes.size());
    auto draft = builder.grow(planes[i % turns], i / turns);
    if (!draft) return within(fmt::format("tree {} of fabric {}", i + 1, fabric.name), draft.error());
    trees.push_back(builder.finish(std::move(*draft), i + 1));
    builder.account(trees.back());
  }
  return trees;
}

}  // namespace sumac::topo
