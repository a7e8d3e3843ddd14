// SIGHUP applies the options that may change, reports those that may not, and changes nothing if the file makes no
// sense.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/unix_seqpacket.hpp"
#include "tests/daemons/daemon_process.hpp"
#include "wire/host_codec.hpp"

namespace sumac::tests {
namespace {

TEST(Reload, the_manager_takes_over_what_may_change_and_says_what_may_not) {
  Scratch scratch;
  const auto fabric =
      scratch.file("good.yaml", "name: t\nswitches: [s]\nhosts: {h: {leaf: s}}\nnodes: {an: {switch: s}}\n");
  const std::string head = "fabric " + fabric + "\nlisten unix:" + scratch.path + "/am.sock\n";
  const auto config = scratch.file("am.cfg", head + "user_jobs_max 2\n");
  const auto log = scratch.file("am.log");
  DaemonProcess am("sharp_am", {"-O", config, "--lease", "20s"}, log);

  const auto reservations = scratch.file("reservations", "night: h\n");
  scratch.file("am.cfg", "fabric " + fabric + "\nlisten unix:" + scratch.path +
                             "/other.sock\nuser_jobs_max 4\nreservation_mode 1\nreservations " + reservations +
                             "\nlease 30s\n");
  am.signal(SIGHUP);
  ASSERT_TRUE(am.says("1 reservations read")) << am.output();
  const auto first = am.output();
  EXPECT_THAT(first, testing::HasSubstr("user_jobs_max is '4' now, it was '2'"));
  EXPECT_THAT(first, testing::HasSubstr("reservation_mode is '1' now, it was '0'"));
  EXPECT_THAT(first, testing::HasSubstr("listen can't change while this runs: it stays 'unix:" + scratch.path +
                                        "/am.sock'; restart for 'unix:" + scratch.path + "/other.sock'"));
  EXPECT_THAT(first, testing::Not(testing::HasSubstr("lease"))) << "the command line goes before the file";

  const struct {
    const char* name;
    std::string text;
    std::string says;
  } wrong[] = {
      {"an unknown key", head + "user_jobs_mx 1\n", "am.cfg:3: unknown key user_jobs_mx: did you mean user_jobs_max?"},
      {"a value beyond what is legal", head + "default_quota_percent 101\n", "default_quota_percent"},
      {"an absurd size", head + "chunk 4g\n", "chunk"},
      {"reservations that are not there", head + "reservation_mode 1\nreservations /nowhere\n",
       "reservations /nowhere: can't be read"},
  };
  for (const auto& row : wrong) {
    SCOPED_TRACE(row.name);
    scratch.file("am.cfg", row.text);
    am.signal(SIGHUP);
    ASSERT_TRUE(am.says(row.says)) << am.output();
  }
  const auto all = am.output();
  EXPECT_EQ(all.find(" is '1' now", first.size()), std::string::npos) << all;
  std::size_t refused = 0;
  for (auto at = all.find("SIGHUP: nothing changed: "); at != std::string::npos;
       at = all.find("SIGHUP: nothing changed: ", at + 1))
    ++refused;
  EXPECT_EQ(refused, std::size(wrong)) << all;

  scratch.file("am.cfg", head + "user_jobs_max 4\nreservation_mode 1\nreservations " + reservations + "\n");
  am.signal(SIGHUP);
  EXPECT_TRUE(am.says("SIGHUP: no option has changed")) << am.output();
  EXPECT_EQ(am.stop(), 0);
}

TEST(Reload, node_and_sharpd_change_their_log_level) {
  Scratch scratch;
  const std::string manager = "unix:" + scratch.path + "/am.sock";
  const struct {
    const char* program;
    std::string text;
  } rows[] = {
      {"sharpd", "manager " + manager + "\nhost h\nsocket " + scratch.path + "/s.sock\n"},
      {"sharp_an", "manager " + manager + "\nname an\nlisten 127.0.0.1:0\n"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.program);
    const auto config = scratch.file(std::string(row.program) + ".cfg", row.text + "log_level 3\n");
    DaemonProcess daemon(row.program, {"-O", config}, scratch.file(std::string(row.program) + ".log"), false);
    ASSERT_TRUE(daemon.says("listens")) << daemon.output();
    scratch.file(std::string(row.program) + ".cfg", row.text + "log_level 4\nallow_insecure 1\n");
    daemon.signal(SIGHUP);
    ASSERT_TRUE(daemon.says("log_verbosity is '4' now, it was '3'")) << daemon.output();
    ASSERT_TRUE(daemon.says("allow_insecure can't change while this runs")) << daemon.output();
    scratch.file(std::string(row.program) + ".cfg", row.text + "log_level 7\n");
    daemon.signal(SIGHUP);
    ASSERT_TRUE(daemon.says("SIGHUP: nothing changed: ")) << daemon.output();
    EXPECT_EQ(daemon.stop(), 0);
  }
}

/// Returns false when sharpd closed the connection at once.
bool attaches(net::HostClient& client) {
  if (!client.send(wire::host_message(wire::HostKind::attach, wire::AttachBody{.world_size = 1}), Seconds(20)))
    return false;
  const auto answer = client.receive(Seconds(20));
  return answer && answer->header.kind == wire::HostKind::attached;
}

TEST(Reload, sharpd_takes_more_processes_when_it_is_told_so) {
  Scratch scratch;
  const auto socket = scratch.file("s.sock");
  const std::string head = "manager unix:" + scratch.file("am.sock") + "\nhost h\nlog_level 3\nsocket " + socket + "\n";
  const auto config = scratch.file("sharpd.cfg", head + "clients_max 1\n");
  DaemonProcess sharpd("sharpd", {"-O", config}, scratch.file("sharpd.log"));
  auto first = net::HostClient::connect(socket, Seconds(20)).value();
  ASSERT_TRUE(attaches(first)) << sharpd.output();
  auto second = net::HostClient::connect(socket, Seconds(20)).value();
  EXPECT_FALSE(attaches(second));
  scratch.file("sharpd.cfg", head + "clients_max 2\n");
  sharpd.signal(SIGHUP);
  ASSERT_TRUE(sharpd.says("clients_max is '2' now, it was '1'")) << sharpd.output();
  auto third = net::HostClient::connect(socket, Seconds(20)).value();
  EXPECT_TRUE(attaches(third));
  EXPECT_EQ(sharpd.stop(), 0);
}

TEST(Reload, a_node_writes_its_statistics_where_it_is_told_to) {
  Scratch scratch;
  const std::string head = "manager unix:" + scratch.file("am.sock") + "\nname an\nlisten 127.0.0.1:0\nlog_level 3\n";
  const auto config = scratch.file("an.cfg", head);
  DaemonProcess node("sharp_an", {"-O", config}, scratch.file("an.log"), false);
  ASSERT_TRUE(node.says("listens")) << node.output();
  scratch.file("an.cfg", head + "stats_file " + scratch.file("stats.json") + "\n");
  node.signal(SIGHUP);
  ASSERT_TRUE(node.says("stats_file is '" + scratch.file("stats.json") + "' now")) << node.output();
  EXPECT_EQ(node.stop(), 0);
  EXPECT_EQ(::access(scratch.file("stats.json").c_str(), R_OK), 0) << node.output();
}

}  // namespace
}  // namespace sumac::tests
