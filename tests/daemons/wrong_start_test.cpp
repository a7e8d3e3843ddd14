// Each wrong start gives one line that names the thing and the remedy, and a status that is not 0.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/daemons/daemon_process.hpp"

namespace sumac::tests {
namespace {

std::string read(const char* path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(WrongStart, says_what_is_wrong_in_one_line) {
  Scratch scratch;
  const auto good =
      scratch.file("good.yaml", "name: t\nswitches: [s]\nhosts: {h: {leaf: s}}\nnodes: {an: {switch: s}}\n");
  const auto selfish = scratch.file("selfish.yaml",
                                    "name: t\nswitches: [a]\nlinks: [{a: a, b: a}]\nhosts: {h: {leaf: a}}\n"
                                    "nodes: {an: {switch: a}}\n");
  const auto unknown =
      scratch.file("unknown.yaml", "name: t\nswitches: [s]\nhosts: {h: {leaf: s}}\nnodes: {an: {host: x}}\n");
  const auto leafless =
      scratch.file("leafless.yaml", "name: t\nswitches: [s]\nhosts: {h: {}}\nnodes: {an: {switch: s}}\n");
  const auto nodeless = scratch.file("nodeless.yaml", "name: t\nswitches: [s]\nhosts: {h: {leaf: s}}\n");
  const auto twice = scratch.file(
      "twice.yaml", "name: t\nswitches: [s]\nhosts: {h: {leaf: s}, h: {leaf: s}}\nnodes: {an: {switch: s}}\n");
  const auto absurd = scratch.file(
      "absurd.yaml", "name: t\nswitches: [s]\nhosts: {h: {leaf: s}}\nnodes: {an: {switch: s}}\ntrees: 5000000000\n");
  const auto config = scratch.file("wrong.cfg", "log_level 3\nfabrik x\n");
  const auto discovered = read(SUMAC_SOURCE_DIR "/tests/corpus/ibnetdiscover/two-rails.lst");
  const auto cut = scratch.file("cut.lst", discovered.substr(0, 1500));
  const auto one_guid = scratch.file("one-guid.lst", discovered + "\n" + discovered);
  const struct {
    const char* name;
    const char* program;
    std::vector<std::string> arguments;
    int status;
    std::string says;
  } rows[] = {
      {"GUIDs of roots that are none, without a fabric",
       "sharp_am",
       {"--root-guids-file", good},
       1,
       "root_guids_file: " + good + ":1: 'name: t' is no GUID"},
      {"a port that is no GUID", "sharp_am", {"--ib-port-guid", "mlx5_0:1"}, 1, "ib_port_guid: 'mlx5_0:1' is no GUID"},
      {"a fabric that is not there", "sharp_am", {"--fabric", "/nowhere.yaml"}, 1, "/nowhere.yaml"},
      {"a link with one end", "sharp_am", {"--fabric", selfish}, 1, "not one with itself"},
      {"an unknown host", "sharp_am", {"--fabric", unknown}, 1, "there is no host x"},
      {"a missing leaf", "sharp_am", {"--fabric", leafless}, 1, "has no leaf"},
      {"no node", "sharp_am", {"--fabric", nodeless}, 1, "node"},
      {"clear text beyond the machine", "sharp_am", {"--fabric", good, "--listen", "0.0.0.0:0"}, 1, "--allow-insecure"},
      {"an address of somebody else",
       "sharp_am",
       {"--fabric", good, "--listen", "192.0.2.1:6126", "--allow-insecure"},
       1,
       "192.0.2.1"},
      {"a state directory without a parent",
       "sharp_am",
       {"--fabric", good, "--state-dir", "/nowhere/sumac"},
       1,
       "/nowhere/sumac: its parent does not exist: make it"},
      {"a state directory that is a file", "sharp_am", {"--fabric", good, "--state-dir", good}, 1, "it is a file"},
      {"leases too short for their renewals",
       "sharp_am",
       {"--fabric", good, "--lease", "3s"},
       1,
       "--renew 2000 ms must be at most half of --lease 3000 ms"},
      {"reservations without a file",
       "sharp_am",
       {"--fabric", good, "--reservation-mode"},
       1,
       "give --reservations FILE"},
      {"a reservation that names a host twice",
       "sharp_am",
       {"--fabric", good, "--reservation-mode", "--reservations", scratch.file("reservations", "a: h h")},
       1,
       "line 1: host h is named twice"},
      {"an unknown option", "sharp_am", {"--fabrik", good}, 2, "did you mean --fabric?"},
      {"an unknown key in a file",
       "sharp_am",
       {"-O", config},
       1,
       "wrong.cfg:2: unknown key fabrik: did you mean fabric?"},
      {"a file of ibnetdiscover that is cut short",
       "sharp_am",
       {"--fabric", cut},
       1,
       ":33: not a line of ibnetdiscover, or cut short"},
      {"two devices of one GUID", "sharp_am", {"--fabric", one_guid}, 1, "in line 10: two devices have one GUID"},
      {"a host listed twice", "sharp_am", {"--fabric", twice}, 1, "the name h is used twice, for a host and a host"},
      {"more trees than anybody has", "sharp_am", {"--fabric", absurd}, 1, "'5000000000' is not a number that fits"},
      {"chunks beyond all sense", "sharp_am", {"--fabric", good, "--chunk", "4g"}, 1, "chunk=4g"},
      {"OSTs beyond all sense", "sharp_an", {"--name", "an", "--ost-count", "4294967295"}, 1, "from 1 to 65535"},
      {"memory beyond what numbers hold",
       "sharp_an",
       {"--name", "an", "--memory", "99999999999999t"},
       1,
       "memory=99999999999999t"},
      {"a node without a name", "sharp_an", {}, 1, "give --name NODE"},
      {"a node's manager beyond the machine",
       "sharp_an",
       {"--name", "an", "--manager", "192.0.2.1:1"},
       1,
       "--allow-insecure"},
      {"a transport that is none", "sharp_an", {"--name", "an", "--transport", "rdma"}, 1, "one of tcp, ucx"},
      {"a node's address that is none", "sharp_an", {"--name", "an", "--listen", "nonsense"}, 1, "nonsense"},
      {"a device that is not there", "sharp_an", {"--name", "an", "--device", "nodev0"}, 1, "nodev0"},
      {"a quiet time below the heartbeat", "sharp_an", {"--name", "an", "--lost-after", "700ms"}, 1, "--heartbeat"},
      {"sharpd's manager beyond the machine", "sharpd", {"--manager", "192.0.2.1:1"}, 1, "--allow-insecure"},
      {"sharpd's manager is no address", "sharpd", {"--manager", "am"}, 1, "write unix:PATH, or ADDR:PORT"},
      {"a socket that can't be made", "sharpd", {"--socket", "/proc/sumac/s"}, 1, "/proc/sumac"},
      {"a socket's path that is too long", "sharpd", {"--socket", "/tmp/" + std::string(120, 'x')}, 1, "xxx"},
      {"a host's name that is too long", "sharpd", {"--host", std::string(80, 'h')}, 1, "give --host NAME"},
      {"a host's name that no job may use", "sharpd", {"--host", "h 1"}, 1, "give --host NAME"},
      {"devices in two lines", "sharpd", {"--devices", "mlx5_0:1\nmlx5_1:1"}, 1, "names with commas between"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto log = scratch.file("log");
    ::unlink(log.c_str());
    DaemonProcess daemon(row.program, row.arguments, log, false);
    EXPECT_EQ(daemon.wait(), row.status);
    const auto text = daemon.output();
    EXPECT_THAT(text, testing::HasSubstr(row.says));
    EXPECT_THAT(text, testing::StartsWith(std::string(row.program) + ": "));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  }
}

TEST(WrongStart, a_node_that_the_fabric_does_not_know_ends_with_the_names_it_knows) {
  Scratch scratch;
  const auto manager = "unix:" + scratch.file("am.sock");
  const auto fabric =
      scratch.file("good.yaml", "name: t\nswitches: [s]\nhosts: {h: {leaf: s}}\nnodes: {an-one: {switch: s}}\n");
  DaemonProcess am("sharp_am", {"--fabric", fabric, "--listen", manager}, scratch.file("am.log"));
  DaemonProcess node("sharp_an", {"--name", "an-two", "--manager", manager, "--listen", "127.0.0.1:0"},
                     scratch.file("an.log"), false);
  EXPECT_EQ(node.wait(), 1);
  EXPECT_THAT(node.output(),
              testing::HasSubstr("refuses node an-two: the fabric has no node of that name: --name is one of an-one"));
}

TEST(WrongStart, a_node_without_a_manager_says_so_once_and_goes_on_trying) {
  Scratch scratch;
  const auto manager = "unix:" + scratch.file("am.sock");
  DaemonProcess node("sharp_an", {"--name", "an-one", "--manager", manager, "--listen", "127.0.0.1:0"},
                     scratch.file("an.log"), false);
  ASSERT_TRUE(node.says("no manager at " + manager));
  const auto fabric =
      scratch.file("good.yaml", "name: t\nswitches: [s]\nhosts: {h: {leaf: s}}\nnodes: {an-one: {switch: s}}\n");
  DaemonProcess am("sharp_am", {"--fabric", fabric, "--listen", manager}, scratch.file("am.log"));
  EXPECT_TRUE(am.says("node an-one registered"));
  const auto text = node.output();
  EXPECT_EQ(text.find("no manager"), text.rfind("no manager"));
}

TEST(WrongStart, a_mistyped_variable_is_told_by_the_daemon_it_was_meant_for) {
  Scratch scratch;
  const std::pair<const char*, const char*> set[] = {
      {"SUMAC_NODE_OST_CONT", "1"}, {"SUMAC_NOD_NAME", "x"}, {"SUMAC_AM_FABRIK", "y"}};
  for (const auto& [name, value] : set) ::setenv(name, value, 1);
  DaemonProcess node("sharp_an", {"--show-config"}, scratch.file("an.log"), false);
  DaemonProcess am("sharp_am", {"--show-config"}, scratch.file("am.log"), false);
  for (const auto& [name, value] : set) ::unsetenv(name);
  EXPECT_EQ(node.wait(), 0);
  EXPECT_EQ(am.wait(), 0);
  EXPECT_THAT(
      node.output(),
      testing::AllOf(
          testing::HasSubstr(
              "sharp_an: warning: unknown variable SUMAC_NODE_OST_CONT: did you mean SUMAC_NODE_OST_COUNT?\n"),
          testing::HasSubstr("sharp_an: warning: unknown variable SUMAC_NOD_NAME: did you mean SUMAC_NODE_NAME?\n"),
          testing::Not(testing::HasSubstr("FABRIK"))));
  EXPECT_THAT(am.output(),
              testing::AllOf(testing::HasSubstr("unknown variable SUMAC_AM_FABRIK: did you mean SUMAC_AM_FABRIC?"),
                             testing::Not(testing::HasSubstr("SUMAC_NOD"))));
}

}  // namespace
}  // namespace sumac::tests
