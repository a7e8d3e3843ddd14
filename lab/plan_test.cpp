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
  EXPECT_EQ(ip_text(plan.first_port_of(plan.places[0]).ip), "10.77.0.1");
  EXPECT_EQ(plan.first_port_of(plan.places[0]).device, "lab0");
  EXPECT_EQ(plan.places[2].name, "an-root");
  EXPECT_EQ(plan.places[3].name, "manager");
  EXPECT_EQ(port_index_of(plan.first_port_of(plan.places[3]).mac.data()), 3U);
  const auto fabric = small();
  EXPECT_EQ(place_of(plan, fabric.nodes[0].place, "an-root").name, "an-root");
  EXPECT_EQ(place_of(plan, fabric.nodes[1].place, "an-x").name, "x1") << "a node on a host is that host";
}

TEST(Plan, paths_cross_the_links_in_order_and_none_at_a_switch) {
  const auto plan = make_plan(small());
  // The links are: 0 leaf>root, 1 root>leaf, 2 h1>leaf, 3 leaf>h1, 4 x1>leaf, 5 leaf>x1.
  EXPECT_EQ(plan.path(0, 1), (std::vector<std::uint16_t>{2, 5}));
  EXPECT_EQ(plan.path(0, 2), (std::vector<std::uint16_t>{2, 0}));
  EXPECT_EQ(plan.path(2, 0), (std::vector<std::uint16_t>{1, 3}));
  EXPECT_TRUE(plan.path(2, 3).empty());
  EXPECT_EQ(plan.links[3].from, "leaf");
  EXPECT_EQ(plan.links[3].to, "h1");
}

/// Makes h1 and h2 with a port in each of two planes; a node in each; the manager is in the first.
topo::Fabric two_planes() {
  auto fabric = small();
  fabric.switches.emplace_back("other");
  for (auto& host : fabric.hosts) {
    host.device = "mlx5_0";
    host.rails = {{"other", {}, 0, 0, host.name == "h1" ? "mlx5_1" : ""}};
  }
  fabric.nodes.push_back({"an-other", {"other", ""}, {}});
  return fabric;
}

TEST(Plan, a_rail_is_a_port_with_an_address_of_its_plane) {
  const auto plan = make_plan(two_planes());
  ASSERT_EQ(plan.places.size(), 5U) << "h1, x1, an-root, an-other, manager";
  const auto& h1 = plan.places[0];
  ASSERT_EQ(h1.port_count, 2U);
  EXPECT_EQ(plan.ports[0].device, "mlx5_0");
  EXPECT_EQ(ip_text(plan.ports[0].ip), "10.77.0.1");
  EXPECT_EQ(plan.ports[1].device, "mlx5_1");
  EXPECT_EQ(plan.ports[1].at, "other");
  EXPECT_EQ(ip_text(plan.ports[1].ip), "10.78.0.1");
  EXPECT_EQ(plan.ports[3].device, "lab1") << "what the file leaves unnamed";
  const auto& node = *find_place(plan, "an-other");
  EXPECT_EQ(node.port_count, 1U);
  EXPECT_EQ(ip_text(plan.first_port_of(node).ip), "10.78.0.3");
  EXPECT_EQ(ip_text(*plan.address_for(h1, node)), "10.78.0.3");
  EXPECT_FALSE(plan.address_for(*find_place(plan, "an-root"), node));
}

TEST(Plan, planes_share_no_link) {
  const auto plan = make_plan(two_planes());
  // The links are: 0 leaf>root, 2 h1>leaf, 4 h1>other, 6 x1>leaf, 8 x1>other; the odd ones are the opposite directions.
  // Ports 0 1: h1; 2 3: x1.
  EXPECT_EQ(plan.path(0, 2), (std::vector<std::uint16_t>{2, 7}));
  EXPECT_EQ(plan.path(1, 3), (std::vector<std::uint16_t>{4, 9}));
  EXPECT_EQ(plan.links[4].from, "h1");
  EXPECT_EQ(plan.links[4].to, "other");
  EXPECT_NE(plan.ports[0].plane, plan.ports[1].plane);
  EXPECT_TRUE(plan.path(0, 3).empty());
}

TEST(Plan, everybody_finds_the_manager_in_its_own_plane) {
  const auto plan = make_plan(two_planes());
  const auto& manager = *find_place(plan, "manager");
  EXPECT_EQ(manager.port_count, 2U);
  EXPECT_EQ(ip_text(*plan.address_for(plan.places[0], manager)), "10.77.0.4");
  EXPECT_EQ(ip_text(*plan.address_for(*find_place(plan, "an-other"), manager)), "10.78.0.4");
}

TEST(Plan, two_ports_in_one_plane_have_an_address_and_a_link_each) {
  auto fabric = small();
  fabric.hosts[0].rails = {{"root", {}, 0, 0, ""}};
  const auto plan = make_plan(fabric);
  EXPECT_EQ(ip_text(plan.ports[0].ip), "10.77.0.1");
  EXPECT_EQ(ip_text(plan.ports[1].ip), "10.77.0.2");
  // The links are: 0 leaf>root, 2 h1>leaf, 4 h1>root, 6 x1>leaf. Ports 0 1: h1; 2: x1.
  EXPECT_EQ(plan.path(0, 2), (std::vector<std::uint16_t>{2, 7}));
  EXPECT_EQ(plan.path(1, 2), (std::vector<std::uint16_t>{4, 1, 7})) << "not by the other port";
}

/// Writes the course of a multicast: a link's number, a colon and the port at which it comes out, its branches in
/// brackets.
std::string text_of(const std::vector<Branch>& flood, std::uint32_t at = 0) {
  const auto& here = flood[at];
  std::string text;
  if (here.link != Branch::kNone) text += fmt::format("{}", here.link);
  if (here.port != Branch::kNone) text += fmt::format(":{}", here.port);
  if (at + 1 == here.end) return text;
  text += '(';
  for (auto next = at + 1; next != here.end; next = flood[next].end) {
    if (next != at + 1) text += ' ';
    text += text_of(flood, next);
  }
  return text + ')';
}

TEST(Plan, a_multicast_crosses_each_link_once_and_reaches_every_port_of_its_plane_but_its_own) {
  const auto plan = make_plan(small());
  // The links are: 0 leaf>root, 1 root>leaf, 2 h1>leaf, 3 leaf>h1, 4 x1>leaf, 5 leaf>x1. The ports are: h1, x1,
  // an-root, manager.
  ASSERT_EQ(plan.floods.size(), 4U);
  EXPECT_EQ(text_of(plan.floods[0]), "(2(0(:2 :3) 5(:1)))");
  EXPECT_EQ(text_of(plan.floods[1]), "(4(0(:2 :3) 3(:0)))");
  EXPECT_EQ(text_of(plan.floods[2]), "(:3 1(3(:0) 5(:1)))");
  const auto planes = make_plan(two_planes());
  EXPECT_EQ(text_of(planes.floods[1]), "(4(:5 :7 9(:3)))")
      << "h1's second port: an-other, the manager's second, x1's second";
}

TEST(Plan, a_fabric_may_carry_no_multicasts) {
  auto fabric = small();
  fabric.multicast = false;
  EXPECT_TRUE(make_plan(fabric).floods.empty());
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
  EXPECT_EQ(ip_text(plan.ports[253].ip), "10.77.0.254");
  EXPECT_EQ(ip_text(plan.ports[254].ip), "10.77.1.1");
}

}  // namespace
}  // namespace sumac::lab
