#pragma once
// Forest, the machine that knows the trees. They follow the fabric: a node that stays away is down, and a node that registers again,
// or for the first time, joins. When no job runs, the trees are built anew, so that they are the best possible. In each of its trees
// a node has a shard, with OSTs, groups, an address and a parent of its own (docs/adr/0022). It asks Cluster who is there.
#include <string>
#include <vector>

#include "manager/cluster.hpp"
#include "manager/journal.hpp"
#include "topo/forest.hpp"

namespace sumac::manager {

/// The part that a node has in one tree.
struct Part {
  bool works = false;   ///< True if it lies on the path of some host, and so has a shard.
  std::string address;  ///< The address of the node's data path in this tree; empty if not reported yet.
  std::string why;      ///< The reason why the node cannot listen.
  bool link_up = false;
  std::string link_why;
  std::vector<wire::NumberRange> held;  ///< The numbers of the groups that its jobs had when it registered.
};

class Forest {
 public:
  Forest(Cluster& cluster, Journal& journal);

  /// Returns Errc::exhausted or not_found with the reason if this fabric has no trees.
  Result<> check() const;
  const Trees& trees() const { return trees_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(trees_.size()); }
  const Part& part(std::uint32_t tree, std::size_t node) const { return parts_[node][tree]; }
  /// The first address of the node; empty if it has reported none.
  std::string address_of(std::size_t node) const;
  /// True if trees were changed since they were built: they are built anew when no job runs.
  bool is_patched() const { return is_patched_; }
  bool has_node(std::size_t node) const;
  /// Returns the nodes of the job and those above them: requests to open and leave its groups go up to the tree's root,
  /// which assigns the group ids.
  std::vector<std::uint32_t> reserved_for(const JobShare& share) const;
  /// Describes the absent nodes that have work in any tree.
  std::string missing_nodes() const;
  /// The registered nodes that have work in a tree.
  std::vector<std::uint32_t> working_nodes(std::uint32_t tree) const;
  void describe(Facts& facts) const;

  // ---- the journal
  const std::string& fabric_text() const { return fabric_text_; }
  /// The fabric consists of other nodes and hosts than before.
  void note_fabric();
  /// Takes over the trees of a former life; false: they do not fit the fabric.
  bool restore(const std::vector<SavedTree>& saved, bool has_jobs);
  void keep(Step& step);

  // ---- the fabric changes
  struct Change {
    Trees before;
    std::vector<topo::TreeChange> trees;  ///< Empty if they were built anew.
  };
  Change follow(bool nobody_runs);
  void describe_change(Step& step, const Trees& before, const std::string& why, bool has_jobs) const;
  /// A node that must learn of its new part in a tree, or of its new parent there.
  struct News {
    std::uint32_t tree = 0, node = 0;
    bool part = false, parent = false;
  };
  /// Lists all differences from `before` in the order in which nodes learn of them: first the children lose their old
  /// part, then they receive their new parents.
  std::vector<News> adopt(const Trees& before);

  // ---- nodes
  void node_comes(std::size_t node, const std::vector<Listening>& listening);
  void node_leaves(std::size_t node);
  /// Returns whether the root's process, and so the tree's id, is another one than before.
  bool note_root(std::uint32_t tree);
  /// The next two return whether a job that is beginning may have waited for this.
  bool node_listens(Step& step, StreamId stream, std::size_t node, const Listening& listening);
  bool node_link(Step& step, std::size_t node, const Link& link);
  /// The node's part in the tree, without grants.
  NodeTree part_message(std::uint32_t tree, std::size_t node) const;
  void send_parent(Step& step, std::uint32_t tree, std::size_t child);
  void send_parents_of_children(Step& step, std::uint32_t tree, std::size_t parent);

 private:
  topo::TreeOptions options() const;
  void build();
  void take(const topo::Forest& forest);
  std::vector<bool> working(const Tree& tree) const;
  void note_who_works();
  TreeId id_for(std::uint32_t tree) const;

  Cluster& cluster_;
  Journal& journal_;
  std::string fabric_text_;
  Trees trees_;
  std::vector<std::vector<Part>> parts_;  ///< [node][tree]
  std::uint32_t next_shape_ = 1;  ///< The next id that topo gives to a shape; our tree ids depend on lives instead.
  Error no_trees_{};              ///< The reason why there is no tree; Errc::ok if there is one.
  bool is_patched_ = false;
  std::uint64_t version_ = 1;  ///< Changes with the fabric or its trees.
};

}  // namespace sumac::manager
