// Nodes that a neighbour does not hear: new jobs go without them, running ones go on.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "manager/test_world.hpp"

namespace sumac::manager {
namespace {

using control::v1::Neighbour;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr StreamId kRoot = 1, kLeaf1 = 2, kLeaf2 = 3;  // The node ids are the same numbers.

struct SilenceWorld : World {
  SilenceWorld() { up(); }
  Actions say(StreamId by, std::uint32_t about, Neighbour::State state) {
    Neighbour word;
    word.set_node_id(about);
    word.set_state(state);
    word.set_silent_ms(3100);
    return note(core.node_neighbour(by, word, now));
  }
  std::ptrdiff_t silent() const { return std::ranges::count(core.facts().nodes, true, &NodeFacts::silent); }
  nlohmann::json node(const std::string& name) const {
    const auto status = nlohmann::json::parse(core.status_json(now));
    return *std::ranges::find_if(status["nodes"], [&](const auto& one) { return one["name"] == name; });
  }
  std::size_t jobs() const { return nlohmann::json::parse(core.status_json(now)).at("jobs_total").get<std::size_t>(); }
  /// The nodes that get the grant of a new job on all hosts; they acknowledge it.
  std::set<StreamId> nodes_of(std::uint64_t job) {
    std::set<StreamId> nodes;
    const auto request = test_begin(job);
    for (const auto& to : only<ToNode>(begin(100, request)))
      if (to.message.has_grant()) nodes.insert(to.stream);
    bool granted = false;
    for (const auto stream : nodes)
      for (const auto& answer : answers_in(ack(stream))) granted = granted || answer.message.has_granted();
    return granted ? nodes : std::set<StreamId>{};
  }
};

std::vector<std::string> lines(const Actions& actions) {
  std::vector<std::string> texts;
  for (const auto& say : only<Say>(actions)) texts.push_back(say.text);
  return texts;
}

TEST(Silence, new_jobs_go_without_a_silent_leaf_and_running_ones_go_on) {
  SilenceWorld world;
  EXPECT_EQ(world.nodes_of(1), (std::set<StreamId>{kRoot, kLeaf1, kLeaf2}));
  EXPECT_THAT(lines(world.say(kRoot, kLeaf2, Neighbour::SILENT)),
              ElementsAre("node an-leaf2 is silent: an-root has heard nothing of it for 3.1 s; new jobs go without "
                          "it"));
  EXPECT_EQ(world.node("an-leaf2")["silent"], "an-root has heard nothing of it for 3.1 s");
  EXPECT_EQ(world.silent(), 1);
  EXPECT_TRUE(lines(world.say(kRoot, kLeaf2, Neighbour::SILENT)).empty()) << "no news";
  EXPECT_EQ(world.nodes_of(2), (std::set<StreamId>{kRoot, kLeaf1}));
  EXPECT_EQ(world.jobs(), 2u);
  EXPECT_THAT(lines(world.say(kRoot, kLeaf2, Neighbour::HEARD)),
              ElementsAre("node an-leaf2 is heard again: new jobs use it"));
  EXPECT_FALSE(world.node("an-leaf2").contains("silent"));
  EXPECT_EQ(world.nodes_of(3), (std::set<StreamId>{kRoot, kLeaf1, kLeaf2}));
  EXPECT_EQ(world.jobs(), 3u);
}

TEST(Silence, a_job_that_is_beginning_begins_again_without_the_silent_leaf) {
  SilenceWorld world;
  const auto request = test_begin(1);
  world.begin(100, request);
  world.ack(kRoot);
  world.ack(kLeaf1);
  const auto without = world.say(kRoot, kLeaf2, Neighbour::SILENT);
  EXPECT_TRUE(answers_in(without).empty()) << "its sharpd is told nothing of it";
  std::set<StreamId> granted_to;
  for (const auto& to : only<ToNode>(without))
    if (to.message.has_grant()) granted_to.insert(to.stream);
  EXPECT_EQ(granted_to, (std::set<StreamId>{kRoot, kLeaf1}));
  world.ack(kRoot);
  const auto answers = answers_in(world.ack(kLeaf1));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(answers[0].message.has_granted());
}

TEST(Silence, a_node_that_does_not_answer_the_manager_either_is_gone_with_its_link) {
  SilenceWorld world;
  world.ranks_leave = false;  // A node that is stopped acknowledges nothing.
  ASSERT_FALSE(world.nodes_of(1).empty());
  world.say(kRoot, kLeaf2, Neighbour::SILENT);
  const auto probe = world.sent[kLeaf2];
  const auto lost = world.say(kRoot, kLeaf2, Neighbour::LOST);
  EXPECT_THAT(lines(lost), testing::Contains("node an-leaf2 stays silent: the trees go on without"));
  EXPECT_EQ(world.jobs(), 0u);
  EXPECT_THAT(answers_in(lost).at(0).message.ended().why(), HasSubstr("node an-leaf2 stays silent, and tree 1"));
  EXPECT_EQ(world.node("an-leaf2")["in_tree"], false);
  world.core.node_acks(kLeaf2, probe - 1, world.now);
  EXPECT_EQ(world.node("an-leaf2")["in_tree"], false) << "it said that before";
  EXPECT_THAT(lines(world.note(world.core.node_acks(kLeaf2, probe, world.now))),
              testing::Contains("node an-leaf2 is heard again: new jobs use it"));
  EXPECT_EQ(world.node("an-leaf2")["in_tree"], true);
}

TEST(Silence, a_node_that_answers_the_manager_has_lost_a_link_and_its_jobs_go_on) {
  SilenceWorld world;
  ASSERT_FALSE(world.nodes_of(1).empty());
  world.say(kRoot, kLeaf2, Neighbour::SILENT);
  world.ack(kLeaf2);
  world.say(kRoot, kLeaf2, Neighbour::LOST);
  EXPECT_EQ(world.jobs(), 1u);
  EXPECT_EQ(world.node("an-leaf2")["in_tree"], true);
  EXPECT_EQ(world.nodes_of(2), (std::set<StreamId>{kRoot, kLeaf1}));
}

TEST(Silence, a_silent_node_that_no_job_uses_is_done_without_after_a_second) {
  SilenceWorld world;
  world.say(kLeaf1, kRoot, Neighbour::SILENT);
  EXPECT_THAT(answers_in(world.begin(100, test_begin(1))).at(0).message.refused().text(),
              HasSubstr("node an-root is silent, and the hosts have no way around it: an-leaf1 has heard nothing"));
  world.pass(Seconds(1));
  EXPECT_EQ(world.node("an-root")["in_tree"], false);
  EXPECT_NE(nlohmann::json::parse(world.core.status_json(world.now))["root"], "an-root");
  world.note(world.core.node_acks(kRoot, world.sent[kRoot], world.now));
  EXPECT_EQ(world.node("an-root")["in_tree"], true);
}

TEST(Silence, is_believed_of_the_child_where_two_nodes_say_it_of_each_other) {
  for (const bool child_first : {false, true}) {
    SilenceWorld world;
    if (child_first) world.say(kLeaf2, kRoot, Neighbour::SILENT);
    world.say(kRoot, kLeaf2, Neighbour::SILENT);
    if (!child_first) world.say(kLeaf2, kRoot, Neighbour::SILENT);
    EXPECT_TRUE(world.node("an-leaf2").contains("silent"));
    EXPECT_FALSE(world.node("an-root").contains("silent"));
  }
}

TEST(Silence, ends_with_the_stream_of_the_node_that_reported_it) {
  SilenceWorld world;
  world.say(kLeaf1, kRoot, Neighbour::SILENT);
  EXPECT_TRUE(world.node("an-root").contains("silent"));
  world.core.node_stream_ended(kLeaf1, world.now);
  EXPECT_FALSE(world.node("an-root").contains("silent"));
}

TEST(Silence, is_believed_of_neighbours_only) {
  SilenceWorld world;
  world.say(kLeaf1, kLeaf2, Neighbour::SILENT);
  world.say(kLeaf1, kLeaf1, Neighbour::LOST);
  world.say(kLeaf1, 0, Neighbour::LOST);
  world.say(kLeaf1, 9, Neighbour::LOST);
  world.say(9, kLeaf1, Neighbour::LOST);
  EXPECT_EQ(world.silent(), 0);
}

}  // namespace
}  // namespace sumac::manager
