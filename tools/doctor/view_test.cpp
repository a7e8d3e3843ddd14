#include "tools/doctor/view.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace sumac::tools::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

HostAnswer host(const std::string& name, const Findings& findings) {
  return {.name = name,
          .report = Report{.facts = {}, .findings = findings},
          .why = "",
          .remedy = "",
          .clock = std::nullopt};
}

const Finding kWell{"/dev/shm", Health::well, "32000 MiB free", ""};
const Finding kSmall{"/dev/shm", Health::note, "1 MiB free", "more: `mount -o remount,size=1g /dev/shm`"};
const Finding kBad{"clock", Health::bad, "stopped", "wind it up"};

void expect_narrow(const std::string& page) {
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(View, a_row_with_its_remedy) {
  EXPECT_EQ(page_of_host({kWell, kSmall}),
            "ok    /dev/shm           32000 MiB free\n"
            "note  /dev/shm           1 MiB free\n"
            "                         -> more: `mount -o remount,size=1g /dev/shm`\n");
}

TEST(View, long_texts_are_wrapped_and_commands_stay_whole) {
  EXPECT_EQ(wrapped("one two `three four` five", 12), (std::vector<std::string>{"one two", "`three four`", "five"}));
  EXPECT_EQ(wrapped("`a command that does not fit` x", 10),
            (std::vector<std::string>{"`a command", "that does", "not fit` x"}));
  EXPECT_EQ(wrapped("", 10), std::vector<std::string>{""});
  EXPECT_EQ(wrapped("averyveryverylongword x", 5), (std::vector<std::string>{"averyveryverylongword", "x"}));
  expect_narrow(
      page_of_host({{"certificates", Health::note,
                     fmt::format("{}", std::string(20, 'x') + " words and words and words and words"), "a `b` c"}}));
}

TEST(View, few_hosts_stand_in_columns) {
  const auto page =
      page_of_hosts({host("h1", {kWell, kBad}), host("h2", {kSmall}), host("h10", {kWell, kSmall})}, {kWell});
  EXPECT_THAT(page, HasSubstr("                      h1    h2   h10\n"
                              "/dev/shm              ok  note  note\n"
                              "clock                BAD     -     -\n"));
  EXPECT_THAT(page, HasSubstr("between the hosts:\nok    /dev/shm"));
  EXPECT_THAT(page, HasSubstr("on h1:\nBAD   clock"));
  EXPECT_THAT(page, HasSubstr("on h[2,10]:\nnote  /dev/shm"));
  EXPECT_THAT(page, Not(HasSubstr("on h2:")));
}

TEST(View, of_many_hosts_only_the_differences) {
  std::vector<HostAnswer> hosts;
  for (int i = 1; i <= 100; ++i)
    hosts.push_back(host(fmt::format("node{:03}", i), {{"memory", Health::well, "1", ""}, i == 42 ? kSmall : kWell}));
  hosts.push_back(
      {.name = "node101", .report = std::nullopt, .why = "no answer", .remedy = "on?", .clock = std::nullopt});
  const auto page = page_of_hosts(hosts, {});
  expect_narrow(page);
  EXPECT_THAT(page, HasSubstr("note  /dev/shm           1 hosts: node042\n"));
  EXPECT_THAT(page, HasSubstr("ok    /dev/shm           99 hosts: node[001-041,043-100]\n"));
  EXPECT_THAT(page, HasSubstr("ok    all 100 hosts      memory\n"));
  EXPECT_LT(std::ranges::count(page, '\n'), 12);
}

}  // namespace
}  // namespace sumac::tools::doctor
