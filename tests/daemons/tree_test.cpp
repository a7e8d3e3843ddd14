// These tests run a whole tree of real processes, from the manager to the sum.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/daemons/test_tree.hpp"

namespace sumac::tests {
namespace {

using node::TestGroup;
using testing::HasSubstr;
using wire::HostKind;

TEST(Daemons, allreduces_are_exact_from_the_manager_to_the_sum) {
  Tree tree;
  Holder holder(tree, 0xFFFF'0000'1111'2222, /*SAT*/ 1u << 2);
  ASSERT_EQ(holder.refused, "");
  ASSERT_EQ(holder.job.leaf_of_rank.size(), 4u);
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
  EXPECT_TRUE(tree.without_jobs(*tree.root, "an-root"));
  const auto root = tree.statistics(*tree.root, "an-root");
  EXPECT_EQ(root["node"]["groups_formed"], 1);
  EXPECT_EQ(root["node"]["buffer_copies"], 0);
  EXPECT_EQ(root["node"]["offences"], 0);
}

TEST(Daemons, two_trees_over_three_nodes_add_up_side_by_side) {
  Tree tree{Tree::TwoTrees{}};
  Holder holder(tree, 1, 0, 64, 2);
  ASSERT_EQ(holder.refused, "");
  ASSERT_EQ(holder.trees.size(), 2u);
  EXPECT_NE(holder.trees[0].tree_id, holder.trees[1].tree_id);
  EXPECT_TRUE(tree.one->says(" bytes in 2 trees: ")) << "the bound of memory is the whole node's";
  EXPECT_NE(holder.trees[0].tree.front().node_id, holder.trees[1].tree.front().node_id) << "two roots";
  for (const auto& [node, address] : holder.trees[0].address)
    if (holder.trees[1].address.contains(node)) {
      EXPECT_NE(address, holder.trees[1].address.at(node)) << "a shard for each";
    }
  {
    TestGroup one(holder.trees[0]), other(holder.trees[1]);
    ASSERT_EQ(one.form(1).state, proto::OpenOutcome::State::opened);
    ASSERT_EQ(other.form(2).state, proto::OpenOutcome::State::opened);
    for (std::int64_t i = 0; i < 20; ++i) {
      ASSERT_TRUE(one.allreduce(1 + static_cast<std::size_t>(i), i)) << i;
      ASSERT_TRUE(other.allreduce(1 + static_cast<std::size_t>(i), -i)) << i;
    }
    EXPECT_TRUE(one.leave());
    EXPECT_TRUE(other.leave());
  }
  EXPECT_TRUE(holder.end());
  tree.root->stop();
  std::ifstream file(tree.scratch.file("an-root.json"));
  const auto statistics = nlohmann::json::parse(file);
  ASSERT_GE(statistics["trees"].size(), 1u);
  EXPECT_EQ(statistics["trees"][0]["node"]["groups_formed"], 1);
}

TEST(Daemons, a_root_that_stays_away_loses_its_tree_and_the_other_tree_goes_on) {
  Tree tree{Tree::TwoTrees{}};
  Holder holder(tree, 1, 0, 64, 2);
  ASSERT_EQ(holder.trees.size(), 2u) << holder.refused;
  tree.root->stop(SIGKILL);
  ASSERT_TRUE(tree.am->says("node an-root stays away: the trees go on without"));
  ASSERT_TRUE(tree.am->says("job_id_external: 1 job_id_sharp: 1 released: node an-root stays away"));
  Holder next(tree, 2, 0, 64, 2);
  ASSERT_EQ(next.refused, "");
  for (const auto& one : next.trees) {
    TestGroup group(one);
    ASSERT_EQ(group.form(3).state, proto::OpenOutcome::State::opened);
    EXPECT_TRUE(group.allreduce(100, 5));
    EXPECT_TRUE(group.leave());
  }
}

TEST(Daemons, without_a_fabric_file_the_fabric_is_what_registers) {
  Scratch scratch;
  const std::string manager = "unix:" + scratch.file("am.sock");
  DaemonProcess am("sharp_am", {"--listen", manager}, scratch.file("am.log"));
  DaemonProcess node("sharp_an", {"--name", "an", "--manager", manager, "--listen", "127.0.0.1:0"},
                     scratch.file("an.log"));
  DaemonProcess hostd("sharpd", {"--manager", manager, "--host", "h1", "--socket", scratch.file("sharpd.sock")},
                      scratch.file("sharpd.log"));
  auto socket = net::HostClient::connect(scratch.file("sharpd.sock"), Seconds(20)).value();
  EXPECT_TRUE(socket.send(wire::host_message(HostKind::attach, wire::AttachBody{.world_size = 1}), Seconds(20)));
  EXPECT_EQ(socket.receive(Seconds(20)).value().header.kind, HostKind::attached);
  wire::JobBeginBody begin;
  begin.world_size = begin.host_count = 1;
  EXPECT_TRUE(socket.send(wire::host_message(HostKind::job_begin, begin, JobId{5}), Seconds(20)));
  wire::JobHostEntry host;
  ASSERT_TRUE(wire::put_text(host.host, "h1"));
  EXPECT_TRUE(
      socket.send(wire::host_list<wire::JobHostEntry>(HostKind::job_host, {&host, 1}, 0, 1, JobId{5}), Seconds(20)));
  EXPECT_EQ(socket.receive(Seconds(20)).value().header.kind, HostKind::job_granted);
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

TEST(Daemons, a_job_whose_lease_ended_makes_no_new_group_and_goes_on_when_its_sharpd_comes_back) {
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
  ASSERT_TRUE(tree.am->says("job_id_external: 1 job_id_sharp: 1 goes on: its sharpd has come back"));
  ASSERT_TRUE(tree.one->says("job 1 granted"));
  {
    Holder early(tree, 2, 0, 512);  // This connection of the holder's process takes job 1 over, and ends it.
    EXPECT_THAT(early.refused, HasSubstr("all 512 are held by other jobs"));
  }
  EXPECT_TRUE(group.allreduce(10, 3)) << "its members still run";
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
    Holder holder(tree, 1, 0, 512);  // it takes everything: the next job gets OSTs only when these are really free
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
  const auto stub = control::v1::Manager::NewStub(control::make_channel(tree.manager).value());
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
