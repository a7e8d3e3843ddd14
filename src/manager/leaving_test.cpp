// Tests the resources that ranks of an ended job hold until they have left.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "manager/test_world.hpp"

namespace sumac::manager {
namespace {

using testing::HasSubstr;

/// Job 1 of user 1000, with everything that this user may have, has ended, and its ranks stay.
struct Lingering : World {
  Lingering() : World({.user = {.share_max_percent = 50}}) {
    up();
    ranks_leave = false;
    held = begin_of(1, 1000);
    held.mutable_quota()->set_osts(256);
    held.mutable_quota()->set_max_groups(256);
    EXPECT_TRUE(begin_and_ack(100, held).has_value());
    const auto all = end(100, held);
    for (const auto& to : only<ToNode>(all)) revokes.emplace_back(to.stream, to.message.sequence());
  }
  static control::v1::JobBegin begin_of(std::uint64_t job_id, std::uint32_t uid) {
    auto begin = test_begin(job_id);
    begin.set_uid(uid);
    return begin;
  }
  control::v1::JobBegin held;
  std::vector<std::pair<StreamId, std::uint64_t>> revokes;
};

TEST(Core, what_ranks_of_an_ended_job_hold_counts_for_its_user_and_for_nobody_else) {
  Lingering world;
  ASSERT_EQ(world.revokes.size(), 3u);
  const auto other = world.begin_and_ack(100, Lingering::begin_of(2, 1001));
  ASSERT_TRUE(other.has_value()) << "another user has his default quota at once";
  EXPECT_EQ(other->granted().quota().osts(), 51u);
  EXPECT_TRUE(answers_in(world.begin(100, Lingering::begin_of(3, 1000))).empty()) << "the same user waits";
  const auto refused = answers_in(world.pass(Seconds(5)));
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_THAT(refused[0].message.refused().text(), testing::AllOf(HasSubstr("user 1000 holds 256 and may hold 256"),
                                                                  HasSubstr("nodes release what they hold in 25 s")));
  world.pass(Seconds(25));
  EXPECT_TRUE(world.begin_and_ack(100, Lingering::begin_of(4, 1000)).has_value())
      << "30 s after the end nothing is left";
}

TEST(Core, the_status_says_what_ranks_of_ended_jobs_hold) {
  Lingering world;
  const auto seen = [&](const char* what) {
    return nlohmann::json::parse(world.core.status_json(world.now)).at(what).get<std::uint64_t>();
  };
  EXPECT_EQ(seen("jobs_total"), 0u);
  EXPECT_EQ(seen("osts_granted"), 256u);
  EXPECT_EQ(seen("osts_leaving"), 256u);
  world.pass(Seconds(31));
  EXPECT_EQ(seen("osts_granted"), 0u);
  EXPECT_EQ(seen("osts_leaving"), 0u);
}

TEST(Core, a_begin_that_waits_for_ranks_to_leave_is_granted_when_the_last_node_says_so) {
  Lingering world;
  EXPECT_TRUE(answers_in(world.begin(100, Lingering::begin_of(2, 1000))).empty());
  std::size_t granted = 0;
  for (const auto& [stream, sequence] : world.revokes) {
    EXPECT_EQ(granted, 0u);
    granted = only<ToNode>(world.note(world.core.node_acks(stream, sequence, world.now))).size();
  }
  EXPECT_EQ(granted, 3u) << "the grant goes to all nodes";
  std::vector<ToHost> answers;
  for (const StreamId node : {1u, 2u, 3u})
    for (auto& answer : answers_in(world.ack(node))) answers.push_back(std::move(answer));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(answers[0].message.has_granted());
}

TEST(Core, a_node_that_comes_back_as_another_process_holds_nothing_of_ended_jobs) {
  Lingering world;
  for (const StreamId node : {1u, 2u, 3u}) world.core.node_stream_ended(node, world.now);
  world.add(11, "an-root");
  world.add(12, "an-leaf1");
  world.add(13, "an-leaf2");
  world.link(12);
  world.link(13);
  EXPECT_EQ(only<ToNode>(world.begin(100, Lingering::begin_of(2, 1000))).size(), 3u) << "granted at once";
}

TEST(Core, numbers_that_ranks_of_an_ended_job_hold_go_to_no_other_job_when_trees_change) {
  World world({.user = {.share_max_percent = 50}});
  world.up();
  world.ranks_leave = false;
  const auto numbers_of = [&](const control::v1::JobBegin& request) {
    std::set<std::uint32_t> numbers;
    for (const auto& to : only<ToNode>(world.begin(100, request)))
      for (const auto& range : to.message.grant().numbers())
        for (auto n = range.first(); n < range.first() + range.count(); ++n) numbers.insert(n);
    for (const StreamId node : {1u, 2u}) world.ack(node);
    return numbers;
  };
  auto first = test_begin(1, {"h1", "h2"});
  first.set_uid(1000);
  first.mutable_quota()->set_max_groups(256);
  const auto held = numbers_of(first);
  ASSERT_EQ(held.size(), 256u);
  world.core.node_stream_ended(3, world.now);
  world.core.host_renews(100, {}, world.now);
  world.pass(Seconds(4));  // an-leaf2 stays away, which changes the tree under the job.
  world.end(100, first);
  auto next = test_begin(2, {"h1", "h2"});
  next.set_uid(1001);
  next.mutable_quota()->set_max_groups(256);
  const auto given = numbers_of(next);
  EXPECT_EQ(given.size(), 256u);
  for (const auto n : given) ASSERT_FALSE(held.contains(n)) << n;
  const auto status = nlohmann::json::parse(world.core.status_json(world.now));
  EXPECT_EQ(status["osts_leaving"], 51);
}

/// A job whose ranks stay when its lease ends.
struct Lapsed : World {
  Lapsed() {
    up();
    ranks_leave = false;
    EXPECT_TRUE(begin_and_ack(100, request).has_value());
    actions = pass(Seconds(10));
    for (const auto& to : only<ToNode>(actions)) revokes.emplace_back(to.stream, to.message.sequence());
  }
  std::size_t jobs() const { return nlohmann::json::parse(core.status_json(now)).at("jobs_total").get<std::size_t>(); }
  const control::v1::JobBegin request = test_begin(1);
  Actions actions;
  std::vector<std::pair<StreamId, std::uint64_t>> revokes;
};

TEST(Core, a_lease_that_is_renewed_while_nodes_still_hold_the_job_goes_on) {
  for (const bool by_register : {false, true}) {
    SCOPED_TRACE(by_register);
    Lapsed world;
    ASSERT_EQ(world.revokes.size(), 3u);
    EXPECT_TRUE(answers_in(world.actions).empty()) << "its sharpd may come back yet";
    EXPECT_EQ(world.jobs(), 0u);
    world.core.node_acks(world.revokes[0].first, world.revokes[0].second, world.now);
    Actions back;
    if (by_register) {
      world.core.host_stream_ended(100, world.now);
      back = world.note(world.core.host_registers(101, test_host(100, {world.request}), world.now));
      EXPECT_EQ(only<ToHost>(back).at(0).message.registered().gone_size(), 0);
    } else {
      control::v1::Renew renew;
      renew.add_tickets(world.request.ticket());
      back = world.note(world.core.host_renews(100, renew, world.now));
    }
    EXPECT_EQ(only<ToNode>(back).size(), 3u) << "those that have forgotten it get the grant again, the others too";
    for (const auto& to : only<ToNode>(back)) EXPECT_TRUE(to.message.has_grant());
    EXPECT_EQ(world.jobs(), 1u);
    EXPECT_EQ(world.journal.state.jobs.size(), 1u);
    for (const auto& [stream, sequence] : world.revokes) world.core.node_acks(stream, sequence, world.now);
    EXPECT_EQ(world.jobs(), 1u) << "a late acknowledgement of the Revoke changes nothing";
  }
}

TEST(Core, a_lease_that_nobody_renews_ends_the_job_with_the_reason_when_the_last_node_has_let_it_go) {
  Lapsed world;
  Actions all;
  for (const auto& [stream, sequence] : world.revokes)
    for (auto& action : world.core.node_acks(stream, sequence, world.now)) all.push_back(std::move(action));
  const auto answers = answers_in(all);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].message.ended().why(),
            "h1 pid 1 uid 0 has not renewed it for 8000 ms: its sharpd or its host is gone");
  control::v1::Renew renew;
  renew.add_tickets(world.request.ticket());
  EXPECT_TRUE(only<ToNode>(world.core.host_renews(100, renew, world.now)).empty());
  EXPECT_EQ(world.jobs(), 0u);
}

}  // namespace
}  // namespace sumac::manager
