#include "topo/job_tree.hpp"

#include <algorithm>

namespace sumac::topo {

std::uint32_t JobTree::levels() const {
  std::vector<std::uint32_t> depth(nodes.size(), 1);
  for (std::size_t i = 1; i < nodes.size(); ++i) depth[i] = depth[static_cast<std::size_t>(nodes[i].parent)] + 1;
  return depth.empty() ? 0 : *std::max_element(depth.begin(), depth.end());
}

Result<JobTree> prune(const Fabric& fabric, const AggregationTree& tree, std::span<const std::uint32_t> hosts,
                      const PruneOptions& options) {
  if (hosts.empty()) return fail(Errc::invalid, "a job without hosts has no tree");
  JobTree job;
  job.hosts.assign(hosts.begin(), hosts.end());
  std::vector<bool> seen(fabric.hosts.size(), false);
  std::vector<std::vector<std::uint32_t>> own(tree.nodes.size());  // [node]: hosts attached to it
  std::vector<std::uint32_t> below(tree.nodes.size(), 0);          // [node]: hosts at the node and below it
  for (const auto host : hosts) {
    if (host >= fabric.hosts.size()) return fail(Errc::invalid, "there is no host with the index {}", host);
    const auto& name = fabric.hosts[host].name;
    if (seen[host]) return fail(Errc::invalid, "host {} is twice in the job's list: name each once", name);
    seen[host] = true;
    auto leaf = host < tree.leaf_of_host.size() ? tree.leaf_of_host[host] : kNone;
    if (leaf == kNone)
      return fail(Errc::not_found, "host {} has no leaf in tree {}: it is down, in another plane, or no node is near",
                  name, tree.id);
    while (leaf < options.avoid.size() && options.avoid[leaf] && tree.nodes[leaf].parent >= 0)
      leaf = static_cast<std::uint32_t>(tree.nodes[leaf].parent);
    own[leaf].push_back(host);
    for (auto at = static_cast<std::int64_t>(leaf); at >= 0; at = tree.nodes[static_cast<std::size_t>(at)].parent)
      ++below[static_cast<std::size_t>(at)];
  }

  auto root = tree.root;
  for (bool deeper = true; deeper && own[root].empty();) {
    deeper = false;
    for (const auto child : tree.nodes[root].children)
      if (below[child] == hosts.size()) {
        root = child;
        deeper = true;
        break;
      }
  }
  std::vector<std::uint32_t> order{root};  // nodes of the job, parents before children
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const auto child : tree.nodes[order[i]].children)
      if (below[child] > 0) order.push_back(child);
  if (options.lift) {
    for (auto next = order.rbegin(); next != order.rend(); ++next) {
      const auto node = *next;
      if (node == root || below[node] != 1) continue;
      auto& up = own[static_cast<std::size_t>(tree.nodes[node].parent)];
      up.insert(up.end(), own[node].begin(), own[node].end());
      own[node].clear();
      below[node] = 0;
    }
  }

  std::vector<std::uint32_t> index(tree.nodes.size(), kNone);
  std::vector<std::uint32_t> leaf_of(fabric.hosts.size(), kNone);
  for (const auto node : order) {
    if (below[node] == 0) continue;
    index[node] = static_cast<std::uint32_t>(job.nodes.size());
    JobNode made{node, -1, {}, std::move(own[node])};
    std::sort(made.hosts.begin(), made.hosts.end());
    for (const auto host : made.hosts) leaf_of[host] = index[node];
    if (node != root) {
      const auto parent = index[static_cast<std::size_t>(tree.nodes[node].parent)];
      made.parent = static_cast<std::int32_t>(parent);
      job.nodes[parent].children.push_back(index[node]);
    }
    job.nodes.push_back(std::move(made));
  }
  for (const auto host : hosts) job.leaf.push_back(leaf_of[host]);
  return job;
}

bool notices(const JobTree& job, const AggregationTree& before, const TreeChange& change) {
  const auto in = [](const std::vector<std::uint32_t>& sorted, std::uint32_t index) {
    return std::binary_search(sorted.begin(), sorted.end(), index);
  };
  if (change.fate == Fate::lost) return true;
  for (const auto& node : job.nodes)
    if (in(change.gone, node.node) || (node.parent >= 0 && in(change.reparented, node.node))) return true;
  for (std::size_t i = 0; i < job.hosts.size(); ++i)
    if (in(change.moved, job.hosts[i]) && before.leaf_of_host[job.hosts[i]] == job.nodes[job.leaf[i]].node) return true;
  return false;
}

}  // namespace sumac::topo
