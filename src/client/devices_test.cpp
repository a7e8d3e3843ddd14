#include "client/devices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sharp/api/sharp_coll.h>

namespace sumac::client {
namespace {

using testing::ElementsAre;

/// Two adapters, one of them with two ports, and an interface without an adapter.
const net::HostPort kPorts[] = {
    {"lo", "", 1}, {"eth0", "", 1}, {"enp1s0", "mlx5_0", 1}, {"ib0", "mlx4_0", 1}, {"ib1", "mlx4_0", 2}};

TEST(Devices, ANameIsAnAdaptersOrAnInterfaces) {
  const struct {
    const char *list, *names, *interfaces;
  } rows[] = {
      {"mlx5_0:1", "mlx5_0:1", "enp1s0"},
      {"mlx5_0", "mlx5_0:1", "enp1s0"},
      {"enp1s0:1", "mlx5_0:1", "enp1s0"},
      {"mlx4_0:2,mlx4_0:1", "mlx4_0:2,mlx4_0:1", "ib1,ib0"},
      {" eth0 , ib1:1", "eth0,mlx4_0:2", "eth0,ib1"},
      {"any", "", ""},
      {"", "", ""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.list);
    const auto found = find_devices({.variable = row.list}, kPorts);
    ASSERT_TRUE(found) << found.error().text;
    EXPECT_EQ(found->names(), row.names);
    std::string interfaces;
    for (const auto& port : found->ports) interfaces += (interfaces.empty() ? "" : ",") + port.interface;
    EXPECT_EQ(interfaces, row.interfaces);
  }
}

TEST(Devices, ALanInterfaceMayBeCalledAsAnAdapter) {
  const net::HostPort lab[] = {{"mlx5_1", "", 1}, {"mlx5_2", "", 1}};
  const auto found = find_devices({.program = "mlx5_2:1,mlx5_1:1"}, lab);
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_EQ(found->names(), "mlx5_2,mlx5_1");
}

TEST(Devices, APastedAdapterIsStoodInForWhereThereIsNone) {
  const net::HostPort plain[] = {{"lo", "", 1}, {"eth0", "", 1}};
  const net::HostPort lab[] = {{"lo", "", 1}, {"mlx5_2", "", 1}};
  const auto found = find_devices({.program = "mlx5_1:1"}, plain);
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_TRUE(found->is_stood_in_for());
  EXPECT_EQ(found->origin, "ib_dev_list (the program's, or HCOLL_MAIN_IB)=mlx5_1:1");
  EXPECT_FALSE(find_devices({.program = "any"}, plain)->is_stood_in_for());
  EXPECT_FALSE(find_devices({.program = "mlx5_1:1"}, lab));
  EXPECT_FALSE(find_devices({.program = "mlx5_9:1"}, kPorts));
  EXPECT_FALSE(find_devices({.program = "eth7"}, plain));
  EXPECT_FALSE(find_devices({.variable = "mlx5_1:1"}, plain)) << "who knows this variable means this host";
}

TEST(Devices, WhatIsWrongIsNamedWithWhatThereIs) {
  const struct {
    const char *list, *says;
  } rows[] = {
      {"mlx5_7:1",
       "SHARP_COLL_IB_DEV_LIST=mlx5_7:1: this host has no device mlx5_7; there are lo:1, eth0:1, mlx5_0:1 (enp1s0), "
       "mlx4_0:1 (ib0), mlx4_0:2 (ib1); SHARP_COLL_IB_DEV_LIST=any leaves it to the system"},
      {"mlx5_0:2", "SHARP_COLL_IB_DEV_LIST=mlx5_0:2: mlx5_0 has no port 2, it has one port"},
      {"eth0:2", "SHARP_COLL_IB_DEV_LIST=eth0:2: eth0 has no port 2, it has one port"},
      {"mlx4_0:3", "SHARP_COLL_IB_DEV_LIST=mlx4_0:3: mlx4_0 has no port 3, it has 2 ports"},
      {"mlx5_0:1,mlx5_0:1", "SHARP_COLL_IB_DEV_LIST=mlx5_0:1,mlx5_0:1: mlx5_0:1 is named twice"},
      {"mlx5_0,mlx5_0:1", "SHARP_COLL_IB_DEV_LIST=mlx5_0,mlx5_0:1: mlx5_0:1 is named twice, first as mlx5_0"},
      {"mlx5_0:1,enp1s0", "SHARP_COLL_IB_DEV_LIST=mlx5_0:1,enp1s0: enp1s0 is named twice, first as mlx5_0:1"},
      {"mlx5_0:one",
       "SHARP_COLL_IB_DEV_LIST=mlx5_0:one: 'mlx5_0:one' is no device: write NAME or NAME:PORT, several with commas "
       "between"},
      {"mlx5_0:1,",
       "SHARP_COLL_IB_DEV_LIST=mlx5_0:1,: '' is no device: write NAME or NAME:PORT, several with commas between"},
      {"eth0:0",
       "SHARP_COLL_IB_DEV_LIST=eth0:0: 'eth0:0' is no device: write NAME or NAME:PORT, several with commas between"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.list);
    const auto found = find_devices({.variable = row.list}, kPorts);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().status, SHARP_COLL_EDEV);
    EXPECT_EQ(found.error().text, row.says);
  }
}

TEST(Devices, ThePersonsListGoesBeforeTheProgramsAndThatBeforeTheHosts) {
  const struct {
    DeviceRequests requests;
    const char* names;
  } rows[] = {
      {{.variable = "eth0", .program = "nosuch", .host = "nosuch", .network = "nosuch"}, "eth0"},
      {{.program = "mlx5_0", .host = "nosuch", .network = "nosuch"}, "mlx5_0:1"},
      {{.host = "ib0", .network = "nosuch"}, "mlx4_0:1"},
      {{.network = "lo"}, "lo"},
      {{.variable = "any", .program = "nosuch", .host = "nosuch", .network = "nosuch"}, ""},
      {{.program = "any", .network = "nosuch"}, ""},
      {{}, ""},
  };
  for (const auto& row : rows) {
    const auto found = find_devices(row.requests, kPorts);
    ASSERT_TRUE(found) << found.error().text;
    EXPECT_EQ(found->names(), row.names);
    EXPECT_EQ(names_devices(row.requests), !found->empty());
  }
  EXPECT_EQ(find_devices({.host = "nosuch"}, kPorts).error().text.find("ib_dev of this host's sharpd=nosuch: "), 0u);
}

using Leads = std::vector<std::vector<bool>>;

TEST(Devices, ChannelsAndTreesShareThePorts) {
  const Leads one_tree_one_port{{true}}, one_tree_two_ports{{true, true}}, two_rails{{true, false}, {false, true}},
      four_ports_two_trees{{true, false, true, false}, {false, true, false, true}},
      two_trees_one_plane{{true, true}, {true, true}};
  const struct {
    const char* name;
    const Leads& leads;
    std::uint32_t channel;
    std::vector<int> ports;
  } rows[] = {
      {"one channel", one_tree_one_port, 0, {0}},
      {"two channels on one port: the first", one_tree_one_port, 0, {0}},
      {"two channels on one port: the second", one_tree_one_port, 1, {0}},
      {"two channels on two ports of a tree: the first", one_tree_two_ports, 0, {0}},
      {"two channels on two ports of a tree: the second", one_tree_two_ports, 1, {1}},
      {"two rails with a tree each", two_rails, 0, {0, 1}},
      {"the other channel of two rails has no other port", two_rails, 1, {0, 1}},
      {"four ports, two trees: the first channel", four_ports_two_trees, 0, {0, 1}},
      {"four ports, two trees: the second channel", four_ports_two_trees, 1, {2, 3}},
      {"two trees that the same ports lead to", two_trees_one_plane, 0, {0, 1}},
      {"and the other channel", two_trees_one_plane, 1, {1, 0}},
  };
  for (const auto& row : rows) EXPECT_EQ(choose_ports(row.leads, row.channel), row.ports) << row.name;
  EXPECT_THAT(choose_ports(Leads{{false, true}, {false, false}}, 0), ElementsAre(1, -1)) << "no way";
  EXPECT_THAT(choose_ports(Leads{{}, {}}, 3), ElementsAre(-1, -1)) << "no list";
}

TEST(Devices, TheRoutingTableSaysWhichPortsLeadToANode) {
  const auto list = find_devices({.variable = "lo"}, kPorts);
  ASSERT_TRUE(list);
  const struct {
    const char* address;
    bool leads, by_none;
  } rows[] = {{"tcp:127.0.0.1:7000", true, true},    // This host.
              {"tcp:192.0.2.1:7000", false, false},  // A network that no interface has.
              {"ucx:0123", true, false}};            // Not an address of tcp.
  for (const auto& row : rows) {
    SCOPED_TRACE(row.address);
    const auto ways = ways_to(*list, row.address);
    ASSERT_TRUE(ways) << ways.error().text;
    EXPECT_THAT(ways->leads, ElementsAre(row.leads));
    EXPECT_EQ(ways->by_none, row.by_none);
  }
}

}  // namespace
}  // namespace sumac::client
