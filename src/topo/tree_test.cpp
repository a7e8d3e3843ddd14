#include "topo/tree.hpp"

#include <gtest/gtest.h>

#include <set>

#include "topo/test_fabric.hpp"

namespace sumac::topo {
namespace {

/// Writes "child<parent@depth ... | host:leaf ..." in the order of the file.
std::string draw(const Fabric& fabric) {
  const auto tree = build_tree(fabric);
  if (!tree) return tree.error().context;
  std::string text;
  for (const auto& node : tree->nodes) {
    const auto parent = node.parent < 0 ? std::string("-") : tree->nodes[static_cast<std::size_t>(node.parent)].name;
    text += fmt::format("{}<{}@{} ", node.name, parent, node.depth);
  }
  text += "|";
  for (std::size_t i = 0; i < fabric.hosts.size(); ++i) {
    text += fmt::format(" {}:{}", fabric.hosts[i].name, tree->nodes[tree->leaf_of_host[i]].name);
  }
  return text;
}

Fabric without_nodes() {
  auto fabric = two_leaves();
  fabric.nodes.clear();
  return fabric;
}

Fabric with_root(std::string name) {
  auto fabric = two_leaves();
  fabric.roots = {std::move(name)};
  return fabric;
}

Fabric only_at(std::vector<Node> nodes) {
  auto fabric = two_leaves();
  fabric.nodes = std::move(nodes);
  return fabric;
}

Fabric on_hosts() {
  auto fabric = two_leaves();
  fabric.hosts.push_back(host("x0", "root"));
  fabric.hosts.push_back(host("x1", "leaf1"));
  fabric.hosts.push_back(host("x2", "leaf2"));
  fabric.nodes = {{"an0", {"", "x0"}, {}}, {"an1", {"", "x1"}, {}}, {"an2", {"", "x2"}, {}}};
  return fabric;
}

TEST(Tree, spans_all_nodes_and_gives_every_host_a_leaf) {
  const struct {
    const char* name;
    Fabric fabric;
    const char* tree;
  } rows[] = {
      {"a node at each switch: the centre is the root", two_leaves(),
       "an-root<-@0 an-leaf1<an-root@1 an-leaf2<an-root@1 | h1:an-leaf1 h2:an-leaf1 h3:an-leaf2"},
      {"the file may name another root; a node with a single child is passed by", with_root("an-leaf1"),
       "an-root<an-leaf1@1 an-leaf1<-@0 an-leaf2<an-leaf1@1 | h1:an-leaf1 h2:an-leaf1 h3:an-leaf2"},
      {"a switch without a node: its hosts use the nearest", only_at({{"a", {"leaf1", ""}, {}}}),
       "a<-@0 | h1:a h2:a h3:a"},
      {"no node at the root: of two equal centres the nearer to most hosts",
       only_at({{"b", {"leaf2", ""}, {}}, {"a", {"leaf1", ""}, {}}}), "b<a@1 a<-@0 | h1:a h2:a h3:b"},
      {"two nodes at one switch: the first name serves its hosts, none is the other's parent",
       only_at({{"z", {"root", ""}, {}}, {"b", {"leaf1", ""}, {}}, {"a", {"leaf1", ""}, {}}}),
       "z<-@0 b<z@1 a<z@1 | h1:a h2:a h3:z"},
      {"nodes on hosts", on_hosts(), "an0<-@0 an1<an0@1 an2<an0@1 | h1:an1 h2:an1 h3:an2 x0:an0 x1:an1 x2:an2"},
      {"no node at all", without_nodes(), "fabric two-leaves has no aggregation node: name one under 'nodes'"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(draw(row.fabric), row.tree);
  }
}

TEST(Tree, a_nodes_link_rate_is_the_files_else_its_hosts_else_unlimited) {
  auto fabric = on_hosts();
  for (auto& h : fabric.hosts) h.link.rate_bits_per_s = 200;
  fabric.nodes[1].link_rate_bits_per_s = 7;
  fabric.nodes.push_back({"an3", {"leaf1", ""}, {}});
  const auto tree = build_tree(fabric);
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->nodes[0].link_rate_bits_per_s, 200U);
  EXPECT_EQ(tree->nodes[1].link_rate_bits_per_s, 7U);
  EXPECT_EQ(tree->nodes[3].link_rate_bits_per_s, 0U);
}

TEST(Tree, children_know_their_parent_and_parents_their_children) {
  const auto tree = build_tree(two_leaves());
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->root, 0U);
  EXPECT_EQ(tree->nodes[0].children, (std::vector<std::uint32_t>{1, 2}));
}

/// Makes two leaves under a root switch, n hosts at each, all with a link of 60 Mbit/s.
Fabric hosts_at_two_leaves(std::uint32_t n) {
  Fabric fabric;
  fabric.name = "stripes";
  fabric.switches = {"root", "leaf1", "leaf2"};
  fabric.links = {{"leaf1", "root", {}}, {"leaf2", "root", {}}};
  for (std::uint32_t i = 0; i < 2 * n; ++i) {
    fabric.hosts.push_back(host("h" + std::to_string(i), i < n ? "leaf1" : "leaf2"));
    fabric.hosts.back().link.rate_bits_per_s = 60'000'000;
  }
  return fabric;
}

TEST(Tree, nodes_with_a_hosts_link_are_the_roots_of_flat_trees_and_work_in_no_other) {
  for (const bool spare : {true, false}) {
    SCOPED_TRACE(spare ? "on spare hosts" : "on the hosts themselves");
    auto fabric = hosts_at_two_leaves(spare ? 8 : 4);  // every second one of the 16 is spare
    for (std::uint32_t i = 0; i < fabric.hosts.size(); ++i) {
      if (spare && i % 2 == 0) continue;
      fabric.hosts[i].compute = !spare;
      fabric.nodes.push_back({"an" + std::to_string(i), {"", fabric.hosts[i].name}, {}});
    }
    ASSERT_EQ(fabric.nodes.size(), 8u);
    const auto trees = build_trees(fabric, {8, 0});
    ASSERT_TRUE(trees) << trees.error().context;
    std::set<std::uint32_t> roots;
    for (const auto& tree : *trees) {
      roots.insert(tree.root);
      for (std::uint32_t i = 0; i < fabric.hosts.size(); ++i) EXPECT_EQ(tree.leaf_of_host[i], tree.root);
    }
    EXPECT_EQ(roots.size(), 8u) << "each is the root of one";
  }
}

TEST(Tree, nodes_on_hosts_share_the_work_where_one_would_have_too_many_children) {
  auto fabric = hosts_at_two_leaves(100);
  for (const std::uint32_t i : {0u, 100u}) {
    fabric.hosts[i].compute = false;
    fabric.nodes.push_back({"an" + std::to_string(i), {"", fabric.hosts[i].name}, {}});
  }
  const auto tree = build_tree(fabric);
  ASSERT_TRUE(tree) << tree.error().context;
  EXPECT_EQ(tree->levels(), 2u);
  const auto radix = build_trees(hosts_at_two_leaves(4), {1, 4});
  EXPECT_FALSE(radix) << "no node at all";
}

}  // namespace
}  // namespace sumac::topo
