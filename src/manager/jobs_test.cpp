#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "manager/test_world.hpp"
#include "wire/proof.hpp"

namespace sumac::manager {
namespace {

using control::v1::HostDown;
using page::Viewer;
using testing::HasSubstr;
using testing::Not;

TEST(Core, a_job_is_granted_when_every_node_has_acknowledged_and_not_before) {
  World world;
  world.up();
  EXPECT_TRUE(answers_in(world.begin(100, test_begin(7))).empty());
  EXPECT_TRUE(answers_in(world.ack(1)).empty());
  EXPECT_TRUE(answers_in(world.ack(3)).empty());
  const auto answers = answers_in(world.ack(2));
  ASSERT_EQ(answers.size(), 1u);
  const auto& granted = answers[0].message.granted();
  EXPECT_EQ(granted.quota().osts(), 51u);
  EXPECT_EQ(granted.quota().max_groups(), 51u);
  EXPECT_EQ(granted.quota().payload_per_ost(), 1024u);
  ASSERT_EQ(granted.trees(0).nodes_size(), 3);
  EXPECT_EQ(granted.trees(0).root_node(), 1u);
  EXPECT_EQ(granted.trees(0).nodes(0).parent_id(), granted.trees(0).nodes(0).node_id()) << "the root is its own parent";
  EXPECT_EQ(granted.trees(0).nodes(1).parent_id(), granted.trees(0).root_node());
  EXPECT_THAT(granted.trees(0).leaves(), testing::ElementsAre(2u, 2u, 3u, 3u));
}

TEST(Core, an_acknowledgement_of_something_older_does_not_count) {
  World world;
  world.up();
  const auto before = world.sent;
  world.begin(100, test_begin(7));
  for (const auto& [stream, sequence] : before)
    EXPECT_TRUE(answers_in(world.core.node_acks(stream, sequence, world.now)).empty());
}

TEST(Core, a_begin_that_can_not_be_granted_is_refused_and_says_why) {
  const struct {
    const char* name;
    std::function<void(World&)> before;
    std::function<void(control::v1::JobBegin&)> change;
    const char* says;
  } rows[] = {
      {"a node is missing",
       [](World& w) { w.core.node_stream_ended(3, w.now); },
       {},
       "node an-leaf2 has not registered"},
      {"two nodes are missing",
       [](World& w) {
         w.core.node_stream_ended(3, w.now);
         w.core.node_stream_ended(1, w.now);
       },
       {},
       "nodes an-root, an-leaf2 have not registered"},
      {"the id runs already", [](World& w) { w.begin_and_ack(100, test_begin(7)); }, {}, "job id 7 is running already"},
      {"an unknown host", {}, [](auto& b) { b.set_hosts(1, "h9"); }, "host h9 is not in the fabric"},
      {"a host twice", {}, [](auto& b) { b.set_hosts(1, "h1"); }, "host h1 is named twice"},
      {"no host", {}, [](auto& b) { b.clear_hosts(); }, "names no host"},
      {"fewer ranks than hosts", {}, [](auto& b) { b.set_world_size(2); }, "2 ranks can't be on 4 hosts"},
      {"too many OSTs", {}, [](auto& b) { b.mutable_quota()->set_osts(513); }, "SHARP_COLL_JOB_QUOTA_OSTS"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    World world;
    world.up();
    if (row.before) row.before(world);
    auto request = test_begin(7);
    if (row.change) row.change(request);
    const auto actions = world.begin(200, request);
    const auto answers = answers_in(actions);
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].message.refused().status(), kStatusJobError);
    EXPECT_THAT(answers[0].message.refused().text(), HasSubstr(row.says));
    EXPECT_TRUE(only<ToNode>(actions).empty()) << "nothing reached a node";
  }
}

TEST(Core, a_node_that_stays_silent_fails_the_begin_in_bounded_time_and_keeps_nothing) {
  World world;
  world.up();
  world.begin(100, test_begin(7));
  world.ack(1);
  world.ack(2);
  for (int second = 1; second < 5; ++second) EXPECT_TRUE(world.core.tick(world.now + Seconds(second)).empty());
  const auto actions = world.pass(Seconds(5));
  ASSERT_EQ(answers_in(actions).size(), 1u);
  EXPECT_THAT(answers_in(actions)[0].message.refused().text(),
              HasSubstr("node an-leaf2 has not acknowledged the grant in 5000 ms"));
  EXPECT_EQ(only<ToNode>(actions).size(), 3u) << "revoked everywhere, also where it was not acknowledged yet";
  EXPECT_EQ(world.core.next_deadline(), kNever);
}

TEST(Core, a_node_that_must_wait_for_an_ended_job_says_so_and_completes_the_begin_later) {
  for (const bool in_time : {true, false}) {
    SCOPED_TRACE(in_time);
    World world;
    world.up();
    world.begin(100, test_begin(7));
    world.ack(1);
    world.ack(2);
    control::v1::Deferred deferred;
    deferred.set_sequence(world.sent[3]);
    deferred.set_why("2 groups of job 6 have members that have not left");
    EXPECT_TRUE(answers_in(world.core.node_defers(3, deferred)).empty());
    if (in_time) {
      EXPECT_TRUE(answers_in(world.ack(3))[0].message.has_granted());
    } else {
      const auto answers = answers_in(world.pass(Seconds(5)));
      EXPECT_THAT(answers[0].message.refused().text(), HasSubstr("node an-leaf2: 2 groups of job 6"));
    }
  }
}

TEST(Core, a_node_without_its_parent_fails_the_begin_and_is_named) {
  World world;
  world.up();
  world.link(3, false);
  EXPECT_FALSE(world.begin_and_ack(100, test_begin(7)));
  const auto answers = answers_in(world.pass(Seconds(5)));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_THAT(answers[0].message.refused().text(), HasSubstr("node an-leaf2 is not connected to its parent an-root"));
  EXPECT_THAT(answers[0].message.refused().text(), HasSubstr("connection refused"));
}

TEST(Core, a_link_that_comes_up_late_completes_the_begin) {
  World world;
  world.up();
  world.link(3, false);
  world.begin_and_ack(100, test_begin(7));
  EXPECT_TRUE(answers_in(world.link(3))[0].message.has_granted());
}

TEST(Core, what_is_granted_is_never_granted_twice_and_comes_back_at_the_end) {
  World world;
  world.up();
  auto request = test_begin(1);
  request.mutable_quota()->set_osts(300);
  request.mutable_quota()->set_max_groups(8);
  ASSERT_TRUE(world.begin_and_ack(100, request)->has_granted());
  request.set_job_id(2);
  request.set_ticket(2);
  EXPECT_THAT(world.begin_and_ack(101, request)->refused().text(), HasSubstr("212 of 512 are free"));
  request.mutable_quota()->set_osts(212);
  ASSERT_TRUE(world.begin_and_ack(101, request)->has_granted());

  const auto ended = world.end(100, test_begin(1));
  EXPECT_EQ(only<ToNode>(ended).size(), 3u);
  EXPECT_TRUE(answers_in(ended)[0].message.has_ended());
  const auto again = world.core.job_ends(100, test_end(test_begin(1)), world.now);
  EXPECT_TRUE(only<ToNode>(again).empty()) << "an end that is said twice releases nothing a second time";
  EXPECT_TRUE(answers_in(again)[0].message.has_ended()) << "and has the same answer";
  request.set_job_id(1);
  request.mutable_quota()->set_osts(300);
  EXPECT_TRUE(world.begin_and_ack(102, request)->has_granted());
}

TEST(Core, a_job_whose_owner_died_is_released_at_once) {
  World world;
  world.up();
  world.begin_and_ack(100, test_begin(7));
  const auto actions = world.note(world.core.job_ends(100, test_end(test_begin(7), "h1 pid 1 died"), world.now));
  ASSERT_EQ(only<ToNode>(actions).size(), 3u);
  EXPECT_EQ(only<ToNode>(actions)[0].message.revoke().job_id(), 7u);
  EXPECT_TRUE(world.begin_and_ack(101, test_begin(7))->has_granted());
}

TEST(Core, only_the_sharpd_that_began_a_job_ends_it) {
  World world;
  world.up();
  world.begin_and_ack(100, test_begin(7));
  world.core.host_registers(101, test_host(101), world.now);
  EXPECT_TRUE(only<ToNode>(world.core.job_ends(101, test_end(test_begin(7)), world.now)).empty());
  EXPECT_EQ(only<Refuse>(world.core.job_ends(102, test_end(test_begin(7)), world.now)).size(), 1u)
      << "a stream that has not registered";
  EXPECT_THAT(world.begin_and_ack(103, test_begin(7))->refused().text(), HasSubstr("running already"));
}

TEST(Core, a_node_lost_while_a_job_begins_fails_the_begin_but_a_running_job_is_only_noted) {
  World world;
  world.up();
  world.begin_and_ack(100, test_begin(7));
  world.begin(101, test_begin(8));
  const auto actions = world.core.node_stream_ended(2, world.now);
  ASSERT_EQ(answers_in(actions).size(), 1u);
  EXPECT_EQ(answers_in(actions)[0].stream, 101u);
  EXPECT_THAT(only<Say>(actions)[0].text, HasSubstr("jobs on it: 7"));

  const auto back = only<ToNode>(world.add(4, "an-leaf1"));
  ASSERT_EQ(back[0].message.registered().trees(0).grants_size(), 1) << "it learns what runs, and that the rest is over";
  EXPECT_EQ(back[0].message.registered().trees(0).grants(0).job_id(), 7u);
}

TEST(Core, a_parent_is_told_when_it_is_there_and_again_when_it_moved) {
  World world;
  EXPECT_EQ(only<ToNode>(world.add(2, "an-leaf1")).size(), 1u) << "registered; no parent yet";
  const auto root = only<ToNode>(world.add(1, "an-root"));
  ASSERT_EQ(root.size(), 3u);
  EXPECT_TRUE(root[0].message.has_tree()) << "first of all, to the leaf";
  EXPECT_TRUE(root[1].message.registered().trees(0).is_root());
  EXPECT_EQ(root[2].stream, 2u);
  EXPECT_EQ(root[2].message.parent().name(), "an-root");
  world.core.node_stream_ended(1, world.now);
  auto moved = test_register("an-root");
  moved.mutable_trees(0)->set_address("tcp:10.0.0.9:1");
  const auto again = only<ToNode>(world.core.node_registers(9, moved, world.now));
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[1].message.parent().address(), "tcp:10.0.0.9:1");
}

TEST(Core, a_root_that_is_a_new_process_makes_a_new_tree_and_one_that_only_lost_its_stream_does_not) {
  World world;
  EXPECT_EQ(only<ToNode>(world.add(2, "an-leaf1"))[0].message.registered().trees(0).tree_id(), 0u)
      << "nobody knows the root yet";
  const auto first = only<ToNode>(world.add(1, "an-root"));
  ASSERT_TRUE(first[0].message.has_tree());
  const auto tree = first[0].message.tree().tree_id();
  EXPECT_EQ(first[1].message.registered().trees(0).tree_id(), tree);
  EXPECT_EQ(only<ToNode>(world.add(3, "an-leaf2"))[0].message.registered().trees(0).tree_id(), tree);
  world.link(2);
  world.link(3);
  EXPECT_EQ(world.begin_and_ack(100, test_begin(7))->granted().trees(0).tree_id(), tree);

  world.core.node_stream_ended(1, world.now);
  const auto same = only<ToNode>(world.core.node_registers(4, test_register("an-root"), world.now));
  EXPECT_TRUE(same[0].message.has_registered());
  EXPECT_EQ(same[0].message.registered().trees(0).grants_size(), 1) << "the job goes on";

  world.core.node_stream_ended(4, world.now);
  auto reborn = test_register("an-root");
  reborn.set_life(0xABCDEF0123456789);
  const auto other = only<ToNode>(world.core.node_registers(5, reborn, world.now));
  std::set<std::uint32_t> ids;
  for (const auto& to : other) {
    if (to.stream == 5) {
      EXPECT_TRUE(to.message.has_registered()) << "the first thing that it hears, and it has no child's parent";
    }
    if (to.message.has_tree()) ids.insert(to.message.tree().tree_id());
    if (to.message.has_registered()) {
      EXPECT_EQ(to.message.registered().trees(0).grants_size(), 0) << "the job was of the former tree";
    }
  }
  ASSERT_EQ(ids.size(), 1u);
  EXPECT_NE(*ids.begin(), tree);
}

TEST(Core, a_registration_that_makes_no_sense_is_refused) {
  const struct {
    const char* name;
    std::function<void(control::v1::Register&)> change;
    Errc code;
    const char* says;
  } rows[] = {
      {"an unknown name", [](auto& w) { w.set_name("an-leaf9"); }, Errc::not_found,
       "one of an-root, an-leaf1, an-leaf2"},
      {"a name that is taken", [](auto& w) { w.set_name("an-root"); }, Errc::exists, "registered already"},
      {"no address", [](auto& w) { w.mutable_trees(0)->clear_address(); }, Errc::invalid, "address"},
      {"an address that is too long", [](auto& w) { w.mutable_trees(0)->set_address(std::string(800, 'x')); },
       Errc::invalid, "address"},
      {"no OST", [](auto& w) { w.set_osts(0); }, Errc::invalid, "capacity"},
      {"more groups than ids have room for", [](auto& w) { w.set_groups(65536); }, Errc::invalid, "capacity"},
      {"a huge payload", [](auto& w) { w.set_payload_max(1u << 21); }, Errc::invalid, "capacity"},
      {"another version", [](auto& w) { w.set_version(control::kControlVersion + 1); }, Errc::unsupported,
       "same version everywhere"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    World world;
    world.add(1, "an-root");
    auto who = test_register("an-leaf1");
    row.change(who);
    const auto refused = only<Refuse>(world.core.node_registers(2, who, world.now));
    ASSERT_EQ(refused.size(), 1u);
    EXPECT_EQ(refused[0].why.code, row.code);
    EXPECT_THAT(refused[0].why.context, HasSubstr(row.says));
  }
}

TEST(Core, the_weakest_node_bounds_the_grant) {
  World world;
  world.up();
  world.core.node_stream_ended(3, world.now);
  world.add(3, "an-leaf2", 100);
  world.link(3);
  EXPECT_EQ(world.begin_and_ack(100, test_begin(7))->granted().quota().osts(), 10u);
}

TEST(Core, a_grant_that_can_not_be_written_down_is_not_given) {
  World world;
  world.up();
  world.journal.full = true;
  const auto refused = world.begin_and_ack(100, test_begin(7));
  ASSERT_TRUE(refused && refused->has_refused());
  EXPECT_THAT(refused->refused().text(), HasSubstr("cannot save the grant: no space left on device"));
  world.journal.full = false;
  EXPECT_TRUE(world.begin_and_ack(100, test_begin(7))->has_granted()) << "the nodes were told that it is over";
}

TEST(Core, one_user_is_bound_and_another_is_not) {
  Rules rules;
  rules.user = {.jobs_max = 1, .share_max_percent = 50};
  World world(rules);
  world.up();
  auto request = test_begin(1);
  request.set_uid(1000);
  request.mutable_quota()->set_osts(257);
  EXPECT_THAT(world.begin_and_ack(100, request)->refused().text(), HasSubstr("may hold 256 (50 % of 512)"));
  request.mutable_quota()->set_osts(256);
  ASSERT_TRUE(world.begin_and_ack(100, request)->has_granted());
  auto second = test_begin(2);
  second.set_uid(1000);
  EXPECT_THAT(world.begin_and_ack(100, second)->refused().text(), HasSubstr("user 1000 runs 1 jobs, the limit is 1"));
  second.set_uid(1001);
  EXPECT_TRUE(world.begin_and_ack(100, second)->has_granted());
  world.end(100, request);
  auto third = test_begin(3);
  third.set_uid(1000);
  EXPECT_TRUE(world.begin_and_ack(100, third)->has_granted());
}

TEST(Core, with_reservations_on_no_job_runs_without_one_that_names_its_hosts) {
  World world;
  world.up();
  world.core.set_reservations(*Reservations::parse("weather: h1 h2"));
  EXPECT_THAT(world.begin_and_ack(100, test_begin(1))->refused().text(),
              HasSubstr("host h3 is not in reservation weather"));
  EXPECT_TRUE(world.begin_and_ack(100, test_begin(2, {"h2", "h1"}))->has_granted());
  world.core.set_reservations({});
  EXPECT_TRUE(world.begin_and_ack(100, test_begin(3))->has_granted());
}

TEST(Core, a_restarted_manager_knows_how_old_a_job_is) {
  World world;
  world.up();
  world.begin_and_ack(100, test_begin(7));
  auto saved = world.journal.state;
  saved.ages[JobId{7}] = Seconds(3600);
  World next;
  next.core.restore(saved, next.now);
  next.now += Seconds(2);
  EXPECT_EQ(nlohmann::json::parse(next.core.status_json(next.now))["jobs"][0]["age_ms"], 3'602'000);
}

TEST(Core, jobs_of_another_fabric_are_not_taken_over) {
  World world;
  world.up();
  world.begin_and_ack(100, test_begin(7));
  auto saved = world.journal.state;
  ASSERT_EQ(saved.jobs.size(), 1u);
  saved.fabric = "node an-other leaf1\n";
  World next;
  const auto said = only<Say>(next.core.restore(saved, next.now));
  EXPECT_THAT(said.at(0).text, HasSubstr("job_id_external: 7"));
  EXPECT_THAT(said.at(0).text, HasSubstr("the fabric has changed"));
  next.up();
  EXPECT_TRUE(next.begin_and_ack(100, test_begin(7))->has_granted());
}

TEST(Core, a_node_without_a_place_in_the_tree_keeps_nobody_waiting_and_its_hosts_are_named) {
  TestJournal journal;
  auto fabric = test_fabric();
  fabric.links.pop_back();  // leaf2 with its node and hosts is now a plane of its own.
  Core core(fabric, {}, journal);
  const Time now = at(Seconds(1));
  core.node_registers(1, test_register("an-root"), now);
  core.node_registers(2, test_register("an-leaf1"), now);
  core.host_registers(100, test_host(100), now);
  EXPECT_THAT(answers_in(core.job_begins(100, test_begin(7), now)).at(0).message.refused().text(),
              HasSubstr("host h3 has no leaf in tree"));
  const auto sent = only<ToNode>(core.job_begins(100, test_begin(8, {"h1", "h2"}), now));
  ASSERT_EQ(sent.size(), 1u) << "both hosts are at one leaf, which is the root";
  const auto granted = answers_in(core.node_acks(sent[0].stream, sent[0].message.sequence(), now));
  ASSERT_EQ(granted.size(), 1u);
  EXPECT_EQ(granted[0].message.granted().trees(0).nodes_size(), 1);
}

TEST(Core, after_a_restart_a_begin_waits_for_nodes_that_are_on_their_way_back_but_not_for_ever) {
  for (const bool they_come : {true, false}) {
    SCOPED_TRACE(they_come);
    World former;
    former.up();
    former.begin_and_ack(100, test_begin(7));
    World world;
    world.core.restore(former.journal.state, world.now);
    world.add(1, "an-root");
    EXPECT_TRUE(answers_in(world.begin(101, test_begin(8))).empty()) << "two nodes are missing";
    if (they_come) {
      world.add(2, "an-leaf1");
      EXPECT_TRUE(only<ToNode>(world.add(3, "an-leaf2")).back().message.has_grant())
          << "sent as soon as the last is there";
    } else {
      const auto actions = world.pass(Seconds(5));
      std::vector<ToNode> grants;
      for (const auto& to : only<ToNode>(actions))
        if (to.message.has_grant()) grants.push_back(to);
      ASSERT_EQ(grants.size(), 1u) << "the trees do without those that did not come";
      EXPECT_TRUE(answers_in(world.ack(1))[0].message.has_granted());
    }
  }
}

TEST(Core, one_host_does_not_speak_for_anothers_jobs) {
  World world;
  world.up();
  const auto begin = test_begin(7);
  ASSERT_TRUE(world.begin_and_ack(100, begin)->has_granted());
  auto thief = test_host(100);
  thief.set_host("h2");
  const auto refused = only<Refuse>(world.core.host_registers(200, thief, world.now));
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].stream, 200u);
  EXPECT_EQ(refused[0].why.code, Errc::denied);
  // A sharpd with another life that names the first one's ticket and job has no effect either.
  world.core.host_registers(201, test_host(201), world.now);
  world.end(201, begin);
  EXPECT_THAT(world.core.status_json(world.now), HasSubstr("\"jobs_total\": 1"));
}

TEST(Core, another_user_sees_the_totals_and_his_own_jobs_only) {
  World world;
  world.up();
  auto begin = test_begin(7);
  begin.set_uid(1000);
  ASSERT_TRUE(world.begin_and_ack(100, begin)->has_granted());
  const struct {
    Viewer who;
    std::size_t jobs;
  } rows[] = {{{}, 1}, {{false, 1000}, 1}, {{false, 1001}, 0}, {{false, std::nullopt}, 0}};
  for (const auto& row : rows) {
    const auto status = nlohmann::json::parse(world.core.status_json(world.now, 0, row.who));
    EXPECT_EQ(status["jobs"].size(), row.jobs);
    EXPECT_EQ(status["jobs_total"], 1);
    EXPECT_EQ(status["osts_granted"], 51);
  }
  auto twin = test_begin(7);
  twin.set_uid(1001);
  const auto refused = world.begin_and_ack(101, twin)->refused().text();
  EXPECT_THAT(refused, HasSubstr("running already (begun by another user)"));
}

TEST(Core, a_sharpd_of_another_version_is_refused) {
  World world;
  auto who = test_host(5);
  who.set_version(control::kControlVersion + 1);
  const auto refused = only<Refuse>(world.core.host_registers(100, who, world.now));
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].why.code, Errc::unsupported);
  EXPECT_THAT(refused[0].why.context, HasSubstr("install the same version everywhere"));
}

/// Draws keys that a text would show: "KEY-0000-of-many", then "KEY-0001-of-many".
Rules rules_with_readable_keys() {
  Rules rules;
  rules.draw_secret = [drawn = 0]() mutable -> Result<Secret> {
    Secret key{};
    fmt::format_to(key.begin(), "KEY-{:04}-of-many", drawn++);
    return key;
  };
  return rules;
}

TEST(Core, a_jobs_key_is_its_own_and_goes_to_the_nodes_and_to_whoever_began_it) {
  World world(rules_with_readable_keys());
  world.up();
  Actions all = world.begin(100, test_begin(7));
  std::set<std::string> at_nodes;
  for (const auto& to : only<ToNode>(all)) at_nodes.insert(to.message.grant().job_key());
  ASSERT_EQ(at_nodes.size(), 1u);
  EXPECT_EQ(at_nodes.begin()->size(), 16u);
  for (const StreamId node : {1u, 2u, 3u})
    for (auto& action : world.ack(node)) all.push_back(std::move(action));
  for (const auto& to : answers_in(all)) {
    EXPECT_EQ(to.stream, 100u);
    EXPECT_EQ(to.message.granted().job_key(), *at_nodes.begin());
  }
  const auto other = world.begin_and_ack(101, test_begin(8));
  EXPECT_NE(other->granted().job_key(), *at_nodes.begin());

  World next(rules_with_readable_keys());
  for (auto& action : next.core.restore(world.journal.state, next.now)) all.push_back(std::move(action));
  const auto told = only<ToNode>(next.add(1, "an-root")).at(0).message.registered().trees(0);
  ASSERT_EQ(told.grants_size(), 2);
  EXPECT_EQ(told.grants(0).job_key(), *at_nodes.begin()) << "a restarted manager knows it";

  for (auto& action : world.core.job_begins(102, test_begin(7), world.now)) all.push_back(std::move(action));
  for (auto& action : world.pass(Seconds(20))) all.push_back(std::move(action));  // After 20 s the leases end.
  for (const auto& say : only<Say>(all)) EXPECT_THAT(say.text, Not(HasSubstr("KEY-"))) << "nobody reads it in a log";
  EXPECT_THAT(next.core.status_json(next.now), Not(HasSubstr("KEY-")));
}

/// While nodes register, the manager sends each node its own key, and each child the key that its parent derives for
/// it.
TEST(Core, every_node_has_a_key_of_its_own_and_one_with_its_parent) {
  World world(rules_with_readable_keys());
  std::map<std::string, std::string> own, pair;
  std::map<std::string, NodeId> id;
  std::map<StreamId, std::string> name_of;
  std::uint32_t tree_id = 0;
  for (const auto& [stream, name] : {std::pair{1u, "an-root"}, {2u, "an-leaf1"}, {3u, "an-leaf2"}}) {
    name_of[stream] = name;
    for (const auto& to : only<ToNode>(world.add(stream, name))) {
      if (to.message.has_registered()) own[name] = to.message.registered().node_key();
      if (to.message.has_registered()) id[name] = NodeId{to.message.registered().node_id()};
      if (to.message.has_registered()) tree_id = to.message.registered().trees(0).tree_id();
      if (to.message.has_parent()) pair[name_of.at(to.stream)] = to.message.parent().key();
    }
  }
  ASSERT_EQ(own.size(), 3u);
  EXPECT_EQ((std::set<std::string>{own["an-root"], own["an-leaf1"], own["an-leaf2"]}).size(), 3u);
  ASSERT_EQ(pair.size(), 2u);
  EXPECT_NE(pair["an-leaf1"], pair["an-leaf2"]);
  for (const auto* leaf : {"an-leaf1", "an-leaf2"}) {
    Secret root_key{}, made{};
    ASSERT_EQ(own["an-root"].size(), root_key.size());
    std::copy(own["an-root"].begin(), own["an-root"].end(), root_key.begin());
    ASSERT_TRUE(wire::make_pair_key(root_key, TreeId{tree_id}, id[leaf], id["an-root"], made));
    EXPECT_EQ(pair[leaf], std::string(made.begin(), made.end())) << "the parent makes the same";
    EXPECT_NE(pair[leaf], own[leaf]);
    EXPECT_NE(pair[leaf], own["an-root"]);
  }
}

TEST(Core, a_grant_says_below_which_children_the_job_has_ranks) {
  World world;
  world.up();
  std::map<StreamId, control::v1::Grant> grants;
  for (const auto& to : only<ToNode>(world.begin(100, test_begin(7))))
    if (to.message.has_grant()) grants[to.stream] = to.message.grant();
  ASSERT_EQ(grants.size(), 3u);
  const auto below = [&](StreamId stream) {
    return std::vector<std::uint32_t>(grants[stream].below().begin(), grants[stream].below().end());
  };
  // an-root has both leaves below it and no rank of its own; the leaves have ranks.
  std::size_t hosts_at = 0;
  for (const StreamId stream : {1u, 2u, 3u}) hosts_at += grants[stream].ranks_here() ? 1 : 0;
  EXPECT_GE(hosts_at, 2u);
  EXPECT_EQ(below(1), (std::vector<std::uint32_t>{2, 3}));
  EXPECT_TRUE(below(2).empty() && below(3).empty());
  EXPECT_TRUE(grants[2].ranks_here() && grants[3].ranks_here());
  EXPECT_FALSE(grants[1].ranks_here());
}

TEST(Core, a_grant_says_whose_it_is_and_how_many_connections_that_user_may_have) {
  World world({.user = {.share_max_percent = 50}});
  world.up();
  auto begin = test_begin(7);
  begin.set_uid(1000);
  std::size_t grants = 0;
  for (const auto& to : only<ToNode>(world.begin(100, begin))) {
    if (!to.message.has_grant()) continue;
    ++grants;
    EXPECT_EQ(to.message.grant().uid(), 1000u);
    EXPECT_EQ(to.message.grant().links_percent(), 50u);
  }
  EXPECT_EQ(grants, 3u);
}

TEST(Core, without_randomness_there_is_no_job) {
  Rules rules;
  rules.draw_secret = [drawn = 0]() mutable -> Result<Secret> {
    if (drawn++ < 3) return Secret{};  // The first three keys drawn are those of the nodes.
    return fail(Errc::io, "getrandom: Function not implemented");
  };
  World world(rules);
  world.up();
  const auto answers = answers_in(world.begin(100, test_begin(7)));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_THAT(answers[0].message.refused().text(), HasSubstr("can't draw a key: getrandom"));
}

TEST(Core, status_is_json_with_nodes_jobs_and_what_is_free) {
  World world;
  world.up();
  world.begin_and_ack(100, test_begin(7));
  const auto status = nlohmann::json::parse(world.core.status_json(world.now));
  EXPECT_EQ(status["nodes"].size(), 3u);
  EXPECT_EQ(status["jobs"][0]["id"], 7u);
  EXPECT_EQ(status["osts_free"], 512 - 51);
  EXPECT_EQ(status["root"], "an-root");
}

}  // namespace
}  // namespace sumac::manager
