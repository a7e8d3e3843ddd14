#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "fabricfile/ibnetdiscover.hpp"

namespace sumac {
namespace {

TEST(Guids, one_a_line_with_comments_and_with_or_without_0x) {
  const auto guids = parse_guids("# roots\n0xe41d2d0300000010\n\n  2c90300000011  # the other\r\n", "roots");
  ASSERT_TRUE(guids) << guids.error().context;
  ASSERT_EQ(guids->size(), 2U);
  EXPECT_EQ((*guids)[0].guid, 0xe41d2d0300000010U);
  EXPECT_EQ((*guids)[1].guid, 0x2c90300000011U);
  EXPECT_EQ((*guids)[1].line, 4U);
}

TEST(Guids, what_is_wrong_is_named_with_its_line) {
  const struct {
    const char* text;
    const char* message;
  } rows[] = {
      {"0x1\nspine-1\n", "roots:2: 'spine-1' is no GUID: write one a line, like 0xe41d2d030003e450"},
      {"0x0\n", "roots:1: '0x0' is no GUID: write one a line, like 0xe41d2d030003e450"},
      {"0x11112222333344445\n", "roots:1: '0x11112222333344445' is no GUID: write one a line, like 0xe41d2d030003e450"},
      {"0x1 0x2\n", "roots:1: '0x1 0x2' is no GUID: write one a line, like 0xe41d2d030003e450"},
      {"0x1\n2\n0x01\n", "roots:3: the GUID 0x1 stands in line 1 already: leave one of them out"},
      {"# nothing\n\n", "roots: no GUID in it: write one a line, like 0xe41d2d030003e450"},
  };
  for (const auto& row : rows) {
    const auto guids = parse_guids(row.text, "roots");
    ASSERT_FALSE(guids) << row.text;
    EXPECT_EQ(guids.error().context, row.message);
  }
}

TEST(Guids, of_a_port) {
  EXPECT_EQ(parse_port_guid("0x0"), std::uint64_t{0});
  EXPECT_EQ(parse_port_guid("0x7cfe900300a5a2a8"), 0x7cfe900300a5a2a8U);
  EXPECT_EQ(parse_port_guid("7cfe900300a5a2a8"), 0x7cfe900300a5a2a8U);
  for (const char* wrong :
       {"", "0x", "mlx5_0:1", "0x1 0x2", "0x11112222333344445", "<PortGUID of the relevant HCA port or 0x0>"}) {
    const auto guid = parse_port_guid(wrong);
    ASSERT_FALSE(guid) << wrong;
    EXPECT_EQ(guid.error().context,
              "'" + std::string(wrong) + "' is no GUID: write one like 0xe41d2d030003e450, or 0x0 for any port");
  }
}

class GuidFile : public testing::Test {
 protected:
  GuidFile() {
    fabric_.name = "f";
    fabric_.switches = {"s1", "s2"};
    fabric_.switches[0].guid = 0x51;
    fabric_.switches[1].guid = 0x52;
    topo::Node node{"an1", {"s1", ""}, {}};
    node.guid = 0xa1;
    fabric_.nodes = {node};
    topo::Host host;
    host.name = "h1";
    host.guid = 0xb1;
    host.rails = {{"s2", {}, 0xb2}};
    fabric_.hosts = {host};
  }
  ~GuidFile() override { std::remove(path_.c_str()); }
  const std::string& file(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  topo::Fabric fabric_;
  std::string path_ = testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + ".guids";
};

TEST_F(GuidFile, roots_are_switches_or_nodes) {
  ASSERT_TRUE(use_root_guids(fabric_, file("0x51\n")));
  EXPECT_EQ(fabric_.roots, (std::vector<std::string>{"s1"}));
  ASSERT_TRUE(use_root_guids(fabric_, file("0xa1\n0x52\n")));
  EXPECT_EQ(fabric_.roots, (std::vector<std::string>{"an1", "s2"}));
}

TEST_F(GuidFile, a_root_that_is_not_there_or_has_no_node_is_refused) {
  auto bad = use_root_guids(fabric_, file("0x51\n0x99\n"));
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().context,
            "root_guids_file: " + path_ +
                ":2: fabric f has no switch or aggregation node with the GUID 0x99: mend it, or make the "
                "fabric file again");
  bad = use_root_guids(fabric_, file("0x52\n"));
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().context,
            "root_guids_file: " + path_ + ": none of these 1 switches has an aggregation node: name others");
  bad = use_root_guids(fabric_, "/nonexistent/roots");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().context, "root_guids_file: open file of GUIDs /nonexistent/roots: No such file or directory");
}

}  // namespace
}  // namespace sumac
