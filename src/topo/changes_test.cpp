#include "topo/changes.hpp"

#include <gtest/gtest.h>

#include "topo/test_fabric.hpp"

namespace sumac::topo {
namespace {

TEST(Changes, what_is_added_is_there_and_what_is_removed_comes_back_at_its_index) {
  auto fabric = two_leaves();
  ASSERT_TRUE(add_switch(fabric, "leaf3"));
  ASSERT_TRUE(add_link(fabric, {"leaf3", "root", {}}));
  ASSERT_TRUE(add_host(fabric, host("h4", "leaf3")));
  ASSERT_TRUE(add_node(fabric, {"an-h4", {"", "h4"}, {}}));
  EXPECT_EQ(fabric.hosts.back().name, "h4");
  ASSERT_TRUE(remove_host(fabric, "h1"));
  EXPECT_FALSE(fabric.hosts[0].up);
  ASSERT_TRUE(add_host(fabric, host("h1", "leaf3")));
  EXPECT_TRUE(fabric.hosts[0].up);
  EXPECT_EQ(fabric.hosts[0].leaf, "leaf3") << "it came back elsewhere";
  ASSERT_TRUE(remove_link(fabric, "root", "leaf3"));
  EXPECT_FALSE(fabric.links[2].up);
  ASSERT_TRUE(add_link(fabric, {"root", "leaf3", {}}));
  EXPECT_EQ(fabric.links.size(), 3U);
  EXPECT_TRUE(fabric.links[2].up);
  ASSERT_TRUE(remove_switch(fabric, "leaf3"));
  EXPECT_FALSE(fabric.switches[3].up);
}

TEST(Changes, one_of_several_links_is_named_by_its_ports) {
  auto fabric = two_leaves();
  fabric.links = {{"leaf1", "root", {}, 1, 11}, {"leaf1", "root", {}, 2, 12}};
  ASSERT_TRUE(set_link_up(fabric, "root", "leaf1", false, 12, 2));
  EXPECT_TRUE(fabric.links[0].up);
  EXPECT_FALSE(fabric.links[1].up);
  ASSERT_TRUE(set_link_up(fabric, "leaf1", "root", false));
  EXPECT_FALSE(fabric.links[0].up);
}

TEST(Changes, what_makes_no_sense_is_refused_and_changes_nothing) {
  auto fabric = two_leaves();
  const auto hosts = fabric.hosts.size();
  const struct {
    Result<> result;
    const char* message;
  } rows[] = {
      {add_host(fabric, host("h1", "leaf2")), "host h1 is there already: choose another name, or remove that one"},
      {add_host(fabric, host("root", "leaf2")), "host root: a switch has that name: choose another"},
      {add_host(fabric, host("h9", "leaf9")), "host h9: fabric two-leaves has no switch leaf9: name one that it has"},
      {add_switch(fabric, "h1"), "switch h1: a host has that name: choose another"},
      {add_link(fabric, {"root", "root", {}}), "link root-root: a link joins two switches, not one with itself"},
      {add_link(fabric, {"root", "leaf9", {}}),
       "link root-leaf9: fabric two-leaves has no switch leaf9: name one that it has"},
      {add_node(fabric, {"an9", {}, {}}), "node an9: add its position, either 'switch' or 'host'"},
      {add_node(fabric, {"an9", {"", "h9"}, {}}), "node an9: fabric two-leaves has no host h9: name one that it has"},
      {add_node(fabric, {"an-root", {"root", ""}, {}}),
       "node an-root is there already: choose another name, or remove that one"},
      {remove_node(fabric, "an9"), "fabric two-leaves has no node an9"},
      {remove_host(fabric, "h9"), "fabric two-leaves has no host h9"},
      {remove_switch(fabric, "leaf9"), "fabric two-leaves has no switch leaf9"},
      {remove_link(fabric, "leaf1", "leaf2"), "fabric two-leaves has no link leaf1-leaf2"},
  };
  for (const auto& row : rows) {
    ASSERT_FALSE(row.result) << row.message;
    EXPECT_EQ(row.result.error().context, row.message);
  }
  EXPECT_EQ(fabric.hosts.size(), hosts);
}

}  // namespace
}  // namespace sumac::topo
