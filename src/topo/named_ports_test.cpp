#include "topo/named_ports.hpp"

#include <gtest/gtest.h>

#include "topo/test_fabric.hpp"

namespace sumac::topo {
namespace {

Host with_ports(std::string name, std::vector<std::pair<const char*, const char*>> ports) {
  Host made = host(std::move(name), ports.front().first);
  made.device = ports.front().second;
  for (std::size_t i = 1; i < ports.size(); ++i) made.rails.push_back({ports[i].first, {}, 0, 0, ports[i].second});
  return made;
}

/// Makes two planes, a and b, of one switch each, and two hosts with two ports in each.
Fabric two_planes() {
  Fabric fabric;
  fabric.name = "two-planes";
  fabric.switches = {"a", "b"};
  for (const auto* name : {"h1", "h2"})
    fabric.hosts.push_back(with_ports(name, {{"a", "mlx5_0"}, {"b", "mlx5_1"}, {"a", "mlx5_2"}, {"b", "mlx5_3"}}));
  fabric.nodes = {{"an-a", {"a", ""}, {}}, {"an-b", {"b", ""}, {}}};
  fabric.roots = {"an-a", "an-b"};
  fabric.trees = 2;
  return fabric;
}

TEST(NamedPorts, AListOfDevicesAndNumbers) {
  EXPECT_TRUE(parse_named_ports("")->empty());
  EXPECT_EQ(*parse_named_ports("mlx5_1:1,mlx5_2,eth0:2"),
            (std::vector<NamedPort>{{"mlx5_1", 1}, {"mlx5_2", 1}, {"eth0", 2}}));
  for (const auto* text : {"mlx5_0:0", "mlx5_0:", "mlx5_0:one", "mlx5_0:-1", "a,b:4294967296", "a,,b", ":1"})
    EXPECT_FALSE(parse_named_ports(text)) << text;
}

TEST(NamedPorts, PortsOfOneDeviceAreCounted) {
  const auto two_of_one = with_ports("h", {{"a", "mlx4_0"}, {"a", "mlx4_0"}, {"b", "mlx4_1"}, {"b", ""}});
  const struct {
    const char* names;
    std::vector<std::uint32_t> ports;
  } rows[] = {{"mlx4_0", {0}},  {"mlx4_0:2", {1}}, {"mlx4_1:1,mlx4_0:1", {0, 2}},
              {"mlx4_0:3", {}}, {"eth0", {}},      {"", {}}};
  for (const auto& row : rows)
    EXPECT_EQ(ports_named(two_of_one, *parse_named_ports(row.names)), row.ports) << row.names;
}

TEST(NamedPorts, ATreeInAnotherPlaneThanAllNamedPortsHasNoWay) {
  const auto fabric = two_planes();
  const auto trees = build_trees(fabric, tree_options(fabric));
  ASSERT_TRUE(trees) << trees.error().context;
  ASSERT_EQ(trees->size(), 2u);
  const std::uint32_t hosts[] = {0, 1};
  const struct {
    const char* names;
    bool a, b;
  } rows[] = {{"", true, true},        {"mlx5_0", true, false},     {"mlx5_2", true, false},
              {"mlx5_1", false, true}, {"mlx5_3:1", false, true},   {"mlx5_2,mlx5_3", true, true},
              {"eth0", true, true},    {"eth0,mlx5_1", false, true}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.names);
    const auto names = *parse_named_ports(row.names);
    for (const auto& tree : *trees) {
      const bool in_a = fabric.nodes[tree.root].name == "an-a";
      EXPECT_EQ(host_without_way(fabric, tree, hosts, names),
                (in_a ? row.a : row.b) ? std::nullopt : std::optional<std::size_t>(0));
    }
  }
}

TEST(NamedPorts, TheHostWithoutAWayIsTheOneThatIsToldOf) {
  auto fabric = two_planes();
  fabric.hosts[1] = with_ports("h2", {{"a", "mlx5_1"}, {"b", "mlx5_0"}});  // the cables of h2 are swapped
  const auto trees = build_trees(fabric, tree_options(fabric));
  ASSERT_TRUE(trees) << trees.error().context;
  const std::uint32_t hosts[] = {0, 1};
  const auto names = *parse_named_ports("mlx5_0");
  for (const auto& tree : *trees)
    EXPECT_EQ(host_without_way(fabric, tree, hosts, names), fabric.nodes[tree.root].name == "an-a" ? 1u : 0u);
}

}  // namespace
}  // namespace sumac::topo
