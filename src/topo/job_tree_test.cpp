#include "topo/job_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "topo/sample_fabrics.hpp"
#include "topo/test_fabric.hpp"

namespace sumac::topo {
namespace {

/// Writes "node<parent[hosts]" for each node.
std::string draw(const Fabric& fabric, const JobTree& job) {
  std::string text;
  for (const auto& node : job.nodes) {
    std::string hosts;
    for (const auto host : node.hosts) hosts += (hosts.empty() ? "" : " ") + fabric.hosts[host].name;
    const auto parent =
        node.parent < 0 ? "-" : fabric.nodes[job.nodes[static_cast<std::size_t>(node.parent)].node].name.substr(3);
    text += fmt::format("{}{}<{}[{}]", text.empty() ? "" : " ", fabric.nodes[node.node].name.substr(3), parent, hosts);
  }
  return text;
}

TEST(JobTree, is_what_the_hosts_need_of_the_tree) {
  const auto fabric = leaf_spine(4, 2, 3);  // h0 to h2 are at leaf0, h3 to h5 at leaf1, ...
  const auto tree = build_tree(fabric);
  ASSERT_TRUE(tree);
  const struct {
    const char* name;
    std::vector<std::uint32_t> hosts;
    bool lift;
    const char* tree;
  } rows[] = {
      {"one leaf: it is the root", {1, 0}, true, "leaf0<-[h0 h1]"},
      {"two leaves", {0, 1, 3, 4}, true, "spine0<-[] leaf0<spine0[h0 h1] leaf1<spine0[h3 h4]"},
      {"alone at a leaf: attached higher", {0, 1, 3}, true, "spine0<-[h3] leaf0<spine0[h0 h1]"},
      {"or not, if asked", {0, 1, 3}, false, "spine0<-[] leaf0<spine0[h0 h1] leaf1<spine0[h3]"},
      {"all alone", {0, 3, 6}, true, "spine0<-[h0 h3 h6]"},
      {"one host", {7}, true, "leaf2<-[h7]"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto job = prune(fabric, *tree, row.hosts, {row.lift});
    ASSERT_TRUE(job);
    EXPECT_EQ(draw(fabric, *job), row.tree);
    ASSERT_EQ(job->leaf.size(), row.hosts.size());
    for (std::size_t i = 0; i < row.hosts.size(); ++i) {
      const auto& at = job->nodes[job->leaf[i]].hosts;
      EXPECT_EQ(std::count(at.begin(), at.end(), row.hosts[i]), 1);
    }
  }
}

TEST(JobTree, levels_count_the_nodes_on_the_way) {
  const auto fabric = fat_tree(4, 2, 2, 2, 3);
  const auto tree = build_tree(fabric);
  ASSERT_TRUE(tree);
  std::vector<std::uint32_t> all(fabric.hosts.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  EXPECT_EQ(prune(fabric, *tree, all)->levels(), 3U);
  EXPECT_EQ(prune(fabric, *tree, std::vector<std::uint32_t>{0, 1, 3})->levels(), 2U);
  EXPECT_EQ(prune(fabric, *tree, std::vector<std::uint32_t>{0, 1})->levels(), 1U);
}

TEST(JobTree, hosts_that_make_no_sense_are_refused) {
  auto fabric = leaf_spine(2, 1, 2);
  fabric.hosts[3].up = false;
  const auto tree = build_tree(fabric);
  ASSERT_TRUE(tree);
  const auto error = [&](std::vector<std::uint32_t> hosts) { return prune(fabric, *tree, hosts).error().context; };
  EXPECT_EQ(error({}), "a job without hosts has no tree");
  EXPECT_EQ(error({0, 1, 0}), "host h0 is twice in the job's list: name each once");
  EXPECT_EQ(error({0, 9}), "there is no host with the index 9");
  EXPECT_EQ(error({0, 3}), "host h3 has no leaf in tree 1: it is down, in another plane, or no node is near");
}

}  // namespace
}  // namespace sumac::topo
