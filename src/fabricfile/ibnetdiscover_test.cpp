#include "fabricfile/ibnetdiscover.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/read_file.hpp"
#include "fabricfile/fabricfile.hpp"
#include "topo/tree.hpp"

namespace sumac {
namespace {

std::string sample(const char* name) {
  const auto path = std::filesystem::path(SUMAC_SOURCE_DIR) / "tests/corpus/ibnetdiscover" / name;
  auto text = read_file(path.string(), "sample");
  EXPECT_TRUE(text) << path;
  return text ? *text : "";
}

TEST(Ibnetdiscover, everything_it_says_is_read) {
  const auto text = sample("two-rails.lst");
  ASSERT_TRUE(looks_like_ibnetdiscover(text));
  const auto fabric = parse_fabric(text, "some/where/two rails.lst");
  ASSERT_TRUE(fabric) << fabric.error().context;
  EXPECT_EQ(fabric->name, "two-rails");
  ASSERT_EQ(fabric->switches.size(), 3U);
  EXPECT_EQ(fabric->switches[0].name, "S-e41d2d0300000010");
  EXPECT_EQ(fabric->switches[0].guid, 0xe41d2d0300000010U);
  EXPECT_EQ(fabric->switches[0].description, "MF0;spine-1:MQM8700/U1");
  ASSERT_EQ(fabric->links.size(), 3U) << "the router and a switch's cable to itself are no links of ours";
  EXPECT_EQ(fabric->links[0].a_port, 1U);
  EXPECT_EQ(fabric->links[0].b_port, 31U);
  EXPECT_EQ(fabric->links[0].spec.rate_bits_per_s, 200'000'000'000U) << "4xHDR";
  ASSERT_EQ(fabric->hosts.size(), 3U);
  const auto& host = fabric->hosts[0];
  EXPECT_EQ(host.name, "node-1.cluster");
  EXPECT_EQ(host.device, "mlx5_2") << "before mlx5_10";
  EXPECT_EQ(host.leaf, "S-e41d2d0300000020");
  EXPECT_EQ(host.guid, 0x0002c90300000011U);
  EXPECT_EQ(host.lid, 21U);
  EXPECT_EQ(host.link.rate_bits_per_s, 100'000'000'000U) << "4xEDR";
  ASSERT_EQ(host.rails.size(), 1U);
  EXPECT_EQ(host.rails[0].device, "mlx5_10");
  EXPECT_EQ(host.rails[0].leaf, "S-e41d2d0300000030");
  EXPECT_EQ(fabric->hosts[2].device, "the \"old\" HCA-1") << "descriptions are free text";
  ASSERT_EQ(fabric->nodes.size(), 3U);
  EXPECT_EQ(fabric->nodes[0].name, "an-e41d2d0300000018");
  EXPECT_EQ(fabric->nodes[0].place.at_switch, "S-e41d2d0300000010");
  EXPECT_EQ(fabric->nodes[0].lid, 12U);
}

TEST(Ibnetdiscover, speeds_are_data_rates) {
  const struct {
    const char* word;
    std::uint64_t rate;
  } rows[] = {{"1xSDR", 2'000'000'000},    {"4xDDR", 16'000'000'000},  {"4xQDR", 32'000'000'000},
              {"4xFDR10", 40'000'000'000}, {"4xFDR", 54'545'454'544},  {"2xHDR", 100'000'000'000},
              {"12xEDR", 300'000'000'000}, {"4xNDR", 400'000'000'000}, {"4xXDR", 800'000'000'000}};
  for (const auto& row : rows) {
    auto text = sample("two-rails.lst");
    for (auto at = text.find("4xHDR"); at != std::string::npos; at = text.find("4xHDR")) text.replace(at, 5, row.word);
    const auto fabric = parse_ibnetdiscover(text, "f");
    ASSERT_TRUE(fabric) << fabric.error().context;
    EXPECT_EQ(fabric->links[0].spec.rate_bits_per_s, row.rate) << row.word;
  }
}

TEST(Ibnetdiscover, what_is_wrong_is_named_with_its_line) {
  const std::string remedy = ": make the file with `ibnetdiscover > FILE`, without options";
  const struct {
    const char* name;
    const char* from;
    const char* to;
    std::string message;
  } rows[] = {
      {"a line of another tool", "vendid=0x2c9", "Host node-1",
       "f:6: not a line of ibnetdiscover, or cut short: 'Host node-1'" + remedy},
      {"a port outside a record", "\nvendid=0x2c9\n", "\n[7]\t\"S-e41d2d0300000020\"[31]\t\t# \"x\" lid 2 4xHDR\n",
       "f:6: not a line of ibnetdiscover, or cut short: '[7]\t\"S-e41d2d0300000020\"[31]\t\t# \"x\" lid 2 4xHDR'" +
           remedy},
      {"a switch twice", "S-e41d2d0300000030\"\t\t# \"MF0;leaf-2", "S-e41d2d0300000020\"\t\t# \"MF0;leaf-2",
       "f:31: S-e41d2d0300000020 stands below the GUID 0xe41d2d0300000030: one of the two is wrong" + remedy},
      {"two port GUIDs alike", "[1](2c90300000013) \t\"S", "[1](2c90300000011) \t\"S",
       "f:52: the port GUID 0x2c90300000011 stands here and in line 45: two ports have one GUID: mend the device's"},
      {"the two ends of a link tell of different ports", "[1](2c90300000013) \t\t", "[1](2c90300000014) \t\t",
       "f:32: port 1 leads to the port GUID 0x2c90300000014, which is 0x2c90300000013 in line 52" + remedy},
      {"a host twice", "H-0002c90300000012\"\t\t# \"node-1.cluster mlx5_10\"",
       "H-0002c90300000012\"\t\t# \"node-1.cluster mlx5_2\"",
       "f:51: host node-1.cluster is listed twice with device 'mlx5_2', first in line 44: give each adapter a node "
       "description of its own, \"HOST DEVICE\""},
      {"a host without a name", "20\"\t\t# \"node-2\"", "20\"\t\t# \"\"",
       "f:58: H-0002c90300000020 has no description, so its host has no name: set the node description"},
      {"a host whose name nobody can have", "20\"\t\t# \"node-2\"", "20\"\t\t# \"node/2\"",
       "f: host name 'node/2' is not usable: letters, digits, '.', '_' and '-' only, at most 63"},
      {"an id that is none", "Ca\t1 \"H-0002c90300000020\"", "Ca\t1 \"Hca1\"",
       "f:58: 'Hca1' is no id: H- and 16 hex digits"},
      {"an absurd number of ports", "Ca\t1 \"H-0002c90300000020\"", "Ca\t4000000000 \"H-0002c90300000020\"",
       "f:58: H-0002c90300000020 says it has 4000000000 ports: 1 to 254 are possible"},
      {"a port that the device has not", "[1](2c90300000021) \t\"S", "[2](2c90300000021) \t\"S",
       "f:59: there is no port 2 of H-0002c90300000020: it has ports 1 to 1"},
      {"an absurd address", "lid 3 lmc 0\n", "lid 70000 lmc 0\n",
       "f:31: S-e41d2d0300000030 has the LID 70000: at most 49151 are possible"},
      {"two devices with one address", "lid 3 lmc 0\n", "lid 2 lmc 0\n",
       "f:31: S-e41d2d0300000030 and S-e41d2d0300000020 have the same LID 2: two runs in one file?" + remedy.substr(1)},
      {"a speed of tomorrow", "lid 21 lmc 0 \"MF0;leaf-1:MQM8700/U1\" lid 2 4xEDR", "lid 21 lmc 0 \"x\" lid 2 4xQQR",
       "f:45: '4xQQR' is no speed that we know (1x to 16x SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR)"},
      {"a link that is not led back", "[1](2c90300000021) \t\"S-e41d2d0300000020\"[2]",
       "[1](2c90300000021) \t\"S-e41d2d0300000020\"[9]",
       "f:22: port 2 leads to port 1 of H-0002c90300000020, which does not lead back (its record begins in line 58)" +
           remedy},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    auto text = sample("two-rails.lst");
    const auto at = text.find(row.from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, std::string_view(row.from).size(), row.to);
    const auto fabric = parse_ibnetdiscover(text, "f");
    ASSERT_FALSE(fabric);
    EXPECT_EQ(fabric.error().context, row.message);
  }
}

TEST(Ibnetdiscover, a_file_that_was_cut_short_is_refused_wherever_the_cut_is) {
  const auto text = sample("two-rails.lst");
  ASSERT_TRUE(parse_ibnetdiscover(text, "f"));
  // Text behind the last digit of the last line may be missing without being noticed.
  const auto last = text.find_last_not_of("\n");
  for (std::size_t length = 0; length < last - 1; ++length) {
    const auto fabric = parse_ibnetdiscover(std::string_view(text).substr(0, length), "f");
    ASSERT_FALSE(fabric) << "cut behind " << length << " bytes of " << text.size();
    ASSERT_TRUE(fabric.error().context.starts_with("f:")) << fabric.error().context;
  }
}

TEST(Ibnetdiscover, two_runs_in_one_file_are_refused) {
  const auto text = sample("two-rails.lst");
  const auto fabric = parse_ibnetdiscover(text + "\n" + text, "f");
  ASSERT_FALSE(fabric);
  EXPECT_NE(fabric.error().context.find("two devices have one GUID, or the file holds two runs"), std::string::npos)
      << fabric.error().context;
}

TEST(Ibnetdiscover, files_of_real_tools_are_read) {
  const struct {
    const char* name;
    std::size_t switches, links, hosts, nodes;
  } rows[] = {{"ibsim-leafspine.lst", 6, 8, 16, 6}, {"ibsim-hypercube.lst", 8, 12, 8, 8}};
  for (const auto& row : rows) {
    const auto fabric = parse_fabric(sample(row.name), row.name);
    ASSERT_TRUE(fabric) << fabric.error().context;
    EXPECT_EQ(fabric->switches.size(), row.switches) << row.name;
    EXPECT_EQ(fabric->links.size(), row.links) << row.name;
    EXPECT_EQ(fabric->hosts.size(), row.hosts) << row.name;
    EXPECT_EQ(fabric->nodes.size(), row.nodes) << row.name;
    EXPECT_TRUE(topo::build_trees(*fabric, {1, fabric->radix})) << row.name;
  }
}

TEST(Ibnetdiscover, yaml_is_told_apart) {
  EXPECT_FALSE(looks_like_ibnetdiscover("# a comment\nname: demo\nswitches: [s]\n"));
  EXPECT_FALSE(looks_like_ibnetdiscover(""));
  EXPECT_TRUE(looks_like_ibnetdiscover("#\n# Topology file: generated on a day\n"));
  EXPECT_TRUE(looks_like_ibnetdiscover("\nswitchguid=0x1(1)\n"));
}

}  // namespace
}  // namespace sumac
