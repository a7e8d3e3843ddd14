// Reservations of OSTs: who finds what free, what is refused, and that a restart keeps them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "manager/test_world.hpp"

namespace sumac::manager {
namespace {

using testing::HasSubstr;

control::v1::JobBegin job_of(std::uint64_t id, std::uint32_t uid, std::uint32_t osts,
                             std::vector<std::string> hosts = {"h1", "h3"}) {
  auto begin = test_begin(id, std::move(hosts));
  begin.set_uid(uid);
  begin.mutable_quota()->set_osts(osts);
  return begin;
}

struct Reserved : World {
  Reserved() {
    up();
    EXPECT_TRUE(core.reserve({"weather", 1000, {"h1", "h3"}, 400}));
  }
  bool granted(StreamId stream, const control::v1::JobBegin& request) {
    const auto answer = begin_and_ack(stream, request);
    return answer && answer->has_granted();
  }
};

TEST(Kept, others_find_only_the_rest_and_the_user_all_of_it) {
  Reserved world;
  EXPECT_THAT(world.begin_and_ack(100, job_of(1, 1001, 113))->refused().text(), HasSubstr("112 of 512 are free"));
  EXPECT_TRUE(world.granted(100, job_of(2, 1001, 112)));
  EXPECT_TRUE(world.granted(100, job_of(3, 1000, 250)));
  EXPECT_TRUE(world.granted(100, job_of(4, 1000, 150)));
  EXPECT_THAT(world.begin_and_ack(100, job_of(5, 1000, 1))->refused().text(), HasSubstr("all 512 are held"));
}

TEST(Kept, what_a_job_of_the_reservation_holds_is_not_kept_a_second_time_and_is_kept_again_behind_it) {
  Reserved world;
  EXPECT_TRUE(world.granted(100, job_of(1, 1000, 400)));
  EXPECT_TRUE(world.granted(101, job_of(2, 1001, 112)));
  world.end(100, job_of(1, 1000, 400));
  EXPECT_FALSE(world.granted(101, job_of(3, 1001, 1)));
  EXPECT_TRUE(world.granted(100, job_of(4, 1000, 400)));
}

TEST(Kept, a_job_of_the_user_that_is_on_another_host_too_has_no_part_in_it) {
  Reserved world;
  EXPECT_FALSE(world.granted(100, job_of(1, 1000, 113, {"h1", "h2", "h3"})));
  EXPECT_TRUE(world.granted(100, job_of(2, 1000, 112, {"h1", "h2", "h3"})));
}

TEST(Kept, is_refused_where_it_makes_no_sense_or_has_no_room) {
  const struct {
    const char* name;
    KeptOsts osts;
    Errc code;
    const char* says;
  } rows[] = {
      {"no name", {"", 1, {"h1"}, 1}, Errc::invalid, "1 to 64 letters"},
      {"a name of two words", {"a b", 1, {"h1"}, 1}, Errc::invalid, "1 to 64 letters"},
      {"a long name", {std::string(65, 'x'), 1, {"h1"}, 1}, Errc::invalid, "1 to 64 letters"},
      {"no OST", {"a", 1, {"h1"}, 0}, Errc::invalid, "no OSTs"},
      {"no host", {"a", 1, {}, 1}, Errc::invalid, "no hosts"},
      {"a strange host", {"a", 1, {"h9"}, 1}, Errc::not_found, "host h9 is not in the fabric"},
      {"a name that is taken", {"weather", 1, {"h1"}, 1}, Errc::exists, "release it first"},
      {"one more than is free", {"a", 1, {"h1", "h3"}, 113}, Errc::exhausted, "113 OSTs asked, 112 are free"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Reserved world;
    const auto done = world.core.reserve(row.osts);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, row.code);
    EXPECT_THAT(done.error().context, HasSubstr(row.says));
    EXPECT_EQ(world.journal.state.kept.size(), 1u);
  }
  Reserved world;
  EXPECT_TRUE(world.core.reserve({"a", 1, {"h1", "h3"}, 100}));
  world.core.set_reservations(*Reservations::parse("file: h1 h2"));
  EXPECT_THAT(world.core.reserve({"b", 1, {"h1"}, 1}).error().context, HasSubstr("a file of reservations"));
  world.journal.full = true;
  world.core.set_reservations({});
  EXPECT_THAT(world.core.reserve({"b", 1, {"h2"}, 1}).error().context, HasSubstr("no space left"));
  EXPECT_EQ(nlohmann::json::parse(world.core.status_json(world.now))["reservations"].size(), 2u);
}

TEST(Kept, its_release_lets_a_job_in_that_waits_for_its_turn) {
  Reserved world;
  auto begin = job_of(1, 1001, 512);
  begin.set_queue_seconds(60);
  world.begin(100, begin);
  EXPECT_EQ(world.core.facts().waiting.size(), 1u);
  EXPECT_EQ(world.core.release("other", world.now).error().code, Errc::not_found);
  const auto actions = world.core.release("weather", world.now);
  ASSERT_TRUE(actions);
  EXPECT_FALSE(only<ToNode>(*actions).empty()) << "the nodes get its grant";
  EXPECT_TRUE(world.core.facts().waiting.empty());
  EXPECT_TRUE(world.journal.state.kept.empty());
}

TEST(Kept, a_restarted_manager_knows_it_and_only_its_user_and_operators_see_it) {
  Reserved former;
  World world;
  world.core.restore(former.journal.state, world.now);
  world.up();
  EXPECT_FALSE(world.begin_and_ack(100, job_of(1, 1001, 113))->has_granted());
  EXPECT_TRUE(world.begin_and_ack(100, job_of(2, 1000, 400))->has_granted());
  const auto seen = [&](const page::Viewer& viewer) {
    return nlohmann::json::parse(world.core.status_json(world.now, 0, viewer))["reservations"].size();
  };
  EXPECT_EQ(seen({}), 1u);
  EXPECT_EQ(seen({false, 1000}), 1u);
  EXPECT_EQ(seen({false, 1001}), 0u);
}

}  // namespace
}  // namespace sumac::manager
