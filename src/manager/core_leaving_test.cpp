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

}  // namespace
}  // namespace sumac::manager
