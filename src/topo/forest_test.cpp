#include "topo/forest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "topo/changes.hpp"
#include "topo/job_tree.hpp"
#include "topo/sample_fabrics.hpp"
#include "topo/test_fabric.hpp"
#include "topo/test_tree_check.hpp"

namespace sumac::topo {
namespace {

Forest planted(const Fabric& fabric, std::uint32_t trees, std::uint32_t radix = 0) {
  auto forest = build_forest(fabric, {trees, radix});
  EXPECT_TRUE(forest) << forest.error().context;
  return *forest;
}

std::uint32_t node_named(const Fabric& fabric, std::string_view name) {
  for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i)
    if (fabric.nodes[i].name == name) return i;
  return kNone;
}

std::string_view to_string(Fate fate) {
  switch (fate) {
    case Fate::kept: return "kept";
    case Fate::extended: return "extended";
    case Fate::repaired: return "repaired";
    case Fate::rebuilt: return "rebuilt";
    case Fate::lost: return "lost";
  }
  return "?";
}

Host& host_named(Fabric& fabric, std::string_view name) {
  return *std::find_if(fabric.hosts.begin(), fabric.hosts.end(), [&](const Host& each) { return each.name == name; });
}

TEST(Forest, nothing_changed_nothing_changes) {
  const auto fabric = leaf_spine(4, 2, 3);
  const auto before = planted(fabric, 2);
  const auto update = update_forest(fabric, before, {2, 0});
  ASSERT_EQ(update.changes.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(update.changes[i].fate, Fate::kept);
    EXPECT_EQ(update.forest.trees[i].id, i + 1);
    EXPECT_TRUE(same_tree(before.trees[i], update.forest.trees[i]));
  }
}

TEST(Forest, a_node_that_dies_touches_only_the_trees_and_jobs_that_used_it) {
  auto fabric = leaf_spine(4, 2, 3);
  const auto before = planted(fabric, 2);  // the roots are spine0 and spine1
  ASSERT_EQ(before.trees[0].nodes[before.trees[0].root].name, "an-spine0");
  const auto jobs = std::vector{prune(fabric, before.trees[0], std::vector<std::uint32_t>{0, 1, 3}),
                                prune(fabric, before.trees[0], std::vector<std::uint32_t>{6, 9})};
  fabric.nodes[node_named(fabric, "an-leaf0")].up = false;
  const auto update = update_forest(fabric, before, {2, 0});
  for (const auto& change : update.changes) {
    EXPECT_EQ(change.fate, Fate::repaired);
    EXPECT_EQ(change.gone, (std::vector<std::uint32_t>{node_named(fabric, "an-leaf0")}));
    EXPECT_TRUE(change.reparented.empty());
    EXPECT_EQ(change.moved, (std::vector<std::uint32_t>{0, 1, 2})) << "its hosts";
  }
  EXPECT_EQ(update.changes[0].before, 1U);
  EXPECT_EQ(update.changes[0].after, 3U);
  EXPECT_EQ(check_tree(fabric, update.forest.trees[0], {.radix = 0}), "");
  EXPECT_TRUE(notices(*jobs[0], before.trees[0], update.changes[0]));
  EXPECT_FALSE(notices(*jobs[1], before.trees[0], update.changes[0])) << "it never used that leaf";
}

TEST(Forest, the_end_of_what_carries_nothing_of_a_job_is_not_noticed_by_it) {
  const auto built = leaf_spine(4, 2, 3);  // h0 to h2 are at leaf0, h3 to h5 at leaf1, ...
  const auto before = planted(built, 1);
  const struct {
    const char* name;
    std::vector<std::uint32_t> hosts;
    const char* gone;
    bool noticed;
  } rows[] = {
      {"its host is alone at the leaf, and the job attached it higher", {0, 3}, "an-leaf0", false},
      {"the same beside a leaf that it uses", {0, 3, 4}, "an-leaf0", false},
      {"the leaf that it uses", {0, 3, 4}, "an-leaf1", true},
      {"its only host's leaf is its root", {0}, "an-leaf0", true},
      {"another leaf", {0, 3}, "an-leaf2", false},
      {"the node where the hosts meet", {0, 3}, "an-spine0", true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    auto fabric = built;
    const auto job = prune(fabric, before.trees[0], row.hosts);
    fabric.nodes[node_named(fabric, row.gone)].up = false;
    const auto update = update_forest(fabric, before, {1, 0});
    EXPECT_EQ(notices(*job, before.trees[0], update.changes[0]), row.noticed);
  }
}

TEST(Forest, a_root_that_dies_rebuilds_its_tree_alone) {
  auto fabric = leaf_spine(4, 3, 3);
  const auto before = planted(fabric, 2);
  fabric.nodes[node_named(fabric, "an-spine0")].up = false;
  const auto update = update_forest(fabric, before, {2, 0});
  EXPECT_EQ(update.changes[0].fate, Fate::rebuilt);
  EXPECT_EQ(update.changes[0].after, 3U);
  EXPECT_EQ(update.forest.trees[0].nodes[update.forest.trees[0].root].name, "an-spine2") << "not the other tree's root";
  EXPECT_EQ(update.changes[1].fate, Fate::extended) << "there it was idle: nobody notices";
  EXPECT_EQ(update.forest.trees[1].id, 2U);
}

TEST(Forest, a_link_that_dies_moves_what_it_carried) {
  auto fabric = leaf_spine(4, 2, 3, 2);
  const auto before = planted(fabric, 2);
  const auto leaf = node_named(fabric, "an-leaf1");
  const auto link = before.trees[0].nodes[leaf].route.at(0);
  fabric.links[link].up = false;
  const auto update = update_forest(fabric, before, {2, 0});
  EXPECT_EQ(update.changes[0].fate, Fate::repaired);
  EXPECT_EQ(update.changes[0].reparented, (std::vector<std::uint32_t>{leaf}));
  EXPECT_TRUE(update.changes[0].moved.empty());
  EXPECT_EQ(update.forest.trees[0].nodes[leaf].route.size(), 1U) << "over the link beside it";
  EXPECT_EQ(update.changes[1].fate, Fate::kept);
  EXPECT_TRUE(same_tree(update.forest.trees[1], before.trees[1]));
}

TEST(Forest, a_job_whose_root_gets_another_parent_goes_on) {
  auto fabric = leaf_spine(4, 2, 3);
  const auto before = planted(fabric, 1);
  const auto inside = prune(fabric, before.trees[0], std::vector<std::uint32_t>{0, 1, 2});
  const auto across = prune(fabric, before.trees[0], std::vector<std::uint32_t>{0, 1, 3});
  const auto link = std::find_if(fabric.links.begin(), fabric.links.end(),
                                 [](const SwitchLink& each) { return each.a == "leaf0" && each.b == "spine0"; });
  ASSERT_NE(link, fabric.links.end());
  link->up = false;
  const auto update = update_forest(fabric, before, {1, 0});
  EXPECT_EQ(update.changes[0].reparented, (std::vector<std::uint32_t>{node_named(fabric, "an-leaf0")}));
  EXPECT_FALSE(notices(*inside, before.trees[0], update.changes[0]));
  EXPECT_TRUE(notices(*across, before.trees[0], update.changes[0]));
}

TEST(Forest, whoever_registers_joins_without_disturbing) {
  auto fabric = registered_fabric("cloud");
  fabric.hosts.push_back(host("h1", kAnywhere));
  fabric.nodes.push_back({"an1", {kAnywhere, ""}, {}});
  auto forest = planted(fabric, 1, 8);
  fabric.hosts.push_back(host("h2", kAnywhere));
  fabric.hosts.push_back(host("h3", kAnywhere));
  fabric.nodes.push_back({"an2", {"", "h3"}, {}});
  auto update = update_forest(fabric, forest, {1, 8});
  ASSERT_EQ(update.changes[0].fate, Fate::extended);
  EXPECT_EQ(update.forest.trees[0].id, 1U);
  EXPECT_EQ(update.forest.trees[0].leaf_of_host, (std::vector<std::uint32_t>{0, 0, 0}));
  EXPECT_EQ(update.forest.trees[0].nodes[1].parent, 0);
  // Its host leaves and comes back; then the last node leaves.
  host_named(fabric, "h2").up = false;
  update = update_forest(fabric, update.forest, {1, 8});
  EXPECT_EQ(update.changes[0].fate, Fate::extended);
  EXPECT_EQ(update.forest.trees[0].leaf_of_host[1], kNone);
  host_named(fabric, "h2").up = true;
  update = update_forest(fabric, update.forest, {1, 8});
  EXPECT_EQ(update.forest.trees[0].leaf_of_host[1], 0U);
  fabric.nodes[node_named(fabric, "an1")].up = false;
  update = update_forest(fabric, update.forest, {1, 8});
  EXPECT_EQ(update.changes[0].fate, Fate::rebuilt);
  fabric.nodes[node_named(fabric, "an2")].up = false;
  update = update_forest(fabric, update.forest, {1, 8});
  EXPECT_EQ(update.changes[0].fate, Fate::lost);
  EXPECT_EQ(update.changes[0].after, 0U);
  EXPECT_TRUE(update.forest.trees.empty());
}

TEST(Forest, a_node_that_comes_takes_the_hosts_of_its_switch_home) {
  auto fabric = two_leaves();
  fabric.nodes.erase(fabric.nodes.begin() + 2);  // an-leaf2
  const auto before = planted(fabric, 1);
  EXPECT_EQ(before.trees[0].leaf_of_host[2], 0U);
  fabric.nodes.push_back({"an-leaf2", {"leaf2", ""}, {}});
  const auto update = update_forest(fabric, before, {1, 0});
  EXPECT_EQ(update.changes[0].fate, Fate::extended);
  EXPECT_TRUE(update.changes[0].moved.empty()) << "who runs goes on with the old leaf";
  EXPECT_EQ(update.forest.trees[0].leaf_of_host[2], 2U);
}

/// Changes every fabric at random: the trees are right again, kept trees are unchanged, and a job that the change does
/// not name is not affected.
TEST(Forest, random_changes_of_random_fabrics) {
  unsigned fates[5] = {};
  for (std::uint64_t seed = 1; seed <= 250; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937_64 random(seed);
    const auto below = [&](std::size_t bound) { return static_cast<std::uint32_t>(random() % bound); };
    auto fabric = random_fabric(seed);
    const std::uint32_t radix = seed % 3 == 0 ? 6 : 0;
    auto built = build_forest(fabric, {2, radix});
    if (!built) continue;
    auto forest = std::move(*built);
    for (int step = 0; step < 6; ++step) {
      const auto before = forest;
      switch (below(6)) {
        case 0: fabric.nodes[below(fabric.nodes.size())].up ^= true; break;
        case 1: fabric.switches[below(fabric.switches.size())].up ^= true; break;
        case 2: fabric.hosts[below(fabric.hosts.size())].up ^= true; break;
        case 3: fabric.nodes.push_back({fmt::format("new{}-{}", seed, step), {fabric.switches[0].name, ""}, {}}); break;
        case 4: fabric.hosts.push_back(host(fmt::format("late{}", step), fabric.switches.back().name)); break;
        default:
          if (!fabric.links.empty()) fabric.links[below(fabric.links.size())].up ^= true;
      }
      auto update = update_forest(fabric, before, {2, radix});
      ASSERT_EQ(update.changes.size(), before.trees.size());
      std::size_t next = 0;
      for (std::size_t i = 0; i < before.trees.size(); ++i) {
        const auto& change = update.changes[i];
        const auto& old = before.trees[i];
        ++fates[static_cast<std::size_t>(change.fate)];
        if (change.fate == Fate::lost) continue;
        const auto& now = update.forest.trees[next++];
        ASSERT_EQ(check_tree(fabric, now, {.radix = radix}), "") << "step " << step;
        ASSERT_EQ(now.id == old.id, change.fate == Fate::kept || change.fate == Fate::extended);
        if (change.fate == Fate::kept) {
          ASSERT_TRUE(same_tree(old, now));
        }
        std::vector<std::uint32_t> hosts;
        for (std::uint32_t h = 0; h < old.leaf_of_host.size(); ++h)
          if (old.leaf_of_host[h] != kNone && fabric.hosts[h].up && below(2) == 0) hosts.push_back(h);
        if (hosts.empty()) continue;
        const auto job = prune(fabric, old, hosts);
        ASSERT_TRUE(job);
        if (notices(*job, old, change)) continue;
        for (const auto& node : job->nodes) {
          ASSERT_TRUE(now.nodes[node.node].in_tree);
          if (node.parent < 0) continue;
          ASSERT_EQ(now.nodes[node.node].parent, old.nodes[node.node].parent);
          ASSERT_EQ(now.nodes[node.node].route, old.nodes[node.node].route);
        }
      }
      forest = std::move(update.forest);
    }
  }
  for (const auto fate : {Fate::kept, Fate::extended, Fate::repaired, Fate::rebuilt, Fate::lost})
    EXPECT_GT(fates[static_cast<std::size_t>(fate)], 0U) << to_string(fate) << " never came up";
}

}  // namespace
}  // namespace sumac::topo
