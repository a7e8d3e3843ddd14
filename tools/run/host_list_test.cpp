#include "tools/run/host_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sumac::tools {
namespace {

using testing::HasSubstr;

std::string text_of(const std::vector<HostEntry>& hosts) {
  std::string text;
  for (const auto& host : hosts)
    text += host.name + (host.slots != 0 ? fmt::format(":{}", host.slots) : std::string()) + " ";
  return text;
}

TEST(HostList, what_people_and_slurm_write) {
  const struct {
    const char* name;
    const char* text;
    const char* hosts;
  } rows[] = {
      {"one", "a", "a "},
      {"in the order given", "b,a,c", "b a c "},
      {"slots as mpirun has them", "a:4,b", "a:4 b "},
      {"a range", "n[1-3]", "n1 n2 n3 "},
      {"leading zeros stay", "n[008-011]", "n008 n009 n010 n011 "},
      {"ranges and single numbers", "n[1-2,7],m", "n1 n2 n7 m "},
      {"something behind the bracket", "n[1-2]-ib0", "n1-ib0 n2-ib0 "},
      {"two brackets", "r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2 "},
      {"slots of a range", "n[1-2]:8", "n1:8 n2:8 "},
      {"addresses of IPv6", "[fd00::1],a:2,[fe80::1%eth0]:4", "fd00::1 a:2 fe80::1%eth0:4 "},
      {"a range at the beginning is no address", "[1-2]x:3", "1x:3 2x:3 "},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto hosts = parse_host_list(row.text);
    ASSERT_TRUE(hosts) << hosts.error().context;
    EXPECT_EQ(text_of(*hosts), row.hosts);
  }
}

TEST(HostList, what_makes_no_sense_is_refused_by_name) {
  const struct {
    const char* text;
    const char* says;
  } rows[] = {
      {"", "'' is no host's name"},
      {"a,,b", "'' is no host's name"},
      {"a,b,a", "a is named twice"},
      {"n[1-3],n2", "n2 is named twice"},
      {"n[3-1]", "[3-1] is no range"},
      {"n[1-", "unbalanced brackets"},
      {"n1]", "unbalanced brackets"},
      {"n[]", "[] is no range"},
      {"n[x]", "[x] is no range"},
      {"n[0-4000000000]", "more than 65536 hosts"},
      {"n[0-999]m[0-999]", "more than 65536 hosts"},
      {"a:0", "'0' is no number of slots"},
      {"a:many", "'many' is no number of slots"},
      {"a;rm", "'a;rm' is no host's name"},
      {"-oProxyCommand=x", "is no host's name"},
      {"[fe80::1", "unbalanced brackets"},
      {"[fe80::1::2]", "'[fe80::1::2]' is no IPv6 address: write [fd00::1]"},
      {"[fe80::1%;rm]", "is no IPv6 address"},
      {"[fe80::1%]", "is no IPv6 address"},
      {"[fe80::1]:x", "'x' is no number of slots"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    const auto hosts = parse_host_list(row.text);
    ASSERT_FALSE(hosts);
    EXPECT_THAT(hosts.error().context, HasSubstr(row.says));
  }
}

TEST(HostList, a_name_is_as_long_as_the_domain_name_system_has_them) {
  const std::string label(63, 'a'), longest = label + "." + label + "." + label + "." + std::string(61, 'b');
  ASSERT_EQ(longest.size(), 253u);
  EXPECT_EQ(text_of(*parse_host_list(longest + ":2")), longest + ":2 ");
  EXPECT_THAT(parse_host_list(longest + "b").error().context,
              HasSubstr("it has 254 letters, and the longest name has 253"));
  EXPECT_EQ(text_of(*parse_host_list(label)), label + " ");
  EXPECT_THAT(parse_host_list(label + "a.b").error().context,
              HasSubstr("64 letters without a dot, and the most are 63"));
  EXPECT_EQ(text_of(*parse_hostfile(longest, "hosts")), longest + " ");
  EXPECT_EQ(text_of(*parse_hostfile("[fd00::1] slots=2", "hosts")), "fd00::1:2 ");
}

TEST(HostList, names_in_the_fabric_are_short_and_differ) {
  const std::string zone = ".europe-west4-a.c.a-project-of-many-letters.internal";
  const std::vector<HostEntry> hosts{{"a"},       {"vm1" + zone},         {"b" + zone}, {"b"},
                                     {"fd00::1"}, {std::string(63, 'x')}, {"host-6"}};
  EXPECT_EQ(fabric_names(hosts), (std::vector<std::string>{"a", "vm1", "host-3", "b", "host-5", "host-6-", "host-6"}));
}

TEST(HostList, files_are_mpiruns) {
  const auto hosts = parse_hostfile("# ours\na slots=4\n\n  b\tslots=2 max_slots=8 # fast\nc", "hosts");
  ASSERT_TRUE(hosts) << hosts.error().context;
  EXPECT_EQ(text_of(*hosts), "a:4 b:2 c ");
  const struct {
    const char* text;
    const char* says;
  } rows[] = {
      {"# nothing\n", "hosts: no host in it"},
      {"a\nb\na\n", "hosts:3: host a stands in line 1 already"},
      {"a\nb slot=2\n", "hosts:2: 'slot=2' is not understood"},
      {"a slots=-1\n", "hosts:1: '-1' is no number of slots"},
      {"a|b\n", "hosts:1: 'a|b' is no host's name"},
      {"[fd00::x]\n", "hosts:1: '[fd00::x]' is no IPv6 address"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    const auto wrong = parse_hostfile(row.text, "hosts");
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().context, HasSubstr(row.says));
  }
}

}  // namespace
}  // namespace sumac::tools
