// Jobs that outlive their trees: what they keep, who is told, and when they have trees again.
#include <gmock/gmock.h>

#include <functional>

#include "manager/test_world.hpp"

namespace sumac::manager {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

control::v1::JobBegin lasting(std::uint64_t id = 7) {
  auto begin = test_begin(id);
  begin.set_outlives_trees(true);
  return begin;
}

/// The job runs on all three nodes, and each of its hosts has a sharpd.
struct Lasting : World {
  explicit Lasting(Rules rules = {}) : World(rules) {
    up();
    const auto answer = begin_and_ack(100, lasting());
    EXPECT_TRUE(answer && answer->has_granted());
    if (answer) granted = answer->granted();
    numbers = journal.state.jobs.front().shares.front().numbers;
    for (StreamId host = 2; host <= 4; ++host) {
      auto who = test_host(200 + host);
      who.set_host(fmt::format("h{}", host));
      core.host_registers(200 + host, who, now);
    }
  }
  /// A node that still has its jobs says so.
  Actions register_with(StreamId stream, const std::string& name, bool holds) {
    auto who = test_register(name);
    if (holds)
      for (const auto& range : numbers) {
        auto* held = who.mutable_trees(0)->add_held();
        held->set_first(range.first);
        held->set_count(range.count);
      }
    if (!holds) who.set_life(who.life() + (std::uint64_t{1} << 50));
    return note(core.node_registers(stream, who, now));
  }
  Actions restart(StreamId stream, const std::string& name, bool holds) {
    auto all = note(core.node_stream_ended(stream, now));
    for (auto& action : register_with(stream, name, holds)) all.push_back(std::move(action));
    for (auto& action : link(2)) all.push_back(std::move(action));
    for (auto& action : link(3)) all.push_back(std::move(action));
    return all;
  }
  Actions ack_all() {
    Actions all;
    for (const StreamId node : {1u, 2u, 3u})
      for (auto& action : ack(node)) all.push_back(std::move(action));
    return all;
  }
  std::size_t shares() const { return journal.state.jobs.front().shares.size(); }
  void renew() {
    control::v1::Renew word;
    word.add_tickets(1007);
    core.host_renews(100, word, now);
  }
  control::v1::JobGranted granted;
  std::vector<wire::NumberRange> numbers;  ///< As the job had them at first.
};

std::vector<control::v1::JobTrees> trees_in(const Actions& actions) {
  std::vector<control::v1::JobTrees> found;
  for (const auto& to : only<ToHost>(actions))
    if (to.message.has_job_trees()) found.push_back(to.message.job_trees());
  return found;
}

std::vector<std::string> nodes_of(const control::v1::JobTrees& trees) {
  std::vector<std::string> names;
  for (const auto& node : trees.granted().trees(0).nodes()) names.push_back(node.name());
  return names;
}

TEST(Again, a_job_gets_trees_without_the_node_that_stays_away_and_all_its_hosts_are_told) {
  Lasting world;
  world.note(world.core.node_stream_ended(2, world.now));
  EXPECT_EQ(world.shares(), 1u) << "the node may come back";
  auto all = world.pass(Seconds(4));
  EXPECT_EQ(world.shares(), 0u) << "written before anybody is told";
  EXPECT_TRUE(trees_in(all).empty()) << "not all nodes have acknowledged";
  for (const auto& to : answers_in(all)) EXPECT_FALSE(to.message.has_ended()) << to.message.ended().why();
  const auto told = trees_in(world.ack_all());
  ASSERT_EQ(told.size(), 4u) << "one for each host";
  EXPECT_THAT(nodes_of(told[0]), ElementsAre("an-root", "an-leaf2"));
  EXPECT_EQ(told[0].job_id(), 7u);
  EXPECT_EQ(told[0].times_again(), 1u);
  EXPECT_EQ(told[0].granted().job_key(), world.granted.job_key()) << "its ranks have no other";
  EXPECT_EQ(told[0].granted().quota().osts(), world.granted.quota().osts());
  EXPECT_EQ(told[0].granted().quota().max_groups(), world.granted.quota().max_groups());
  EXPECT_EQ(world.shares(), 1u);
}

TEST(Again, a_node_that_is_a_new_process_has_lost_the_jobs_trees_and_one_that_was_away_has_not) {
  for (const StreamId node : {1u, 2u}) {
    const std::string name = node == 1 ? "an-root" : "an-leaf1";
    Lasting world;
    auto all = world.restart(node, name, true);
    EXPECT_EQ(world.shares(), 1u) << name << " holds the job";
    for (auto& action : world.restart(node, name, false)) all.push_back(std::move(action));
    EXPECT_EQ(world.shares(), 0u) << name << " holds nothing";
    EXPECT_TRUE(trees_in(all).empty());
    const auto told = trees_in(world.ack_all());
    ASSERT_EQ(told.size(), 4u) << name;
    EXPECT_THAT(nodes_of(told[0]), ElementsAre("an-root", "an-leaf1", "an-leaf2"));
  }
}

TEST(Again, without_a_tree_the_job_keeps_its_place_and_deaths_are_passed_on) {
  Rules rules;
  rules.user.jobs_max = 1;
  Lasting world(rules);
  world.note(world.core.node_stream_ended(1, world.now));
  world.pass(Seconds(3));
  world.renew();
  world.pass(Seconds(3));
  ASSERT_EQ(world.shares(), 0u);
  EXPECT_EQ(world.core.facts().users->at(0).jobs, 1u);
  const auto other = answers_in(world.begin(100, test_begin(8)));
  ASSERT_EQ(other.size(), 1u);
  EXPECT_TRUE(other[0].message.has_refused()) << "one job a user";
  control::v1::RankDied word;
  word.set_job_id(7);
  word.set_world_rank(3);
  word.set_job_key(world.granted.job_key());
  std::size_t told = 0;
  for (const auto& to : only<ToHost>(world.core.rank_died(202, word, world.now))) told += to.message.has_rank_died();
  EXPECT_EQ(told, 3u) << "the hosts but its own";
  world.end(100, lasting());
  EXPECT_TRUE(world.core.facts().users->empty());
}

TEST(Again, it_is_bounded_and_the_job_goes_on_all_the_same) {
  Rules rules;
  rules.trees_again_max = 1;
  Lasting world(rules);
  world.restart(2, "an-leaf1", false);
  EXPECT_EQ(trees_in(world.ack_all()).size(), 4u);
  world.restart(2, "an-leaf1", false);
  auto all = world.ack_all();
  for (auto& action : world.pass(Seconds(3))) all.push_back(std::move(action));
  EXPECT_TRUE(trees_in(all).empty());
  EXPECT_EQ(world.shares(), 0u);
  EXPECT_EQ(world.core.facts().jobs.size(), 1u);
}

TEST(Again, trees_that_are_lost_at_once_are_not_given_again_at_once) {
  Lasting world;
  world.restart(2, "an-leaf1", false);
  EXPECT_EQ(trees_in(world.ack_all()).size(), 4u);
  world.restart(2, "an-leaf1", false);
  EXPECT_TRUE(trees_in(world.ack_all()).empty());
  world.pass(Seconds(2));
  EXPECT_EQ(trees_in(world.ack_all()).size(), 4u);
}

TEST(Again, a_rank_that_cannot_use_the_trees_gets_others_once_for_each) {
  const struct {
    const char* name;
    StreamId host;
    std::function<void(control::v1::TreesWanted&)> change;
    std::size_t told;
  } rows[] = {
      {"its own host", 202, {}, 4},
      {"without the key", 202, [](auto& word) { word.clear_job_key(); }, 0},
      {"with another key", 202, [](auto& word) { word.set_job_key(std::string(16, 'x')); }, 0},
      {"of other trees", 202, [](auto& word) { word.set_times_again(1); }, 0},
      {"of another job", 202, [](auto& word) { word.set_job_id(8); }, 0},
      {"a host that is not of the job", 300, {}, 0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Lasting world;
    auto who = test_host(300);
    who.set_host("h9");
    world.core.host_registers(300, who, world.now);
    control::v1::TreesWanted word;
    word.set_job_id(7);
    word.set_job_key(world.granted.job_key());
    if (row.change) row.change(word);
    world.note(world.core.trees_wanted(row.host, word, world.now));
    EXPECT_EQ(trees_in(world.ack_all()).size(), row.told);
    EXPECT_EQ(world.shares(), 1u);
    world.pass(Seconds(2));
    world.note(world.core.trees_wanted(row.host, word, world.now));  // It has not heard of the others yet.
    EXPECT_TRUE(trees_in(world.ack_all()).empty());
  }
}

TEST(Again, a_rank_that_cannot_use_the_last_trees_does_not_take_them_from_others) {
  Rules rules;
  rules.trees_again_max = 0;
  Lasting world(rules);
  control::v1::TreesWanted word;
  word.set_job_id(7);
  word.set_job_key(world.granted.job_key());
  world.note(world.core.trees_wanted(202, word, world.now));
  EXPECT_EQ(world.shares(), 1u);
}

TEST(Again, nodes_that_do_not_acknowledge_are_asked_again_and_what_they_hold_is_counted_once) {
  Lasting world;
  world.restart(2, "an-leaf1", false);
  world.renew();
  auto all = world.pass(Seconds(7));
  EXPECT_TRUE(trees_in(all).empty());
  EXPECT_EQ(trees_in(world.ack_all()).size(), 4u);
  const auto facts = world.core.facts();
  EXPECT_EQ(facts.trees[0].granted.osts, world.granted.quota().osts());
  EXPECT_EQ(facts.users->at(0).osts, world.granted.quota().osts());
  world.end(100, lasting());
  EXPECT_EQ(world.core.facts().trees[0].granted.osts, 0u);
}

TEST(Again, numbers_of_groups_that_ranks_may_still_hold_are_given_to_nobody) {
  Lasting world;
  world.ranks_leave = false;
  world.restart(2, "an-leaf1", false);
  EXPECT_EQ(world.core.facts().leaving.size(), 1u);
  world.note(world.core.node_acks(1, world.sent[1] - 1, world.now));
  world.note(world.core.node_acks(3, world.sent[3] - 1, world.now));
  ASSERT_EQ(trees_in(world.ack_all()).size(), 4u);
  EXPECT_NE(world.journal.state.jobs.front().shares.front().numbers, world.numbers);
}

TEST(Again, a_host_that_comes_later_is_told_too) {
  Lasting world;
  auto who = test_host(300);
  who.set_host("h4");
  EXPECT_TRUE(trees_in(world.note(world.core.host_registers(300, who, world.now))).empty());
  world.restart(2, "an-leaf1", false);
  world.ack_all();
  who = test_host(301);
  who.set_host("h4");
  EXPECT_EQ(trees_in(world.note(world.core.host_registers(301, who, world.now))).size(), 1u);
  who = test_host(302);
  who.set_host("h9");
  EXPECT_TRUE(trees_in(world.note(world.core.host_registers(302, who, world.now))).empty()) << "none of the job's";
}

TEST(Again, a_manager_that_is_started_again_gives_the_trees) {
  for (const bool knows_of_the_loss : {true, false}) {
    Lasting world;
    if (knows_of_the_loss) world.restart(2, "an-leaf1", false);
    EXPECT_EQ(world.shares(), knows_of_the_loss ? 0u : 1u);
    world.core = test_core({}, world.journal);
    const auto saved = world.journal.state;
    world.note(world.core.restore(saved, world.now));
    world.core.host_registers(100, test_host(100, {lasting()}), world.now);
    world.register_with(1, "an-root", !knows_of_the_loss);
    world.register_with(2, "an-leaf1", false);
    world.register_with(3, "an-leaf2", !knows_of_the_loss);
    world.link(2);
    world.link(3);
    EXPECT_EQ(trees_in(world.ack_all()).size(), 1u) << "one sharpd is there";
    EXPECT_EQ(world.journal.state.jobs.front().times_again, 1u);
  }
}

TEST(Again, a_restarted_manager_tells_no_host_of_trees_whose_nodes_are_not_back) {
  Lasting world;
  world.restart(2, "an-leaf1", false);
  ASSERT_EQ(trees_in(world.ack_all()).size(), 4u);
  world.numbers = world.journal.state.jobs.front().shares.front().numbers;
  world.core = test_core({}, world.journal);
  const auto saved = world.journal.state;
  world.note(world.core.restore(saved, world.now));
  auto all = world.core.host_registers(100, test_host(100, {lasting()}), world.now);
  EXPECT_TRUE(trees_in(all).empty()) << "no node has said where it listens";
  const auto add = [&](Actions actions) {
    for (auto& action : actions) all.push_back(std::move(action));
  };
  add(world.register_with(1, "an-root", true));
  add(world.register_with(2, "an-leaf1", true));
  add(world.register_with(3, "an-leaf2", true));
  add(world.link(2));
  EXPECT_TRUE(trees_in(all).empty()) << "a node has no connection to its parent";
  add(world.link(3));
  const auto told = trees_in(all);
  ASSERT_EQ(told.size(), 1u) << "one sharpd is there";
  EXPECT_EQ(told[0].times_again(), 1u);
  for (const auto& node : told[0].granted().trees(0).nodes()) EXPECT_NE(node.address(), "") << node.name();
}

TEST(Again, a_host_that_is_owed_the_trees_is_told_although_another_came_later) {
  // The root alone carries this job, so it is usable as soon as that node has registered.
  auto fabric = test_fabric();
  for (const char* name : {"h5", "h6"}) {
    topo::Host host;
    host.name = name;
    host.leaf = "root";
    fabric.hosts.push_back(host);
  }
  const auto host = [](const char* name, StreamId stream, const std::vector<control::v1::JobBegin>& held) {
    auto who = test_host(stream, held);
    who.set_host(name);
    return who;
  };
  World world;
  world.core = Core(fabric, {}, world.journal);
  world.up();
  auto begin = test_begin(7, {"h5", "h6"});
  begin.set_outlives_trees(true);
  world.hosts.insert(100);
  world.core.host_registers(100, host("h5", 100, {}), world.now);
  const auto answer = world.begin_and_ack(100, begin);
  ASSERT_TRUE(answer && answer->has_granted()) << (answer ? answer->refused().text() : "");
  world.note(world.core.node_stream_ended(1, world.now));
  auto root = test_register("an-root");
  root.set_life(root.life() + (std::uint64_t{1} << 50));
  world.note(world.core.node_registers(1, root, world.now));
  world.ack(1);
  ASSERT_EQ(world.journal.state.jobs.front().times_again, 1u);

  world.core = Core(fabric, {}, world.journal);
  const auto saved = world.journal.state;
  world.note(world.core.restore(saved, world.now));
  EXPECT_TRUE(trees_in(world.core.host_registers(100, host("h5", 100, {begin}), world.now)).empty());
  for (const auto& range : saved.jobs.front().shares.front().numbers) {
    auto* held = root.mutable_trees(0)->add_held();
    held->set_first(range.first);
    held->set_count(range.count);
  }
  world.note(world.core.node_registers(1, root, world.now));
  EXPECT_EQ(trees_in(world.core.host_registers(206, host("h6", 206, {}), world.now)).size(), 1u);
  std::set<StreamId> told;
  for (const auto& to : only<ToHost>(world.pass(Seconds(2))))
    if (to.message.has_job_trees()) told.insert(to.stream);
  EXPECT_TRUE(told.contains(100));
}

TEST(Again, a_job_that_did_not_ask_for_it_is_released) {
  World world;
  world.up();
  ASSERT_TRUE(world.begin_and_ack(100, test_begin(7)));
  world.note(world.core.node_stream_ended(2, world.now));
  std::string why;
  for (const auto& to : answers_in(world.pass(Seconds(4))))
    if (to.message.has_ended()) why = to.message.ended().why();
  EXPECT_THAT(why, HasSubstr("start it again"));
}

}  // namespace
}  // namespace sumac::manager
