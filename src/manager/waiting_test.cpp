// Jobs that wait for their turn: who is next, who leaves, and what everybody is told.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "manager/metrics.hpp"
#include "manager/test_world.hpp"

namespace sumac::manager {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A job of a whole tree: another one has no room beside it.
control::v1::JobBegin whole_tree(std::uint64_t id, std::uint32_t uid, std::uint32_t queue_seconds = 60) {
  auto begin = test_begin(id);
  begin.set_uid(uid);
  begin.mutable_quota()->set_osts(512);
  begin.set_queue_seconds(queue_seconds);
  return begin;
}

/// Jobs that hold the tree one after the other.
struct Queue : World {
  std::map<std::uint64_t, control::v1::JobBegin> begun;
  std::vector<std::uint64_t> granted, refused;
  std::string why;

  Queue() { up(); }
  /// Acknowledges what the nodes receive, and notes the answers.
  void settle(Actions actions) {
    for (std::size_t seen = 0; !actions.empty() && ++seen < 100;) {
      Actions next;
      for (const auto& to : answers_in(actions)) {
        if (to.message.has_granted()) granted.push_back(to.message.granted().ticket() - 1000);
        if (to.message.has_refused()) refused.push_back(to.message.refused().ticket() - 1000);
        if (to.message.has_refused()) why = to.message.refused().text();
      }
      for (const auto& to : only<ToNode>(actions))
        if (to.message.has_grant() || to.message.has_revoke())
          for (auto& action : core.node_acks(to.stream, to.message.sequence(), now)) next.push_back(std::move(action));
      actions = std::move(next);
    }
  }
  void asks(const control::v1::JobBegin& begin, StreamId stream = 100) {
    begun[begin.job_id()] = begin;
    if (hosts.insert(stream).second) core.host_registers(stream, test_host(stream), now);
    settle(core.job_begins(stream, begin, now));
  }
  void ends(std::uint64_t id, const std::string& why_ended = "", StreamId stream = 100) {
    settle(core.job_ends(stream, test_end(begun[id], why_ended), now));
  }
  void waits(Duration time) {
    for (const Time end = now + time; now < end;) {
      now = std::min(end, std::max(now + Millis(1), core.next_deadline()));
      settle(core.tick(now));
      control::v1::Renew renew;
      for (const auto& [id, begin] : begun) renew.add_tickets(begin.ticket());
      for (const auto stream : hosts) core.host_renews(stream, renew, now);
    }
  }
};

TEST(Waiting, without_queue_seconds_a_begin_without_room_is_refused_at_once) {
  Queue queue;
  queue.asks(whole_tree(1, 1000));
  queue.asks(whole_tree(2, 1000, 0));
  EXPECT_THAT(queue.granted, ElementsAre(1));
  EXPECT_THAT(queue.refused, ElementsAre(2));
}

TEST(Waiting, the_users_take_turns_and_each_users_jobs_keep_their_order) {
  Queue queue;
  queue.asks(whole_tree(1, 1000));
  for (const std::uint64_t id : {2, 3, 4}) queue.asks(whole_tree(id, 1000));
  for (const std::uint64_t id : {5, 6}) queue.asks(whole_tree(id, 1001));
  queue.asks(whole_tree(7, 1002));
  for (std::size_t i = 0; i < 7; ++i) {
    ASSERT_EQ(queue.granted.size(), i + 1) << "one has the tree at a time";
    queue.ends(queue.granted.back());
  }
  EXPECT_THAT(queue.granted, ElementsAre(1, 5, 7, 2, 6, 3, 4));
  EXPECT_TRUE(queue.refused.empty());
}

TEST(Waiting, a_later_job_of_the_same_user_does_not_overtake_but_one_of_another_user_that_has_room_does) {
  Queue queue;
  auto half = whole_tree(1, 1000);
  half.mutable_quota()->set_osts(256);
  queue.asks(half);
  queue.asks(whole_tree(2, 1000));
  auto small = whole_tree(3, 1000);
  small.mutable_quota()->set_osts(1);
  queue.asks(small);
  small = whole_tree(4, 1001);
  small.mutable_quota()->set_osts(1);
  queue.asks(small);
  EXPECT_THAT(queue.granted, ElementsAre(1, 4));
  queue.ends(1);
  EXPECT_THAT(queue.granted, ElementsAre(1, 4)) << "job 4 is still there";
  queue.ends(4);
  queue.ends(2);
  EXPECT_THAT(queue.granted, ElementsAre(1, 4, 2, 3));
}

TEST(Waiting, a_waiter_that_dies_leaves_the_queue_as_does_one_whose_sharpd_is_gone) {
  Queue queue;
  queue.asks(whole_tree(1, 1000));
  queue.asks(whole_tree(2, 1001));
  queue.asks(whole_tree(3, 1002), 101);
  queue.asks(whole_tree(4, 1003));
  queue.ends(2, "h1 pid 2 died");
  queue.settle(queue.core.host_stream_ended(101, queue.now));
  EXPECT_EQ(queue.core.facts().waiting.size(), 1u);
  queue.ends(1);
  EXPECT_THAT(queue.granted, ElementsAre(1, 4));
}

TEST(Waiting, its_time_is_bounded_and_the_refusal_says_how_long_it_has_waited) {
  Queue queue;
  queue.asks(whole_tree(1, 1000));
  queue.asks(whole_tree(2, 1001, 20));
  queue.waits(Seconds(19));
  EXPECT_TRUE(queue.refused.empty());
  queue.waits(Seconds(2));
  EXPECT_THAT(queue.refused, ElementsAre(2));
  EXPECT_THAT(queue.why, HasSubstr("all 512 are held"));
  EXPECT_THAT(queue.why, HasSubstr("it has waited 20 s for its turn"));
}

TEST(Waiting, what_can_never_be_granted_does_not_wait) {
  Queue queue;
  auto begin = whole_tree(1, 1000);
  begin.mutable_quota()->set_osts(513);
  queue.asks(begin);
  EXPECT_THAT(queue.refused, ElementsAre(1));
}

TEST(Waiting, nobody_fills_the_queue) {
  Queue queue;
  queue.asks(whole_tree(1, 1000));
  for (std::uint64_t id = 2; id < 2 + Waiting::kOfUserMax; ++id) queue.asks(whole_tree(id, 1000));
  EXPECT_TRUE(queue.refused.empty());
  queue.asks(whole_tree(9999, 1000));
  EXPECT_THAT(queue.refused, ElementsAre(9999));
  EXPECT_THAT(queue.why, HasSubstr("begin fewer at once"));
  queue.asks(whole_tree(10000, 1001));
  EXPECT_EQ(queue.core.facts().waiting.size(), Waiting::kOfUserMax + 1) << "another user still may";
}

TEST(Waiting, operators_see_who_waits_and_a_user_sees_his_own) {
  Queue queue;
  queue.asks(whole_tree(1, 1000));
  queue.asks(whole_tree(2, 1001));
  queue.waits(Seconds(4));
  const auto status = nlohmann::json::parse(queue.core.status_json(queue.now));
  ASSERT_EQ(status["waiting"].size(), 1u);
  EXPECT_EQ(status["waiting"][0]["id"], 2);
  EXPECT_EQ(status["waiting"][0]["age_ms"], 4000);
  EXPECT_EQ(status["waiting"][0]["left_ms"], 56000);
  const auto other = nlohmann::json::parse(queue.core.status_json(queue.now, 0, {false, 1000}));
  EXPECT_TRUE(other["waiting"].empty());
  EXPECT_EQ(other["waiting_total"], 1);
  EXPECT_THAT(metrics_page(queue.core.facts(), {}).text(), HasSubstr("sumac_manager_waiting_begins 1\n"));
  const auto snapshot = queue.core.snapshot({}, queue.now);
  ASSERT_EQ(snapshot.jobs.size(), 2u);
  EXPECT_TRUE(snapshot.jobs[1].waiting);
  EXPECT_EQ(snapshot.jobs[1].job->uid, 1001u);
  EXPECT_EQ(snapshot.jobs[1].job->hosts.size(), 4u);
}

TEST(Waiting, whatever_comes_and_goes_everybody_is_answered_in_turn_and_nothing_stays) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937_64 random(seed);
    const auto draw = [&](std::uint64_t below) { return random() % below; };
    Queue queue;
    std::uint64_t next = 1;
    std::set<std::uint64_t> open;  // Neither refused nor ended by us.
    std::size_t noted_refused = 0;
    const auto note = [&] {
      std::set<std::uint64_t> running;
      for (const auto id : queue.granted)
        if (open.contains(id)) running.insert(id);
      ASSERT_LE(running.size(), 2u) << "only two have room";
      for (; noted_refused < queue.refused.size(); ++noted_refused) open.erase(queue.refused[noted_refused]);
    };
    for (int turn = 0; turn < 80; ++turn) {
      switch (draw(4)) {
        case 0:
        case 1: {
          auto begin = whole_tree(next, 1000 + static_cast<std::uint32_t>(draw(3)), 30);
          begin.mutable_quota()->set_osts(256);
          open.insert(next++);
          queue.asks(begin);
          break;
        }
        case 2:
          if (!open.empty()) {
            auto at = open.begin();
            std::advance(at, draw(open.size()));
            const auto id = *at;
            open.erase(at);
            queue.ends(id, draw(2) == 0 ? "died" : "");
          }
          break;
        default: queue.waits(Seconds(draw(8))); break;
      }
      note();
      const auto facts = queue.core.facts();
      ASSERT_EQ(facts.jobs.size() + facts.waiting.size(), open.size()) << "each is somewhere";
      ASSERT_TRUE(facts.waiting.empty() || facts.jobs.size() == 2) << "nobody waits beside room";
    }
    queue.waits(Seconds(31));
    note();
    EXPECT_TRUE(queue.core.facts().waiting.empty()) << fmt::format("{}", open);
    for (const auto id : std::exchange(open, {})) queue.ends(id);
    EXPECT_TRUE(queue.core.facts().jobs.empty());
    EXPECT_TRUE(queue.core.facts().users->empty());
    EXPECT_GE(queue.granted.size(), 2u);
    std::map<std::uint32_t, std::uint64_t> last;
    for (const auto id : queue.granted) {
      auto& before = last[queue.begun[id].uid()];
      EXPECT_LT(before, id) << "a job of the same user has overtaken it";
      before = id;
    }
  }
}

}  // namespace
}  // namespace sumac::manager
