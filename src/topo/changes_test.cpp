#include "topo/changes.hpp"

#include <gtest/gtest.h>

#include "topo/test_fabric.hpp"

namespace sumac::topo {
namespace {

TEST(Changes, what_is_added_is_there_and_what_is_removed_comes_back_at_its_index) {
  auto fabric = two_leaves();
  const auto small = fabric;
  auto large = small;
  large.switches.emplace_back("leaf3");
  large.links.push_back({"leaf3", "root", {}});
  large.hosts.push_back(host("h4", "leaf3"));
  large.nodes.push_back({"an-h4", {"", "h4"}, {}});
  become(fabric, large);
  EXPECT_EQ(fabric.hosts.back().name, "h4");
  EXPECT_EQ(fabric.nodes.back().name, "an-h4");
  become(fabric, small);
  EXPECT_EQ(fabric.switches.size(), 4U) << "nothing is erased";
  EXPECT_FALSE(fabric.switches[3].up);
  EXPECT_FALSE(fabric.links[2].up);
  EXPECT_FALSE(fabric.hosts[3].up);
  EXPECT_FALSE(fabric.nodes[3].up);
  large.hosts.erase(large.hosts.begin());
  become(fabric, large);
  EXPECT_EQ(fabric.links.size(), 3U);
  EXPECT_TRUE(fabric.links[2].up);
  EXPECT_TRUE(fabric.hosts[3].up);
  EXPECT_FALSE(fabric.hosts[0].up) << "h1 left";
  large.hosts.push_back(host("h1", "leaf3"));
  become(fabric, large);
  EXPECT_TRUE(fabric.hosts[0].up);
  EXPECT_EQ(fabric.hosts[0].leaf, "leaf3") << "it came back elsewhere";
}

TEST(Changes, one_of_several_links_is_named_by_its_ports) {
  auto fabric = two_leaves();
  fabric.links = {{"leaf1", "root", {}, 1, 11}, {"leaf1", "root", {}, 2, 12}};
  auto described = fabric;
  described.links.pop_back();
  become(fabric, described);
  EXPECT_TRUE(fabric.links[0].up);
  EXPECT_FALSE(fabric.links[1].up);
  described.links.clear();
  become(fabric, described);
  EXPECT_FALSE(fabric.links[0].up);
}

TEST(Changes, the_fabric_of_what_registers_is_one_switch) {
  const auto fabric = registered_fabric("cloud");
  EXPECT_EQ(fabric.name, "cloud");
  ASSERT_EQ(fabric.switches.size(), 1U);
  EXPECT_EQ(fabric.switches[0].name, kAnywhere);
}

}  // namespace
}  // namespace sumac::topo
