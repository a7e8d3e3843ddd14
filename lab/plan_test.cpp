#include "lab/plan.hpp"

#include <gtest/gtest.h>

namespace sumac::lab {
namespace {

topo::Fabric small() {
  topo::Fabric fabric;
  fabric.name = "small";
  fabric.switches = {"root", "leaf"};
  fabric.links = {{"leaf", "root", {}}};
  topo::Host host;
  host.name = "h1";
  host.leaf = "leaf";
  fabric.hosts.push_back(host);
  host.name = "x1";
  fabric.hosts.push_back(host);
  fabric.nodes = {{"an-root", {"root", ""}, {}}, {"an-x", {"", "x1"}, {}}};
  fabric.manager = topo::Manager{{"root", ""}, 6126};
  return fabric;
}

TEST(Plan, hosts_and_what_stands_at_switches_are_places_of_their_own) {
  const auto plan = make_plan(small());
  ASSERT_EQ(plan.places.size(), 4U);
  EXPECT_EQ(plan.places[0].name, "h1");
  EXPECT_EQ(ip_text(plan.places[0].ip), "10.77.0.1");
  EXPECT_EQ(plan.places[2].name, "an-root");
  EXPECT_EQ(plan.places[3].name, "manager");
  EXPECT_EQ(place_index_of(plan.places[3].mac.data()), 3U);
  const auto fabric = small();
  EXPECT_EQ(place_of(plan, fabric.nodes[0].place, "an-root").name, "an-root");
  EXPECT_EQ(place_of(plan, fabric.nodes[1].place, "an-x").name, "x1") << "a node on a host is that host";
}

TEST(Plan, paths_cross_the_links_in_order_and_none_at_a_switch) {
  const auto plan = make_plan(small());
  // Links: 0 leaf>root, 1 root>leaf, 2 h1>leaf, 3 leaf>h1, 4 x1>leaf, 5 leaf>x1.
  EXPECT_EQ(plan.path(0, 1), (std::vector<std::uint16_t>{2, 5}));
  EXPECT_EQ(plan.path(0, 2), (std::vector<std::uint16_t>{2, 0}));
  EXPECT_EQ(plan.path(2, 0), (std::vector<std::uint16_t>{1, 3}));
  EXPECT_TRUE(plan.path(2, 3).empty());
  EXPECT_EQ(plan.links[3].from, "leaf");
  EXPECT_EQ(plan.links[3].to, "h1");
}

TEST(Plan, every_device_has_the_least_mtu) {
  auto fabric = small();
  fabric.links[0].spec.mtu_bytes = 1500;
  EXPECT_EQ(make_plan(fabric).mtu_bytes, 1500U);
}

TEST(Plan, offload_is_off_where_frames_may_be_lost_one_by_one) {
  auto fabric = small();
  EXPECT_TRUE(make_plan(fabric).offload);
  fabric.hosts[1].link.loss = 0.01;
  EXPECT_FALSE(make_plan(fabric).offload);
}

TEST(Plan, addresses_do_not_end_with_0_or_255) {
  auto fabric = small();
  for (int i = 2; i < 600; ++i) {
    fabric.hosts.push_back(fabric.hosts[0]);
    fabric.hosts.back().name = fmt::format("h{}", i);
  }
  const auto plan = make_plan(fabric);
  EXPECT_EQ(ip_text(plan.places[253].ip), "10.77.0.254");
  EXPECT_EQ(ip_text(plan.places[254].ip), "10.77.1.1");
}

}  // namespace
}  // namespace sumac::lab
