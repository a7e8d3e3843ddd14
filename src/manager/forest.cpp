#include "manager/forest.hpp"

#include <algorithm>

#include "manager/saved_tree.hpp"
#include "wire/host.hpp"

namespace sumac::manager {

using topo::kNone;

Forest::Forest(Cluster& cluster, Journal& journal) : cluster_(cluster), journal_(journal) {
  note_fabric();
  build();
  note_who_works();
}

topo::TreeOptions Forest::options() const {
  return {std::min(cluster_.fabric().trees, wire::kTreesMax), cluster_.fabric().radix};
}

void Forest::take(const topo::Forest& forest) {
  next_shape_ = forest.next_id;
  std::size_t next = 0;
  for (auto& tree : trees_) {
    if (tree.lost) continue;
    tree.shape = forest.trees.at(next++);
  }
}

/// Builds the trees that are best for the present fabric.
void Forest::build() {
  is_patched_ = false;
  no_trees_ = Error{Errc::ok, {}};
  auto forest = topo::build_forest(cluster_.fabric(), options());
  trees_.resize(std::max<std::size_t>(trees_.size(), options().count));
  for (auto& tree : trees_) tree.lost = true;
  if (!forest) {
    no_trees_ = forest.error();
    return;
  }
  for (std::size_t i = 0; i < forest->trees.size(); ++i) trees_[i].lost = false;
  take(*forest);
}

Result<> Forest::check() const {
  if (no_trees_.code != Errc::ok) return tl::unexpected(no_trees_);
  return {};
}

bool Forest::has_node(std::size_t node) const {
  return std::any_of(trees_.begin(), trees_.end(), [&](const Tree& tree) {
    return !tree.lost && node < tree.shape.nodes.size() && tree.shape.nodes[node].in_tree;
  });
}

std::vector<std::uint32_t> Forest::reserved_for(const JobShare& share) const {
  auto nodes = share.nodes;
  const auto& shape = trees_[share.tree].shape;
  for (auto at = shape.nodes[share.nodes.front()].parent; at >= 0;
       at = shape.nodes[static_cast<std::size_t>(at)].parent)
    nodes.push_back(static_cast<std::uint32_t>(at));
  return nodes;
}

/// Marks the nodes on the path of some host; other nodes have nothing to add up and need no shard.
std::vector<bool> Forest::working(const Tree& tree) const {
  std::vector<bool> works(cluster_.nodes().size(), false);
  if (tree.lost) return works;
  works[tree.shape.root] = true;
  for (const auto leaf : tree.shape.leaf_of_host)
    for (auto at = leaf == kNone ? -1 : static_cast<std::int32_t>(leaf);
         at >= 0 && !works[static_cast<std::size_t>(at)]; at = tree.shape.nodes[static_cast<std::size_t>(at)].parent)
      works[static_cast<std::size_t>(at)] = true;
  return works;
}

/// Records who works, for nodes that have not received anything yet.
void Forest::note_who_works() {
  parts_.assign(cluster_.nodes().size(), std::vector<Part>(trees_.size()));
  for (std::uint32_t i = 0; i < trees_.size(); ++i) {
    const auto works = working(trees_[i]);
    for (std::size_t n = 0; n < parts_.size(); ++n) parts_[n][i].works = works[n];
  }
}

std::string Forest::address_of(std::size_t node) const {
  const auto found = std::ranges::find_if(parts_[node], [](const Part& part) { return !part.address.empty(); });
  return found == parts_[node].end() ? std::string() : found->address;
}

std::string Forest::missing_nodes() const {
  std::vector<std::uint32_t> all;
  for (std::uint32_t n = 0; n < parts_.size(); ++n)
    if (std::ranges::any_of(parts_[n], &Part::works)) all.push_back(n);
  return cluster_.describe_missing(all);
}

std::vector<std::uint32_t> Forest::working_nodes(std::uint32_t tree) const {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t n = 0; n < parts_.size(); ++n)
    if (parts_[n][tree].works && cluster_.is_there(n)) nodes.push_back(n);
  return nodes;
}

void Forest::describe(Facts& facts) const {
  facts.fabric_version = version_;
  facts.all_registered = missing_nodes().empty();
  for (const auto& tree : trees_) facts.trees.push_back({.lost = tree.lost, .id = tree.id, .shape = &tree.shape});
  for (std::size_t n = 0; n < facts.nodes.size(); ++n) {
    auto& node = facts.nodes[n];
    node.in_tree = has_node(n);
    if (node.silent) node.silence = cluster_.silence_of(trees_, n);
    node.parts.reserve(trees_.size());
    for (std::uint32_t i = 0; i < trees_.size(); ++i) {
      const auto& part = parts_[n][i];
      const auto parent = parent_of(trees_, i, n);
      node.parts.push_back({.works = part.works,
                            .link_up = node.registered && (parent == kNone || part.link_up),
                            .parent = parent,
                            .address = part.address,
                            .link_why = part.link_why});
    }
  }
}

void Forest::note_fabric() {
  fabric_text_ = text_of(cluster_.fabric());
  parts_.resize(cluster_.nodes().size(), std::vector<Part>(trees_.size()));
}

bool Forest::restore(const std::vector<SavedTree>& saved, bool has_jobs) {
  Trees trees;
  for (const auto& one : saved) {
    Tree tree;
    if (!one.shape.empty()) {
      auto shape = tree_of(one.shape, cluster_.fabric());
      if (!shape) return false;
      tree.shape = *std::move(shape);
      tree.shape.id = next_shape_++;
      tree.id = one.id;
      tree.lost = false;
    }
    trees.push_back(std::move(tree));
  }
  if (has_jobs) {
    trees_ = std::move(trees);
    is_patched_ = true;
  } else {
    for (std::size_t i = 0; i < trees.size() && i < trees_.size(); ++i)
      if (!trees[i].lost && !trees_[i].lost && trees[i].shape.root == trees_[i].shape.root) trees_[i].id = trees[i].id;
  }
  note_who_works();
  return true;
}

void Forest::keep(Step& step) {
  ++version_;
  std::vector<SavedTree> saved;
  for (const auto& tree : trees_)
    saved.push_back({tree.id, tree.lost ? std::vector<std::uint32_t>{} : shape_of(tree.shape)});
  if (auto kept = journal_.set_trees(fabric_text_, saved); !kept)
    step.say(LogLevel::error, "GENERAL", fmt::format("the trees could not be saved: {}", kept.error().context));
}

}  // namespace sumac::manager
