// Trees follow the fabric, and nodes learn of the changes.
#include <algorithm>

#include "manager/forest.hpp"
#include "manager/saved_tree.hpp"
#include "wire/host.hpp"
#include "wire/proof.hpp"

namespace sumac::manager {

using topo::kNone;

/// Returns the tree's id, derived from the life of the root's process, with the tree's index in it, because a node may
/// be the root of several trees. While the root has not registered, it returns the last known id.
TreeId Forest::id_for(std::uint32_t tree) const {
  const auto& root = cluster_.node(trees_[tree].shape.root);
  if (!root.seen) return trees_[tree].id;
  const auto life = static_cast<std::uint32_t>(root.who.life >> 33) & ~(wire::kTreesMax - 1);
  return TreeId{std::max<std::uint32_t>(life | tree, 1)};
}

Forest::Change Forest::follow(bool nobody_runs) {
  Change change{trees_, {}};
  note_fabric();
  if (nobody_runs || std::ranges::all_of(trees_, &Tree::lost)) {
    build();
    return change;
  }
  is_patched_ = true;
  topo::Forest forest;
  forest.next_id = next_shape_;
  std::vector<std::uint32_t> index;
  for (std::uint32_t i = 0; i < trees_.size(); ++i)
    if (!trees_[i].lost) {
      forest.trees.push_back(trees_[i].shape);
      index.push_back(i);
    }
  auto update = topo::update_forest(cluster_.fabric(), forest, options());
  change.trees.resize(trees_.size());
  for (std::size_t i = 0; i < index.size(); ++i) {
    change.trees[index[i]] = update.changes[i];
    trees_[index[i]].lost = update.changes[i].fate == topo::Fate::lost;
  }
  take(update.forest);
  return change;
}

void Forest::describe_change(Step& step, const Trees& before, const std::string& why, bool has_jobs) const {
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto& tree = trees_[i];
    const auto subject = fmt::format("tree {}", i + 1);
    if (before[i].lost != tree.lost || (!before[i].lost && before[i].shape.root != tree.shape.root)) {
      if (tree.lost)
        step.happened(Happened::Kind::tree_lost, subject, fmt::format("is lost: {}", why));
      else
        step.happened(Happened::Kind::tree_changed, subject,
                      fmt::format("has the root {}: {}", cluster_.node(tree.shape.root).name, why));
    } else if (!tree.lost && before[i].shape.id != tree.shape.id && has_jobs) {
      step.happened(Happened::Kind::tree_changed, subject, fmt::format("was repaired: {}", why));
    }
  }
}

std::vector<Forest::News> Forest::adopt(const Trees& before) {
  std::vector<News> news;
  parts_.resize(cluster_.nodes().size());
  for (auto& parts : parts_) parts.resize(trees_.size());
  const Tree none;
  for (std::uint32_t i = 0; i < trees_.size(); ++i) {
    auto& tree = trees_[i];
    const auto& old = i < before.size() ? before[i] : none;
    tree.id = tree.lost ? TreeId{} : id_for(i);
    if (!tree.lost && !old.lost && tree.shape.root != old.shape.root && !cluster_.node(tree.shape.root).seen)
      tree.id = TreeId{};
    const auto works = working(tree);
    for (std::uint32_t n = 0; n < parts_.size(); ++n) {
      auto& part = parts_[n][i];
      if (!works[n] && !part.works) continue;
      const bool was_root = !old.lost && old.shape.root == n, is_root = !tree.lost && tree.shape.root == n;
      const auto old_parent =
          old.lost || n >= old.shape.nodes.size() ? kNone : static_cast<std::uint32_t>(old.shape.nodes[n].parent);
      const bool same = part.works && works[n] && tree.id == old.id && was_root == is_root;
      part.works = works[n];
      if (!works[n]) part.address.clear();
      News one{i, n, !same, works[n] && (!same || old_parent != parent_of(trees_, i, n))};
      if (one.parent) {
        part.link_up = false;
        part.link_why = "not connected yet";
      }
      if (one.part || one.parent) news.push_back(one);
    }
  }
  return news;
}

/// The node reports the group numbers of members that still hold something there.
void Forest::node_comes(std::size_t node, const std::vector<Listening>& all) {
  for (auto& part : parts_[node]) {
    part.address.clear();
    part.why.clear();
    part.held.clear();
    part.link_up = false;
    part.link_why = "not connected yet";
  }
  for (const auto& listening : all)
    if (listening.tree < trees_.size()) {
      parts_[node][listening.tree].address = listening.address;
      parts_[node][listening.tree].held = listening.held;
    }
}

void Forest::node_leaves(std::size_t node) {
  for (auto& part : parts_[node]) part.link_up = false;
}

bool Forest::note_root(std::uint32_t tree) {
  const auto id = id_for(tree);
  return id != std::exchange(trees_[tree].id, id);
}

bool Forest::node_listens(Step& step, StreamId stream, std::size_t node, const Listening& listening) {
  if (listening.tree >= trees_.size() || listening.address.size() >= wire::kAddressMax) {
    step.refuse(stream, Errc::invalid, "it reported an address for an unknown tree, or one that is too long");
    return false;
  }
  auto& part = parts_[node][listening.tree];
  part.why = listening.why.substr(0, 300);
  if (listening.address.empty())
    step.say(
        LogLevel::error, "GENERAL",
        fmt::format("node {} can't listen for tree {}: {}", cluster_.node(node).name, listening.tree + 1, part.why));
  if (part.address == listening.address) return false;
  part.address = listening.address;
  send_parents_of_children(step, listening.tree, node);
  return true;
}

bool Forest::node_link(Step& step, std::size_t node, const Link& link) {
  if (link.tree >= trees_.size()) return false;
  const auto parent = parent_of(trees_, link.tree, node);
  if (parent == kNone) return false;
  auto& part = parts_[node][link.tree];
  if (part.link_up != link.up) {
    const auto& name = cluster_.node(node).name;
    const auto where = trees_.size() == 1 ? "" : fmt::format(" in tree {}", link.tree + 1);
    const auto& above = cluster_.node(parent).name;
    if (link.up) {
      step.say(LogLevel::info, "GENERAL", fmt::format("node {} is connected to its parent {}{}", name, above, where));
      step.happened(Happened::Kind::link_up, "node " + name,
                    fmt::format("is connected to its parent {}{}", above, where));
    } else {
      step.say(LogLevel::warn, "GENERAL",
               fmt::format("node {} lost its parent {}{}: {:.200}", name, above, where, link.why));
      step.happened(Happened::Kind::link_down, "node " + name,
                    fmt::format("lost its parent {}{}: {:.200}", above, where, link.why));
    }
  }
  part.link_up = link.up;
  part.link_why = link.why.substr(0, 300);
  return true;
}

NodeTree Forest::part_message(std::uint32_t tree, std::size_t node) const {
  return {.tree = tree,
          .tree_id = trees_[tree].id,
          .is_root = trees_[tree].shape.root == node,
          .over = !parts_[node][tree].works,
          .grants = {}};
}

void Forest::send_parent(Step& step, std::uint32_t tree, std::size_t child) {
  const auto parent = parent_of(trees_, tree, child);
  if (!cluster_.is_there(child) || parent == kNone || trees_[tree].id == TreeId{} || !parts_[child][tree].works) return;
  const auto& above = cluster_.node(parent);
  const auto& address = parts_[parent][tree].address;
  if (above.stream == 0 || address.empty()) return;
  Secret key{};
  if (!above.key || !wire::make_pair_key(*above.key, trees_[tree].id, node_id(child), node_id(parent), key)) {
    step.say(LogLevel::error, "GENERAL",
             fmt::format("node {} cannot connect to its parent {}: no key could be made for them",
                         cluster_.node(child).name, above.name));
    return;
  }
  cluster_.send(step, child, Parent{tree, node_id(parent), above.name, address, key});
}

void Forest::send_parents_of_children(Step& step, std::uint32_t tree, std::size_t parent) {
  for (std::size_t n = 0; n < parts_.size(); ++n)
    if (parent_of(trees_, tree, n) == parent) send_parent(step, tree, n);
}

}  // namespace sumac::manager
