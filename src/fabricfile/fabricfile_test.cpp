#include "fabricfile/fabricfile.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace sumac {
namespace {

constexpr const char* kGood = R"(name: demo
defaults: {delay: 500us, rate: 1Gbit/s, mtu: 9000, buffer: 16MiB, loss: 0}
switches: [root, "leaf[1-2]"]
links: [{a: leaf1, b: root}, {a: leaf2, b: root, delay: 1ms}]
hosts:
  h[1-2]: {leaf: leaf1}
  h3: {leaf: leaf2, rate: 100Mbit/s, slots: 2, shm: 16MiB}
  x1: {leaf: leaf2}
nodes: {an-root: {switch: root}, an-x: {host: x1, link_rate: 10Gbit/s}}
root: an-root
manager: {switch: root, port: 7000}
daemons: false
seed: 42
multicast: false
)";

TEST(FabricFile, everything_it_says_is_read) {
  const auto fabric = parse_fabric(kGood, "good.yaml");
  ASSERT_TRUE(fabric) << fabric.error().context;
  EXPECT_EQ(fabric->name, "demo");
  ASSERT_EQ(fabric->switches.size(), 3U);
  EXPECT_EQ(fabric->switches[2].name, "leaf2");
  ASSERT_EQ(fabric->links.size(), 2U);
  EXPECT_EQ(fabric->links[0].spec.delay_ns, 500'000);
  EXPECT_EQ(fabric->links[1].spec.delay_ns, 1'000'000);
  EXPECT_EQ(fabric->links[1].spec.buffer_bytes, 16U << 20);
  ASSERT_EQ(fabric->hosts.size(), 4U);
  EXPECT_EQ(fabric->hosts[1].name, "h2");
  EXPECT_EQ(fabric->hosts[2].link.rate_bits_per_s, 100'000'000U);
  EXPECT_EQ(fabric->hosts[2].slots, 2U);
  EXPECT_EQ(fabric->hosts[2].shm_bytes, 16U << 20U);
  EXPECT_EQ(fabric->hosts[2].tmp_bytes, 0U);
  EXPECT_TRUE(fabric->hosts[2].compute);
  EXPECT_FALSE(fabric->hosts[3].compute) << "it carries a node";
  ASSERT_EQ(fabric->nodes.size(), 2U);
  EXPECT_EQ(fabric->nodes[1].place.at_host, "x1");
  EXPECT_EQ(fabric->nodes[1].link_rate_bits_per_s, 10'000'000'000U);
  EXPECT_EQ(fabric->roots, (std::vector<std::string>{"an-root"}));
  ASSERT_TRUE(fabric->manager);
  EXPECT_EQ(fabric->manager->port, 7000);
  EXPECT_FALSE(fabric->daemons);
  EXPECT_EQ(fabric->seed, 42U);
  EXPECT_FALSE(fabric->multicast);
}

TEST(FabricFile, a_fault_names_the_line_and_what_was_meant) {
  const struct {
    const char* name;
    const char* from;
    const char* to;
    const char* message;
  } rows[] = {
      {"a misspelt key", "delay: 1ms", "dealy: 1ms", "f.yaml:4: unknown key 'dealy' in a link: did you mean 'delay'?"},
      {"a key of nothing", "seed: 42", "colour: red",
       "f.yaml:13: unknown key 'colour' in a fabric: it knows name, defaults, switches, links, hosts, nodes, root, "
       "trees, radix, manager, daemons, seed, offload, multicast"},
      {"a key twice", "seed: 42", "name: again", "f.yaml:13: key 'name' stands twice in a fabric"},
      {"a number without its unit", "delay: 1ms", "delay: 1",
       "f.yaml:4: delay: '1' has no unit we know (ns, us, ms, s): write it like 500us"},
      {"a missing leaf", "h3: {leaf: leaf2, rate", "h3: {rate", "f.yaml:7: host h3 has no leaf: add 'leaf: SWITCH'"},
      {"an unknown leaf", "h3: {leaf: leaf2", "h3: {leaf: leaf3",
       "f.yaml:7: there is no switch leaf3: add it to 'switches' or mend the name"},
      {"a link to an unknown switch", "{a: leaf2, b: root", "{a: leaf2, b: roof",
       "f.yaml:4: there is no switch roof: add it to 'switches' or mend the name"},
      {"a link with one end", "{a: leaf1, b: root}", "{a: leaf1}",
       "f.yaml:4: a link needs its two ends: 'b' is missing"},
      {"a link of a switch with itself", "{a: leaf1, b: root}", "{a: root, b: root}",
       "f.yaml: link root-root: a link joins two switches, not one with itself: mend one of its ends"},
      {"a rail without a leaf", "h3: {leaf: leaf2, rate: 100Mbit/s", "h3: {leaf: leaf2, rails: [{rate: 1Gbit/s}]",
       "f.yaml:7: a rail of host h3 has no leaf: add 'leaf: SWITCH'"},
      {"a radix that makes no tree", "seed: 42", "radix: 1",
       "f.yaml: radix: 1 is not within 2 to 65535, nor 0 for no limit"},
      {"an absurd number of trees", "seed: 42", "trees: 100000", "f.yaml: trees: 100000 is not within 1 to 1024"},
      {"an unknown host of a node", "host: x1", "host: x7",
       "f.yaml: node an-x: there is no host x7: add it to 'hosts' or mend the name"},
      {"an unknown root", "root: an-root", "root: an-roof",
       "f.yaml: root: there is no node or switch an-roof: add it to 'nodes' or mend the name"},
      {"a port that is none", "port: 7000", "port: 70000", "f.yaml:11: port: '70000' is not a number that fits"},
      {"neither true nor false", "daemons: false", "daemons: maybe", "f.yaml:12: daemons must be true or false"},
      {"no YAML at all", "links: [", "links: [[", "f.yaml:5: end of sequence flow not found"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    std::string text = kGood;
    const auto at = text.find(row.from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, std::string_view(row.from).size(), row.to);
    const auto fabric = parse_fabric(text, "f.yaml");
    ASSERT_FALSE(fabric);
    EXPECT_EQ(fabric.error().context, row.message);
  }
}

TEST(FabricFile, planes_rails_roots_and_trees) {
  const auto fabric = parse_fabric(R"(name: planes
defaults: {rate: 100Gbit/s}
switches: [s1, s2]
hosts:
  h[1-2]: {leaf: s1, device: mlx5_0, rails: [{leaf: s2, rate: 50Gbit/s, device: mlx5_1}]}
nodes: {an1: {switch: s1}, an2: {switch: s2}}
root: [an1, s2]
trees: 2
radix: 40
)",
                                   "planes.yaml");
  ASSERT_TRUE(fabric) << fabric.error().context;
  EXPECT_EQ(fabric->roots, (std::vector<std::string>{"an1", "s2"}));
  EXPECT_EQ(fabric->trees, 2U);
  EXPECT_EQ(fabric->radix, 40U);
  ASSERT_EQ(fabric->hosts[1].rails.size(), 1U);
  EXPECT_EQ(fabric->hosts[1].rails[0].leaf, "s2");
  EXPECT_EQ(fabric->hosts[1].device, "mlx5_0");
  EXPECT_EQ(fabric->hosts[1].rails[0].device, "mlx5_1");
  EXPECT_EQ(fabric->hosts[1].rails[0].link.rate_bits_per_s, 50'000'000'000U);
}

TEST(FabricFile, an_empty_or_missing_file_is_an_error) {
  EXPECT_FALSE(parse_fabric("", "f.yaml"));
  EXPECT_FALSE(parse_fabric("[1, 2]", "f.yaml"));
  const auto missing = load_fabric("/nonexistent/f.yaml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().context, "open fabric file /nonexistent/f.yaml: No such file or directory");
}

TEST(FabricFile, every_fabric_that_we_ship_is_good) {
  unsigned count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(SUMAC_SOURCE_DIR) / "lab/fabrics")) {
    if (entry.path().extension() != ".yaml") continue;
    const auto fabric = load_fabric(entry.path().string());
    EXPECT_TRUE(fabric) << fabric.error().context;
    if (fabric) {
      EXPECT_EQ(fabric->name, entry.path().stem().string());
    }
    ++count;
  }
  EXPECT_GE(count, 6U);
}

}  // namespace
}  // namespace sumac
