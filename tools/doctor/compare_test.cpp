#include "tools/doctor/compare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tools/doctor/test_findings.hpp"

namespace sumac::tools::doctor {
namespace {

using ::testing::HasSubstr;

/// Four hosts that are alike.
std::vector<HostAnswer> alike() {
  std::vector<HostAnswer> hosts;
  for (int i = 1; i <= 4; ++i) {
    HostAnswer host{.name = "h" + std::to_string(i), .report = Report{}, .clock = ClockOffset{i * 1000, 50'000}};
    auto& f = host.report->facts;
    f.host = host.name;
    f.sumac = "0.1.0";
    f.interfaces = {{"eth0", 9000, {"10.0.0." + std::to_string(i) + "/16"}}, {"docker0", 1500, {"172.17.0.1/16"}}};
    f.names = {{host.name, "", {"10.0.0." + std::to_string(i)}, 1}};
    for (int other = 1; other <= 4; ++other)
      if (other != i) f.names.push_back({"h" + std::to_string(other), "", {"10.0.0." + std::to_string(other)}, 1});
    f.settings = {{"net.ipv4.tcp_sack", "1"}};
    f.software = {
        .mpi = "mpirun (Open MPI) 4.1.4", .component = true, .libraries = {{"libsharp_coll.so", "0123456789abcdef"}}};
    hosts.push_back(std::move(host));
  }
  return hosts;
}

Facts& facts_of(std::vector<HostAnswer>& hosts, int number) {
  return hosts[static_cast<std::size_t>(number - 1)].report->facts;
}

TEST(Compare, hosts_that_are_alike_have_no_finding) {
  for (const auto& each : compare(alike())) EXPECT_EQ(each.health, Health::well) << each.subject << ": " << each.found;
}

TEST(Compare, each_difference_is_named_with_its_remedy) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const struct {
    const char* name;
    std::function<void(std::vector<HostAnswer>&)> fault;
    const char* subject;
    Health health;
    const char *found, *remedy;
  } rows[] = {
      {"a clock that is 0.2 s behind", [](auto& h) { h[2].clock->offset_ns = -kSecond / 5; }, "clocks", Health::note,
       "h3 is 200.0 ms behind", "chrony"},
      {"a clock of yesterday", [](auto& h) { h[0].clock->offset_ns = -86400 * kSecond; }, "clocks", Health::bad,
       "h1 is 24.0 hours behind", "chrony"},
      {"MTU", [](auto& h) { facts_of(h, 3).interfaces[0].mtu = 1500; }, "MTU", Health::note, "9000: h[1-2,4]; 1500: h3",
       "mtu 9000` on h3"},
      {"a wrong name", [](auto& h) { facts_of(h, 1).names[3].addresses = {"10.0.0.2"}; }, "host names", Health::bad,
       "h4 is 10.0.0.2 on h1, but h4 has no such address (10.0.0.4", "/etc/hosts of h1"},
      {"one name for two", [](auto& h) { facts_of(h, 2).host = "h1"; }, "host names", Health::bad,
       "h1 and h2 call themselves h1", "hostnamectl"},
      {"one node on two hosts",
       [](auto& h) {
         facts_of(h, 2).daemons = facts_of(h, 4).daemons = {{"sharp_an", "an1", "mgr:6126", 7}};
       },
       "node names", Health::bad, "an1 runs on 2 hosts: h[2,4]", "--name"},
      {"another Sumac", [](auto& h) { facts_of(h, 2).sumac = "0.0.9"; }, "versions", Health::note,
       "Sumac: 0.1.0: h[1,3-4]; 0.0.9: h2", "on h2"},
      {"another MPI", [](auto& h) { facts_of(h, 2).software.mpi = "mpirun (Open MPI) 4.1.5"; }, "versions",
       Health::note, "MPI: ", "one MPI"},
      {"another driver", [](auto& h) { facts_of(h, 2).gpus.nvidia_module = "535.54.03"; }, "versions", Health::note,
       "NVIDIA 535.54.03: h2", "one driver"},
      {"another file", [](auto& h) { facts_of(h, 4).software.libraries[0].checksum = "fedcba9876543210"; }, "versions",
       Health::note, "libsharp_coll.so: file 01234567: h[1-3]; file fedcba98: h4", "again on h4"},
      {"a missing file", [](auto& h) { facts_of(h, 4).software.libraries.clear(); }, "versions", Health::note,
       "missing: h4", "again on h4"},
      {"another setting", [](auto& h) { facts_of(h, 1).settings[0].value = "0"; }, "settings", Health::note,
       "tcp_sack differs: 1: h[2-4]; 0: h1", "sysctl -w net.ipv4.tcp_sack=\"1\"` on h1"},
      {"a setting that no kernel has", [](auto& h) { facts_of(h, 1).settings[0].value = "$(touch /tmp/x)"; },
       "settings", Health::bad, "tcp_sack differs", "find out which host reports it"},
      {"a host that does not answer",
       [](auto& h) {
         h[3] = {.name = "h4",
                 .report = std::nullopt,
                 .why = "no answer within 30 s",
                 .remedy = "is the host on?",
                 .clock = std::nullopt};
       },
       "host h4", Health::bad, "no answer", "on?"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    auto hosts = alike();
    row.fault(hosts);
    expect_only(compare(hosts), row.subject, row.health, row.found, row.remedy);
  }
}

TEST(Compare, no_command_sets_what_only_a_host_speaks_of) {
  auto hosts = alike();
  for (const int number : {1, 2, 3}) facts_of(hosts, number).settings.push_back({"kernel.randomize_va_space", "0"});
  for (const auto& each : compare(hosts)) EXPECT_EQ(each.health, Health::well) << each.found << each.remedy;
  facts_of(hosts, 4).settings.clear();
  bool named = false;
  for (const auto& each : compare(hosts)) {
    EXPECT_EQ(each.remedy.find("sysctl"), std::string::npos) << each.remedy;
    named |= each.found.find("tcp_sack differs: 1: h[1-3]; absent: h4") != std::string::npos;
  }
  EXPECT_TRUE(named);
  topo::Fabric fabric;
  fabric.hosts = {{.name = "h1"}};
  EXPECT_THAT(judge_fabric(fabric, "f.yaml", {"$(x)"})[0].remedy, HasSubstr("`NAME: {leaf"));
}

TEST(Compare, a_command_is_made_of_plain_words_only) {
  EXPECT_EQ(in_command("node an-1.site", "ROLE NAME"), "node an-1.site");
  for (const char* word : {"a;b", "$(x)", "", "-oProxy", "node -x", "a\nb", "`x`"})
    EXPECT_EQ(in_command(word, "NAME"), "NAME") << word;
}

TEST(Compare, a_difference_below_the_error_of_the_measurement_is_none) {
  auto hosts = alike();
  hosts[1].clock = ClockOffset{400'000'000, 350'000'000};
  for (const auto& each : compare(hosts)) EXPECT_EQ(each.health, Health::well) << each.found;
}

TEST(Compare, hosts_that_are_silent_for_one_reason_are_one_finding) {
  auto hosts = alike();
  for (const int i : {1, 2})
    hosts[static_cast<std::size_t>(i)] = {.name = hosts[static_cast<std::size_t>(i)].name,
                                          .report = std::nullopt,
                                          .why = "off",
                                          .remedy = "on",
                                          .clock = std::nullopt};
  EXPECT_EQ(compare(hosts)[0].subject, "hosts");
  EXPECT_EQ(compare(hosts)[0].found, "h[2-3]: off");
}

TEST(Compare, nobody_answers_and_one_alone) {
  const HostAnswer silent{.name = "h1", .report = std::nullopt, .why = "x", .remedy = "y", .clock = std::nullopt};
  EXPECT_EQ(compare({silent}).size(), 1U);
  for (const auto& each : compare({alike()[0]})) EXPECT_EQ(each.health, Health::well) << each.found;
  EXPECT_TRUE(compare({}).empty());
}

TEST(Compare, addresses_that_make_no_sense_are_left_out) {
  auto hosts = alike();
  facts_of(hosts, 1).interfaces[0].addresses = {
      "10.0.0.1", "10.0.0.1/", "10.0.0.1/33", "300.0.0.1/8", "10.0.0/8", "10.0.0.0.1/8", "/", "", "x/8", "10.0.0.1/16"};
  for (const auto& each : compare(hosts)) EXPECT_EQ(each.health, Health::well) << each.found;
}

TEST(Compare, a_fabric_file_and_its_hosts) {
  topo::Fabric fabric;
  fabric.hosts = {{.name = "h1"}, {.name = "h2"}};
  fabric.nodes = {{.name = "an1"}};
  EXPECT_EQ(judge_fabric(fabric, "f.yaml", {"h1", "an1"})[0].health, Health::well);
  const auto missing = judge_fabric(fabric, "f.yaml", {"h1", "h3", "h4"});
  EXPECT_EQ(missing[0].health, Health::bad);
  EXPECT_THAT(missing[0].found, HasSubstr("f.yaml has no host h[3-4]"));
  const auto broken = judge_fabric(fail(Errc::invalid, "f.yaml:7: no such key"), "f.yaml", {});
  EXPECT_EQ(broken[0].health, Health::bad);
  EXPECT_EQ(broken[0].found, "f.yaml:7: no such key");
}

TEST(FoldNames, as_slurm_writes_them) {
  const struct {
    Strings names;
    const char* folded;
  } rows[] = {{{}, ""},
              {{"h1"}, "h1"},
              {{"h1", "h2", "h3", "h7"}, "h[1-3,7]"},
              {{"n001", "n002", "n010"}, "n[001-002,010]"},
              {{"n10", "n09", "n100"}, "n[09-10],n100"},
              {{"n1", "n01"}, "n1,n01"},
              {{"a", "b"}, "a,b"},
              {{"r1-ib0", "r2-ib0"}, "r1-ib0,r2-ib0"},
              {{"h2", "h1", "h2"}, "h[1-2]"},
              {{"h12345678901234567890", "x"}, "x,h12345678901234567890"}};
  for (const auto& row : rows) EXPECT_EQ(fold_names(row.names), row.folded);
}

}  // namespace
}  // namespace sumac::tools::doctor
