#include "topo/validate.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "topo/test_fabric.hpp"

namespace sumac::topo {
namespace {

TEST(Validate, a_good_fabric_passes) { EXPECT_TRUE(validate(two_leaves())); }

TEST(Validate, each_fault_is_one_line_that_names_the_thing_and_the_remedy) {
  const struct {
    const char* name;
    std::function<void(Fabric&)> spoil;
    const char* message;
  } rows[] = {
      {"a link of a switch to itself",
       [](Fabric& f) {
         f.links.push_back({"root", "root", {}});
       },
       "link root-root: a link joins two switches, not one with itself: mend one of its ends"},
      {"a link to an unknown switch", [](Fabric& f) { f.links[0].a = "leaf9"; },
       "link leaf9-root: there is no switch leaf9: add it to 'switches' or mend the name"},
      {"a switch that nothing joins", [](Fabric& f) { f.links.pop_back(); },
       "switch leaf2 has no way to switch root: add a link that joins the two parts, or give each host a port in both "
       "('rails'): host h1 has none at the side of leaf2"},
      {"a host without a leaf", [](Fabric& f) { f.hosts[1].leaf = ""; }, "host h2 has no leaf: add 'leaf: SWITCH'"},
      {"a host on an unknown leaf", [](Fabric& f) { f.hosts[1].leaf = "leaf7"; },
       "host h2: there is no switch leaf7: add it to 'switches' or mend the name"},
      {"two hosts of one name", [](Fabric& f) { f.hosts[1].name = "h1"; },
       "the name h1 is used twice, for a host and a host: names must differ"},
      {"a host named as a switch", [](Fabric& f) { f.hosts[1].name = "root"; },
       "the name root is used twice, for a switch and a host: names must differ"},
      {"a node on an unknown host",
       [](Fabric& f) {
         f.nodes[0].place = {"", "x9"};
       },
       "node an-root: there is no host x9: add it to 'hosts' or mend the name"},
      {"a node at an unknown switch",
       [](Fabric& f) {
         f.nodes[0].place = {"s9", ""};
       },
       "node an-root: there is no switch s9: add it to 'switches' or mend the name"},
      {"a node nowhere", [](Fabric& f) { f.nodes[0].place = {}; },
       "node an-root: add its position, either 'switch' or 'host'"},
      {"a node at two places",
       [](Fabric& f) {
         f.nodes[0].place = {"root", "h1"};
       },
       "node an-root: add its position, either 'switch' or 'host'"},
      {"an unknown root", [](Fabric& f) { f.roots = {"an-top"}; },
       "root: there is no node or switch an-top: add it to 'nodes' or mend the name"},
      {"a manager nowhere", [](Fabric& f) { f.manager->place = {}; },
       "manager: add its position, either 'switch' or 'host'"},
      {"a host named manager", [](Fabric& f) { f.hosts[0].name = "manager"; },
       "the name manager is used for a host: it is reserved for the manager: choose another"},
      {"a name with a space", [](Fabric& f) { f.hosts[0].name = "h 1"; },
       "host name 'h 1' is not usable: letters, digits, '.', '_' and '-' only, at most 63"},
      {"a rail on an unknown switch",
       [](Fabric& f) {
         f.hosts[0].rails = {{"s7", {}}};
       },
       "host h1: there is no switch s7: add it to 'switches' or mend the name"},
      {"no tree", [](Fabric& f) { f.trees = 0; }, "trees: 0 is not within 1 to 1024"},
      {"a radix of one", [](Fabric& f) { f.radix = 1; }, "radix: 1 is not within 2 to 65535, nor 0 for no limit"},
      {"more switches than a subnet can have", [](Fabric& f) { f.switches.resize(65'537); },
       "fabric two-leaves has 65537 switches, at most 65536 are possible: describe a smaller one"},
      {"no host", [](Fabric& f) { f.hosts.clear(); }, "fabric two-leaves has no host: name one under 'hosts'"},
      {"no switch", [](Fabric& f) { f.switches.clear(); },
       "fabric two-leaves has no switch: name one under 'switches'"},
      {"no name", [](Fabric& f) { f.name.clear(); }, "the fabric has no name: add 'name'"},
      {"loss above 1", [](Fabric& f) { f.links[0].spec.loss = 1.5; }, "link leaf1-root: loss 1.5 is not within 0 to 1"},
      {"a buffer smaller than a frame", [](Fabric& f) { f.hosts[0].link.buffer_bytes = 9000; },
       "host h1: a buffer of 9000 bytes holds no frame of 9014 bytes: make it larger"},
      {"an mtu above what the switch carries", [](Fabric& f) { f.hosts[0].link.mtu_bytes = 9217; },
       "host h1: mtu 9217 is not within 576 to 9216"},
      {"no slot", [](Fabric& f) { f.hosts[0].slots = 0; },
       "host h1: slots is 0: say 'compute: false' for a host without ranks"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    auto fabric = two_leaves();
    row.spoil(fabric);
    const auto result = validate(fabric);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::invalid);
    EXPECT_EQ(result.error().context, row.message);
  }
}

TEST(Validate, loops_and_several_links_between_two_switches_are_good) {
  auto fabric = two_leaves();
  fabric.links.push_back({"leaf1", "leaf2", {}});
  fabric.links.push_back({"leaf1", "root", {}});
  EXPECT_TRUE(validate(fabric));
}

TEST(Validate, planes_are_good_if_every_host_with_ranks_is_in_each) {
  auto fabric = two_leaves();
  fabric.switches.emplace_back("other");
  for (auto& each : fabric.hosts) each.rails = {{"other", {}}};
  EXPECT_TRUE(validate(fabric));
  fabric.hosts.push_back(host("storage", "leaf1"));
  EXPECT_FALSE(validate(fabric));
  fabric.hosts.back().compute = false;
  EXPECT_TRUE(validate(fabric));
}

TEST(Validate, a_lab_wants_a_tree_of_switches_and_names_of_machines) {
  ASSERT_TRUE(validate_for_lab(two_leaves()));
  const struct {
    const char* name;
    std::function<void(Fabric&)> spoil;
    const char* message;
  } rows[] = {
      {"a loop of links",
       [](Fabric& f) {
         f.links.push_back({"leaf1", "leaf2", {}});
       },
       "the links form a loop: leaf1 - leaf2 - root - leaf1: in a lab the switches must form a tree, remove one of "
       "these links"},
      {"two links between the same switches",
       [](Fabric& f) {
         f.links.push_back({"root", "leaf1", {}});
       },
       "the links form a loop: root - leaf1 - root: in a lab the switches must form a tree, remove one of these links"},
      {"a name that is no host name", [](Fabric& f) { f.hosts[0].name = "h_1"; },
       "the name 'h_1' is no name of a machine: in a lab letters, digits and '-' only"},
      {"two ports of one name",
       [](Fabric& f) {
         f.hosts[0].rails = {{"leaf2", {}, 0, 0, "lab0"}};
       },
       "host h1: two ports are called lab0: give each 'device' a name of its own"},
      {"a device that Linux would not take", [](Fabric& f) { f.hosts[0].device = "mlx5_0-port-one!"; },
       "host h1: device 'mlx5_0-port-one!' is no name of a network device: letters, digits, '.', '_' and '-' only, at "
       "most 15"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    auto fabric = two_leaves();
    row.spoil(fabric);
    const auto result = validate_for_lab(fabric);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().context, row.message);
  }
}

TEST(Validate, a_lab_takes_planes_and_named_ports) {
  auto fabric = two_leaves();
  fabric.switches.emplace_back("other");
  for (auto& each : fabric.hosts) {
    each.device = "mlx5_0";
    each.rails = {{"other", {}, 0, 0, "fifteen-bytes_1"}};
  }
  EXPECT_TRUE(validate(fabric));
  EXPECT_TRUE(validate_for_lab(fabric));
}

TEST(Validate, both_sides_of_each_boundary) {
  auto fabric = two_leaves();
  fabric.hosts[0].link.mtu_bytes = 9216;
  fabric.hosts[1].link.buffer_bytes = 9014;
  fabric.links[0].spec.loss = 1;
  fabric.links[1].spec.mtu_bytes = 576;
  EXPECT_TRUE(validate(fabric));
}

}  // namespace
}  // namespace sumac::topo
