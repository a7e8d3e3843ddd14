// Trees: they are built from the fabric and follow it; nodes and jobs are informed of the changes.
#include <algorithm>
#include <set>

#include "manager/core.hpp"
#include "manager/core_messages.hpp"
#include "manager/saved_tree.hpp"
#include "topo/changes.hpp"
#include "wire/host.hpp"

namespace sumac::manager {

using topo::kNone;

topo::TreeOptions Manager::tree_options() const { return {std::min(fabric_.trees, wire::kTreesMax), fabric_.radix}; }

void Manager::take_forest(const topo::Forest& forest) {
  next_shape_ = forest.next_id;
  std::size_t next = 0;
  for (auto& tree : trees_) {
    if (tree.lost) continue;
    tree.shape = forest.trees.at(next++);
  }
}

/// Builds the trees that are best for the present fabric.
void Manager::build_trees() {
  patched_ = false;
  no_trees_ = Error{Errc::ok, {}};
  auto forest = topo::build_forest(fabric_, tree_options());
  trees_.resize(std::max<std::size_t>(trees_.size(), tree_options().count));
  for (auto& tree : trees_) tree.lost = true;
  if (!forest) {
    no_trees_ = forest.error();
    return;
  }
  for (std::size_t i = 0; i < forest->trees.size(); ++i) trees_[i].lost = false;
  take_forest(*forest);
}

Result<> Manager::check() const {
  if (no_trees_.code != Errc::ok) return tl::unexpected(no_trees_);
  return {};
}

std::vector<std::uint32_t> Manager::way_up(std::uint32_t tree, std::uint32_t from) const {
  std::vector<std::uint32_t> nodes;
  const auto& shape = trees_[tree].shape;
  for (auto at = shape.nodes[from].parent; at >= 0; at = shape.nodes[static_cast<std::size_t>(at)].parent)
    nodes.push_back(static_cast<std::uint32_t>(at));
  return nodes;
}

/// Returns the nodes of the job and those above them: requests to open and leave its groups go up to the tree's root,
/// which assigns the group ids.
std::vector<std::uint32_t> Manager::reserved_for(const JobShare& share) const {
  auto nodes = share.nodes;
  const auto above = way_up(share.tree, share.nodes.front());
  nodes.insert(nodes.end(), above.begin(), above.end());
  return nodes;
}

/// Marks the nodes on the path of some host; other nodes have nothing to add up and need no shard.
std::vector<bool> Manager::working(const Tree& tree) const {
  std::vector<bool> works(nodes_.size(), false);
  if (tree.lost) return works;
  works[tree.shape.root] = true;
  for (const auto leaf : tree.shape.leaf_of_host)
    for (auto at = leaf == kNone ? -1 : static_cast<std::int32_t>(leaf);
         at >= 0 && !works[static_cast<std::size_t>(at)]; at = tree.shape.nodes[static_cast<std::size_t>(at)].parent)
      works[static_cast<std::size_t>(at)] = true;
  return works;
}

/// Records who works, for nodes that have not received anything yet.
void Manager::note_who_works() {
  for (auto& node : nodes_) node.parts.assign(trees_.size(), {});
  for (std::uint32_t i = 0; i < trees_.size(); ++i) {
    const auto works = working(trees_[i]);
    for (std::size_t n = 0; n < nodes_.size(); ++n) nodes_[n].parts[i].works = works[n];
  }
}

bool Manager::in_a_tree(std::size_t node) const {
  return std::any_of(trees_.begin(), trees_.end(), [&](const Tree& tree) {
    return !tree.lost && node < tree.shape.nodes.size() && tree.shape.nodes[node].in_tree;
  });
}

/// Returns kNone for the root, and for a node that is not in the tree.
std::uint32_t Manager::parent_of(std::uint32_t tree, std::size_t node) const {
  if (trees_[tree].lost || node >= trees_[tree].shape.nodes.size()) return kNone;
  const auto parent = trees_[tree].shape.nodes[node].parent;
  return parent < 0 ? kNone : static_cast<std::uint32_t>(parent);
}

/// Returns the tree's id, derived from the life of the root's process, with the tree's index in it, because a node may
/// be the root of several trees. While the root has not registered, it returns the last known id.
TreeId Manager::id_for(std::uint32_t tree) const {
  const auto& root = nodes_[trees_[tree].shape.root];
  if (!root.seen) return trees_[tree].id;
  const auto life = static_cast<std::uint32_t>(root.who.life >> 33) & ~(wire::kTreesMax - 1);
  return TreeId{std::max<std::uint32_t>(life | tree, 1)};
}

void Manager::keep_trees(ActionList& out) {
  ++fabric_version_;
  std::vector<SavedTree> saved;
  for (const auto& tree : trees_)
    saved.push_back({tree.id, tree.lost ? std::vector<std::uint32_t>{} : shape_of(tree.shape)});
  if (auto kept = journal_.set_trees(fabric_text_, saved); !kept)
    out.push_back(
        Say{LogLevel::error, "GENERAL", fmt::format("the trees could not be saved: {}", kept.error().context)});
}

/// Adapts the trees to a changed fabric and informs all nodes and jobs that have a part in them.
void Manager::follow(ActionList& out, const std::string& why) {
  const auto before = trees_;
  fabric_text_ = text_of(fabric_);
  const bool any = std::any_of(trees_.begin(), trees_.end(), [](const Tree& tree) { return !tree.lost; });
  if (nobody_runs() || !any) {
    build_trees();
  } else {
    patched_ = true;
    topo::Forest forest;
    forest.next_id = next_shape_;
    std::vector<std::uint32_t> index;
    for (std::uint32_t i = 0; i < trees_.size(); ++i)
      if (!trees_[i].lost) {
        forest.trees.push_back(trees_[i].shape);
        index.push_back(i);
      }
    auto update = topo::update_forest(fabric_, forest, tree_options());
    std::vector<topo::TreeChange> changes(trees_.size());
    for (std::size_t i = 0; i < index.size(); ++i) {
      changes[index[i]] = update.changes[i];
      trees_[index[i]].lost = update.changes[i].fate == topo::Fate::lost;
    }
    lose_jobs(out, before, changes, why);
    take_forest(update.forest);
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].lost != trees_[i].lost || (!before[i].lost && before[i].shape.root != trees_[i].shape.root))
      happened(out, trees_[i].lost ? Happened::Kind::tree_lost : Happened::Kind::tree_changed,
               fmt::format("tree {}", i + 1),
               trees_[i].lost ? fmt::format("is lost: {}", why)
                              : fmt::format("has the root {}: {}", nodes_[trees_[i].shape.root].name, why));
    else if (!trees_[i].lost && before[i].shape.id != trees_[i].shape.id && !jobs_.empty())
      happened(out, Happened::Kind::tree_changed, fmt::format("tree {}", i + 1), fmt::format("was repaired: {}", why));
  }
  adopt(out, before);
}

/// Releases the jobs that the change affects: a node of theirs is gone or has another parent, or the tree has another
/// root and thus other group ids.
void Manager::lose_jobs(ActionList& out, const std::vector<Tree>& before, const std::vector<topo::TreeChange>& changes,
                        const std::string& why) {
  const auto text_for = [&](const Job& job) -> std::optional<std::string> {
    for (std::size_t i = 0; i < job.record.shares.size(); ++i) {
      const auto tree = job.record.shares[i].tree;
      const auto& change = changes[tree];
      const bool over = change.fate == topo::Fate::rebuilt || change.fate == topo::Fate::lost;
      if (over || (change.fate == topo::Fate::repaired && topo::notices(job.trees[i], before[tree].shape, change)))
        return fmt::format("{}, and tree {} has changed for this job: start it again", why, tree + 1);
    }
    return std::nullopt;
  };
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    const auto job = at++;
    const auto text = text_for(job->second);
    if (!text) continue;
    if (job->second.granted)
      release(out, job, *text);
    else
      fail_begin(out, job, *text);
  }
  for (auto& one : leaving_)
    if (const auto text = one.lapsed.empty() ? std::nullopt : text_for(one.job)) {
      tell_ended(out, one.job, *text);
      one.lapsed.clear();
    }
}

/// Informs the nodes of all differences from `before`: first the children lose their old part, then they receive their
/// new parents.
void Manager::adopt(ActionList& out, const std::vector<Tree>& before) {
  for (std::uint32_t i = 0; i < trees_.size(); ++i) {
    auto& tree = trees_[i];
    const Tree none;
    const auto& old = i < before.size() ? before[i] : none;
    tree.id = tree.lost ? TreeId{} : id_for(i);
    if (!tree.lost && !old.lost && tree.shape.root != old.shape.root && !nodes_[tree.shape.root].seen)
      tree.id = TreeId{};
    const auto works = working(tree);
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      auto& node = nodes_[n];
      node.parts.resize(trees_.size());
      auto& part = node.parts[i];
      const bool was_root = !old.lost && old.shape.root == n, is_root = !tree.lost && tree.shape.root == n;
      const auto old_parent =
          old.lost || n >= old.shape.nodes.size() ? kNone : static_cast<std::uint32_t>(old.shape.nodes[n].parent);
      const auto parent = parent_of(i, n);
      if (!works[n] && !part.works) continue;
      const bool same = part.works && works[n] && tree.id == old.id && was_root == is_root;
      if (!same) stop_waiting(i, static_cast<std::uint32_t>(n));
      part.works = works[n];
      if (!same) {
        send_part(out, i, node);
        if (!works[n]) part.address.clear();
      }
      if (works[n] && (!same || old_parent != parent)) {
        part.link_up = false;
        part.link_why = "not connected yet";
        send_parent(out, i, node);
      }
    }
  }
  erase_left(out);
  set_ways_up(out);
  keep_trees(out);
  finish_ready(out);
}

/// Above a job's own root the tree may change while the job goes on: the nodes that are new there receive its grant.
void Manager::set_ways_up(ActionList& out) {
  for (auto& [id, job] : jobs_) {
    for (std::size_t i = 0; i < job.record.shares.size(); ++i) {
      const auto& share = job.record.shares[i];
      auto now = reserved_for(share);
      if (now == job.reserved[i]) continue;
      const std::set<std::uint32_t> old(job.reserved[i].begin(), job.reserved[i].end()), next(now.begin(), now.end());
      use_nodes(job, i, job.reserved[i], false);
      use_nodes(job, i, now, true);
      job.reserved[i] = std::move(now);
      for (const auto n : old) {
        if (next.contains(n) || nodes_[n].stream == 0 || !nodes_[n].parts[share.tree].works) continue;
        send(out, nodes_[n], Revoke{share.tree, id, "it is not on the job's path to the root any more"});
      }
      for (const auto n : next) {
        // A node that stays may now have another child on the path.
        const bool is_told =
            old.contains(n) && std::find(share.nodes.begin(), share.nodes.end(), n) != share.nodes.end();
        if (is_told || nodes_[n].stream == 0 || !nodes_[n].parts[share.tree].works) continue;
        send(out, nodes_[n], grant_to(job, i, n));
        if (!job.granted) job.wait_for.push_back({share.tree, n, nodes_[n].sent});
      }
    }
  }
}

/// From now on, absent nodes of the fabric are waited for, but only for a limited time.
void Manager::expect_nodes(Time now) {
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].stream == 0 && fabric_.nodes[i].up && nodes_[i].away_at == kNever)
      nodes_[i].away_at = now + rules_.settle;
}

void Manager::give_up_absent(ActionList& out, Time now) {
  std::vector<std::string> gone;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    auto& node = nodes_[i];
    if (node.away_at > now) continue;
    node.away_at = kNever;
    fabric_.nodes[i].up = false;
    gone.push_back(node.name);
  }
  if (gone.empty()) return;
  const auto who = fmt::format("node{} {}", gone.size() == 1 ? "" : "s", join(gone).substr(0, 300));
  const auto why = fmt::format("{} {} away", who, gone.size() == 1 ? "stays" : "stay");
  out.push_back(Say{LogLevel::warn, "GENERAL", fmt::format("{}: the trees go on without", why)});
  happened(out, Happened::Kind::node_lost, who,
           gone.size() == 1 ? "stays away: the trees go on without it" : "stay away: the trees go on without them");
  follow(out, why);
}

ActionList Manager::fabric_changes(const topo::Fabric& described, Time now) {
  ActionList out;
  now_ = now;
  topo::become(fabric_, described);
  for (std::size_t i = 0; i < fabric_.nodes.size(); ++i) {
    if (i == nodes_.size()) add_node(fabric_.nodes[i].name);
    // A described and present node is up; a described node that was never seen is expected; an undescribed one is down,
    // even if it registers.
    nodes_[i].described = fabric_.nodes[i].up;
    if (nodes_[i].described && nodes_[i].stream == 0 && nodes_[i].seen)
      fabric_.nodes[i].up = nodes_[i].away_at != kNever;
    if (nodes_[i].is_down) fabric_.nodes[i].up = false;
  }
  host_by_name_.clear();
  for (std::size_t i = 0; i < fabric_.hosts.size(); ++i)
    if (fabric_.hosts[i].up) host_by_name_[fabric_.hosts[i].name] = static_cast<std::uint32_t>(i);
  place_hosts(out);
  expect_nodes(now);
  ++sharpds_version_;
  happened(out, Happened::Kind::fabric_changed, "fabric " + fabric_.name, "was read again");
  follow(out, "the fabric's description has changed");
  return out;
}

}  // namespace sumac::manager
