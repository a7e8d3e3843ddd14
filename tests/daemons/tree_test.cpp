// A whole tree of real processes, from the manager to the sum.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "control/control.grpc.pb.h"
#include "control/endpoint.hpp"
#include "net/unix_seqpacket.hpp"
#include "node/test_member.hpp"
#include "tests/daemons/daemon_process.hpp"
#include "wire/host_codec.hpp"

namespace sumac::tests {
namespace {

using node::TestGroup;
using node::TestJob;
using testing::HasSubstr;
using wire::HostKind;

constexpr const char* kFabric = R"(name: test
switches: [root, leaf1, leaf2]
links: [{a: leaf1, b: root}, {a: leaf2, b: root}]
hosts: {h1: {leaf: leaf1}, h2: {leaf: leaf1}, h3: {leaf: leaf2}}
nodes: {an-root: {switch: root}, an-leaf1: {switch: leaf1}, an-leaf2: {switch: leaf2}}
)";

struct Tree {
  Scratch scratch;
  std::string manager = "unix:" + scratch.file("am.sock");
  std::string listen = "127.0.0.1:0";  ///< Of the nodes' data paths.
  std::vector<std::string> manager_options;
  std::optional<DaemonProcess> am, root, one, two, hostd;

  Tree() { start_all(); }
  /// A tree on a machine that has IPv6 only, as far as it can tell.
  struct Ipv6 {};
  explicit Tree(Ipv6) {
    listen = "[::1]:0";
    manager = "[::1]:0";
    start_manager();
    const auto text = am->output();
    const auto at = text.find("listens on [::1]:");
    if (at == std::string::npos) return;
    manager = text.substr(at + 11, text.find(';', at) - at - 11);
    start_others();
  }
  /// A manager that keeps its state.
  struct Durable {};
  explicit Tree(Durable) {
    manager_options = {"--state-dir", scratch.file("state")};
    start_all();
  }
  /// ... long enough for a busy machine.
  struct ShortLeases {};
  explicit Tree(ShortLeases) {
    manager_options = {"--lease", "4s", "--renew", "1s"};
    start_all();
  }
  void start_all() {
    start_manager();
    start_others();
  }
  void start_others() {
    start(one, "an-leaf1");  // before its parent, as may happen
    start(two, "an-leaf2");
    start(root, "an-root");
    start_hostd();
  }
  void start_hostd() {
    hostd.emplace(
        "sharpd",
        std::vector<std::string>{"--manager", manager, "--host", "h1", "--socket", scratch.file("sharpd.sock")},
        scratch.file("sharpd.log"));
  }
  void start_manager() {
    std::vector<std::string> arguments{"--fabric", scratch.file("fabric.yaml", kFabric), "--listen", manager};
    arguments.insert(arguments.end(), manager_options.begin(), manager_options.end());
    am.emplace("sharp_am", arguments, scratch.file("am.log"));
  }
  void start(std::optional<DaemonProcess>& daemon, const std::string& name) {
    daemon.emplace("sharp_an",
                   std::vector<std::string>{"--name", name, "--manager", manager, "--listen", listen, "--log-level",
                                            "3", "--stats-file", scratch.file(name + ".json")},
                   scratch.file(name + ".log"));
  }
  /// Waits until the manager has all nodes back; false after a time that only a failure reaches.
  bool all_registered() const {
    const auto stub = control::v1::Manager::NewStub(control::make_channel(manager));
    for (const Time end = monotonic_now() + Seconds(20); monotonic_now() < end; ::poll(nullptr, 0, 5)) {
      grpc::ClientContext context;
      control::v1::StatusReply reply;
      if (!stub->Status(&context, {}, &reply).ok()) continue;
      const auto status = nlohmann::json::parse(reply.json());
      if (std::ranges::all_of(status["nodes"],
                              [](const auto& node) { return node["registered"] && node.value("link_up", false); }))
        return true;
    }
    return false;
  }
  nlohmann::json statistics(DaemonProcess& daemon, const std::string& name) {
    EXPECT_EQ(daemon.stop(), 0) << daemon.output();
    std::ifstream file(scratch.file(name + ".json"));
    return nlohmann::json::parse(file);
  }
};

/// The library's conversation with sharpd; holds the job until it goes out of scope.
struct Holder {
  net::HostClient socket;
  TestJob job;
  std::string refused;
  std::uint32_t status = 0;

  Holder(Tree& tree, std::uint64_t job_id, std::uint64_t features = 0, std::uint32_t osts = 64)
      : socket(net::HostClient::connect(tree.scratch.file("sharpd.sock"), Seconds(20)).value()) {
    send(wire::host_message(HostKind::attach, wire::AttachBody{.world_size = 3}));
    EXPECT_EQ(receive().header.kind, HostKind::attached);
    wire::JobBeginBody begin;
    begin.world_size = begin.host_count = 3;
    begin.wish.osts = osts;
    begin.wish.max_groups = 4;
    begin.wish.payload_per_ost = 256;
    begin.features = features;
    send(wire::host_message(HostKind::job_begin, begin, job_id));
    const char* names[] = {"h1", "h2", "h3"};
    std::vector<wire::JobHostEntry> hosts(3);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(wire::put_text(hosts[i].host, names[i]));
    send(wire::host_list<wire::JobHostEntry>(HostKind::job_host, hosts, 0, 3, job_id));
    const auto answer = receive();
    if (answer.header.kind == HostKind::job_refused) {
      const auto body = wire::host_entry<wire::JobRefusedBody>(answer);
      refused = wire::get_text(body.text);
      status = body.status;
      return;
    }
    const auto granted = wire::host_entry<wire::JobGrantedBody>(answer);
    job.job_id = job_id;
    job.osts = std::max(2u, granted.grant.osts / granted.grant.max_groups);
    job.payload = granted.grant.payload_per_ost;
    job.stream_window = granted.stream_window;
    job.chunk = granted.chunk_bytes;
    const auto tree_body = wire::host_entry<wire::JobTreeBody>(receive());
    job.tree_id = tree_body.tree_id;
    for (std::uint32_t i = 0; i < tree_body.node_count; ++i) {
      const auto entry = wire::host_entry<wire::JobNodeEntry>(receive());
      job.tree.push_back({entry.node_id, entry.parent_id});
      job.address[entry.node_id] = wire::get_text(entry.address);
    }
    const auto leaves = receive();
    for (std::uint32_t i = 0; i < leaves.header.entries; ++i)
      job.leaf_of_rank.push_back(wire::host_entry<wire::JobLeafEntry>(leaves, i).node_id);
  }
  void send(const wire::HostMessage& message) { EXPECT_TRUE(socket.send(message, Seconds(20))); }
  wire::HostMessage receive() { return socket.receive(Seconds(20)).value(); }
  bool end() {
    send(wire::host_message(HostKind::job_end, job.job_id));
    return receive().header.kind == HostKind::job_ended;
  }
};

TEST(Daemons, allreduces_are_exact_from_the_manager_to_the_sum) {
  Tree tree;
  Holder holder(tree, 0xFFFF'0000'1111'2222, /*SAT*/ 1u << 2);
  ASSERT_EQ(holder.refused, "");
  ASSERT_EQ(holder.job.leaf_of_rank.size(), 3u);
  EXPECT_EQ(holder.job.payload, 256u);
  EXPECT_EQ(holder.job.stream_window, 16u);
  EXPECT_EQ(holder.job.chunk, 65536u);
  {
    TestGroup group(holder.job);
    ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
    ASSERT_EQ(group.members[2]->group().phase(), proto::ClientGroup::Phase::standing)
        << group.members[2]->group().why();
    for (std::int64_t i = 0; i < 200; ++i) ASSERT_TRUE(group.allreduce(1 + static_cast<std::size_t>(i), i)) << i;
    for (std::int64_t i = 0; i < 5; ++i) ASSERT_TRUE(group.allreduce(1u << 17, i, true)) << "1 MiB, streaming, " << i;
    EXPECT_TRUE(group.leave());
  }
  EXPECT_TRUE(holder.end());
  const auto root = tree.statistics(*tree.root, "an-root");
  EXPECT_EQ(root["node"]["groups_formed"], 1);
  EXPECT_EQ(root["node"]["buffer_copies"], 0);
  EXPECT_EQ(root["node"]["offences"], 0);
  EXPECT_EQ(root["jobs"].size(), 0u) << "the job ended: " << root.dump();
}

TEST(Daemons, a_node_killed_before_the_job_is_named_and_may_come_back) {
  Tree tree;
  tree.two->stop(SIGKILL);
  ASSERT_TRUE(tree.am->says("node an-leaf2 is down"));
  {
    Holder holder(tree, 1);
    EXPECT_EQ(holder.status, 35u);
    EXPECT_THAT(holder.refused, HasSubstr("node an-leaf2 has not registered"));
  }
  tree.start(tree.two, "an-leaf2");
  Holder holder(tree, 2);
  ASSERT_EQ(holder.refused, "");
  TestGroup group(holder.job);
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  EXPECT_TRUE(group.allreduce(10, 3));
}

TEST(Daemons, a_node_killed_in_mid_job_fails_its_members_in_bounded_time) {
  Tree tree;
  Holder holder(tree, 1);
  TestGroup group(holder.job);
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  ASSERT_TRUE(group.allreduce(10, 3));
  tree.root->stop(SIGKILL);
  EXPECT_TRUE(group.until(
      [&] { return group.all([](auto& m) { return m.group().phase() == proto::ClientGroup::Phase::lost; }); }));
  EXPECT_THAT(group.members[0]->group().why(), testing::Not(testing::IsEmpty()));
}

TEST(Daemons, a_root_that_is_started_again_serves_new_jobs_and_old_ones_hold_nothing) {
  Tree tree;
  for (std::uint64_t life = 1; life <= 3; ++life) {
    SCOPED_TRACE(life);
    Holder holder(tree, life);
    ASSERT_EQ(holder.refused, "");
    TestGroup group(holder.job);
    ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
    ASSERT_EQ(group.members[0]->group().phase(), proto::ClientGroup::Phase::standing)
        << group.members[0]->group().why();
    EXPECT_TRUE(group.allreduce(10, 3));
    tree.root->stop(SIGKILL);
    EXPECT_TRUE(group.until(
        [&] { return group.all([](auto& m) { return m.group().phase() == proto::ClientGroup::Phase::lost; }); }));
    tree.start(tree.root, "an-root");  // while the members of the lost job are still connected
  }
}

TEST(Daemons, the_data_path_goes_on_without_its_manager) {
  Tree tree;
  Holder holder(tree, 1);
  TestGroup group(holder.job);
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  tree.am->stop(SIGKILL);
  ASSERT_TRUE(tree.one->says("the data path goes on"));
  for (std::int64_t i = 0; i < 20; ++i) ASSERT_TRUE(group.allreduce(10, i));
  Holder other(tree, 2);
  EXPECT_EQ(other.status, 52u);
  EXPECT_THAT(other.refused, HasSubstr("no manager at " + tree.manager));
}

TEST(Daemons, a_manager_killed_under_a_job_knows_it_again_and_the_job_makes_new_groups_meanwhile) {
  Tree tree{Tree::Durable{}};
  Holder holder(tree, 1, 0, 300);
  TestGroup group(holder.job);
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  for (int life = 0; life < 3; ++life) {
    tree.am->stop(SIGKILL);
    ASSERT_TRUE(group.allreduce(10, life)) << "the data path is undisturbed";
    TestGroup other(holder.job);
    ASSERT_EQ(other.form(2 + static_cast<std::uint64_t>(life)).state, proto::OpenOutcome::State::opened);
    tree.start_manager();
    EXPECT_TRUE(group.allreduce(10, life));
    EXPECT_TRUE(other.leave());
    ASSERT_TRUE(tree.all_registered());
    Holder greedy(tree, 2, 0, 213);
    EXPECT_THAT(greedy.refused, HasSubstr("212 of 512 are free"));
    Holder modest(tree, 3, 0, 212);
    EXPECT_EQ(modest.refused, "");
    EXPECT_TRUE(modest.end());
  }
  EXPECT_TRUE(group.leave());
  EXPECT_TRUE(holder.end());
  Holder all(tree, 4, 0, 512);
  EXPECT_EQ(all.refused, "") << "nothing leaked";
}

TEST(Daemons, a_job_whose_lease_ended_makes_no_new_group_and_what_it_still_runs_is_not_given_away) {
  Tree tree{Tree::ShortLeases{}};
  Holder holder(tree, 1, 0, 512);
  ASSERT_EQ(holder.refused, "");
  TestGroup group(holder.job);
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  tree.hostd->stop(SIGKILL);
  ASSERT_TRUE(tree.am->says("its sharpd or its host is gone"));
  ASSERT_TRUE(tree.root->says("job 1 revoked"));
  {
    TestGroup late(holder.job);
    EXPECT_EQ(late.form(2).state, proto::OpenOutcome::State::refused);
  }
  EXPECT_TRUE(group.allreduce(10, 3)) << "its members still run";
  tree.start_hostd();
  {
    Holder early(tree, 2, 0, 512);
    EXPECT_THAT(early.refused, HasSubstr("ranks of a former job still hold them"));
  }
  EXPECT_TRUE(group.leave());
  Holder next(tree, 3, 0, 512);
  EXPECT_EQ(next.refused, "");
}

TEST(Daemons, hosts_that_have_ipv6_only) {
  if (!std::ifstream("/proc/net/if_inet6").good()) GTEST_SKIP() << "this machine has no IPv6";
  Tree tree{Tree::Ipv6{}};
  ASSERT_TRUE(tree.hostd) << tree.am->output();
  Holder holder(tree, 1);
  ASSERT_EQ(holder.refused, "");
  TestGroup group(holder.job);
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  EXPECT_TRUE(group.allreduce(10, 3));
  EXPECT_TRUE(group.leave());
}

TEST(Daemons, members_that_die_with_their_holder_leave_room_for_the_next_job) {
  Tree tree;
  {
    Holder holder(tree, 1, 0, 512);  // everything: the next job gets OSTs only when these are really free
    TestGroup group(holder.job);
    ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
    ASSERT_TRUE(group.allreduce(10, 3));
  }
  ASSERT_TRUE(tree.am->says("is gone without ending it"));
  Holder next(tree, 2, 0, 512);
  ASSERT_EQ(next.refused, "");
  TestGroup group(next.job);
  ASSERT_EQ(group.form(1).state, proto::OpenOutcome::State::opened);
  EXPECT_TRUE(group.allreduce(10, 4));
}

TEST(Daemons, status_tells_nodes_and_jobs) {
  Tree tree;
  Holder holder(tree, 77);
  ASSERT_EQ(holder.refused, "");
  const auto stub = control::v1::Manager::NewStub(control::make_channel(tree.manager));
  grpc::ClientContext context;
  control::v1::StatusReply reply;
  ASSERT_TRUE(stub->Status(&context, {}, &reply).ok());
  const auto status = nlohmann::json::parse(reply.json());
  EXPECT_EQ(status["jobs"][0]["id"], 77);
  EXPECT_EQ(status["osts_free"], 512 - 64);
  for (const auto& node : status["nodes"]) EXPECT_EQ(node["link_up"], true) << status.dump();
}

TEST(Daemons, everything_ends_at_once_and_cleans_up) {
  Tree tree;
  for (auto* daemon : {&tree.hostd, &tree.one, &tree.two, &tree.root, &tree.am})
    EXPECT_EQ((*daemon)->stop(), 0) << (*daemon)->output();
  EXPECT_NE(::access(tree.scratch.file("sharpd.sock").c_str(), F_OK), 0);
  EXPECT_NE(::access(tree.scratch.file("am.sock").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace sumac::tests
