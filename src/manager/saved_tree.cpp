#include "manager/saved_tree.hpp"

#include <algorithm>

namespace sumac::manager {
namespace {

using topo::kNone;

void put_list(std::vector<std::uint32_t>& out, const std::vector<std::uint32_t>& list) {
  out.push_back(static_cast<std::uint32_t>(list.size()));
  out.insert(out.end(), list.begin(), list.end());
}

/// Reads numbers from the front. A read beyond the end, or a number out of bounds, marks the list as broken for good.
class Numbers {
 public:
  explicit Numbers(std::span<const std::uint32_t> rest) : rest_(rest) {}
  std::uint32_t get(std::uint64_t below = std::uint64_t{1} << 32) {
    if (rest_.empty() || rest_.front() >= below) broken_ = true;
    if (broken_) return 0;
    const auto value = rest_.front();
    rest_ = rest_.subspan(1);
    return value;
  }
  std::vector<std::uint32_t> list(std::uint64_t below = std::uint64_t{1} << 32) {
    const auto size = get(rest_.size());
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < size && !broken_; ++i) all.push_back(get(below));
    return all;
  }
  bool broken() const { return broken_; }
  bool whole() const { return !broken_ && rest_.empty(); }

 private:
  std::span<const std::uint32_t> rest_;
  bool broken_ = false;
};

}  // namespace

std::vector<std::uint32_t> shape_of(const topo::AggregationTree& tree) {
  std::vector<std::uint32_t> out{tree.root, static_cast<std::uint32_t>(tree.nodes.size()),
                                 static_cast<std::uint32_t>(tree.leaf_of_host.size())};
  for (const auto& node : tree.nodes) {
    out.push_back(!node.in_tree ? 0 : node.parent < 0 ? 1 : static_cast<std::uint32_t>(node.parent) + 2);
    put_list(out, node.route);
  }
  for (std::size_t host = 0; host < tree.leaf_of_host.size(); ++host) {
    out.push_back(tree.leaf_of_host[host] + 1);  // A host without a leaf is written as 0.
    out.push_back(tree.port_of_host[host]);
    put_list(out, tree.route_of_host[host]);
  }
  return out;
}

std::optional<topo::AggregationTree> tree_of(std::span<const std::uint32_t> shape, const topo::Fabric& fabric) {
  Numbers in(shape);
  topo::AggregationTree tree;
  const auto nodes = fabric.nodes.size(), hosts = fabric.hosts.size();
  tree.root = in.get(nodes);
  if (in.get() != nodes || in.get() != hosts) return std::nullopt;
  for (std::size_t i = 0; i < nodes && !in.broken(); ++i) {
    topo::TreeNode node;
    node.name = fabric.nodes[i].name;
    node.link_rate_bits_per_s = topo::link_rate_bits_per_s(fabric, fabric.nodes[i]);
    node.host = topo::host_of(fabric, fabric.nodes[i]);
    const auto parent = in.get(nodes + 2);
    node.in_tree = parent != 0;
    node.parent = parent < 2 ? -1 : static_cast<std::int32_t>(parent - 2);
    if ((parent == 1) != (i == tree.root)) return std::nullopt;
    node.route = in.list(fabric.links.size());
    tree.nodes.push_back(std::move(node));
  }
  for (std::size_t i = 0; i < hosts && !in.broken(); ++i) {
    tree.leaf_of_host.push_back(in.get(nodes + 1) - 1);
    tree.port_of_host.push_back(in.get(fabric.hosts[i].rails.size() + 1));
    tree.route_of_host.push_back(in.list(fabric.links.size()));
  }
  if (!in.whole()) return std::nullopt;
  for (std::uint32_t i = 0; i < nodes; ++i)
    if (tree.nodes[i].parent >= 0) tree.nodes[static_cast<std::size_t>(tree.nodes[i].parent)].children.push_back(i);
  std::vector<std::uint32_t> reached{tree.root};
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (const auto child : tree.nodes[reached[i]].children) {
      auto& node = tree.nodes[child];
      node.depth = tree.nodes[reached[i]].depth + 1;
      node.links_to_root = tree.nodes[reached[i]].links_to_root + static_cast<std::uint32_t>(node.route.size());
      reached.push_back(child);
    }
  const auto in_tree = std::count_if(tree.nodes.begin(), tree.nodes.end(), [](const auto& n) { return n.in_tree; });
  // Otherwise there is a loop, or a parent outside the tree.
  if (static_cast<std::size_t>(in_tree) != reached.size()) return std::nullopt;
  for (const auto leaf : tree.leaf_of_host)
    if (leaf != kNone && !tree.nodes[leaf].in_tree) return std::nullopt;
  return tree;
}

std::vector<std::uint32_t> numbers_of(const JobRecord& job) {
  std::vector<std::uint32_t> out;
  put_list(out, job.hosts);
  for (const auto& share : job.shares) {
    out.push_back(share.tree);
    out.push_back(number_of(share.id));
    put_list(out, share.nodes);
    put_list(out, share.parents);
    put_list(out, share.leaves);
    out.push_back(static_cast<std::uint32_t>(share.numbers.size()));
    for (const auto& range : share.numbers) out.insert(out.end(), {range.first, range.count});
  }
  return out;
}

Result<> read_numbers(std::span<const std::uint32_t> numbers, JobRecord& job) {
  Numbers in(numbers);
  job.hosts = in.list();
  job.shares.clear();
  while (!in.broken() && !in.whole()) {
    JobShare share;
    share.tree = in.get();
    share.id = TreeId{in.get()};
    share.nodes = in.list();
    share.parents = in.list(share.nodes.size() + 1);
    share.leaves = in.list(share.nodes.size());
    const auto ranges = in.get(0x10000);
    for (std::uint32_t i = 0; i < ranges && !in.broken(); ++i) {
      const auto first = in.get(0x10000);
      share.numbers.push_back({first, in.get(0x10000)});
    }
    if (share.nodes.empty() || share.parents.size() != share.nodes.size() || share.leaves.size() != job.hosts.size())
      return fail(Errc::invalid, "its part of tree {} makes no sense", share.tree);
    for (std::size_t i = 0; i < share.nodes.size(); ++i)
      if ((share.parents[i] == 0) != (i == 0) || share.parents[i] > i)
        return fail(Errc::invalid, "its part of tree {} is no part of a tree", share.tree);
    if (std::ranges::any_of(share.numbers, [](const auto& range) { return range.first == 0 || range.count == 0; }))
      return fail(Errc::invalid, "its group numbers of tree {} make no sense", share.tree);
    job.shares.push_back(std::move(share));
  }
  if (in.broken()) return fail(Errc::invalid, "the list of its trees is cut short");
  return {};
}

topo::JobTree job_tree_of(const JobShare& share, const std::vector<std::uint32_t>& hosts) {
  topo::JobTree job;
  job.hosts = hosts;
  job.leaf = share.leaves;
  for (std::size_t i = 0; i < share.nodes.size(); ++i) {
    job.nodes.push_back({share.nodes[i], static_cast<std::int32_t>(share.parents[i]) - 1, {}, {}});
    if (i != 0) job.nodes[share.parents[i] - 1].children.push_back(static_cast<std::uint32_t>(i));
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) job.nodes[share.leaves[i]].hosts.push_back(hosts[i]);
  return job;
}

JobShare share_of(const topo::JobTree& job, std::uint32_t tree, TreeId id) {
  JobShare share;
  share.tree = tree;
  share.id = id;
  for (const auto& node : job.nodes) {
    share.nodes.push_back(node.node);
    share.parents.push_back(static_cast<std::uint32_t>(node.parent + 1));
  }
  share.leaves = job.leaf;
  return share;
}

std::string text_of(const topo::Fabric& fabric) {
  std::string text;
  for (const auto& node : fabric.nodes)
    text += fmt::format("node {} {}{}\n", node.name, node.place.at_switch, node.place.at_host);
  for (const auto& host : fabric.hosts) {
    text += fmt::format("host {} {}", host.name, host.leaf);
    for (const auto& rail : host.rails) text += " " + rail.leaf;
    text += '\n';
  }
  for (const auto& link : fabric.links)
    text += fmt::format("link {}:{} {}:{}\n", link.a, link.a_port, link.b, link.b_port);
  return text;
}

}  // namespace sumac::manager
