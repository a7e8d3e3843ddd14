// Checks which hosts may report a rank's death, and which nodes receive the report.
#include <functional>

#include "manager/test_world.hpp"

namespace sumac::manager {
namespace {

TEST(Core, a_ranks_death_goes_to_the_jobs_nodes_by_the_word_of_its_own_host_and_of_no_other) {
  const struct {
    const char* name;
    std::string host;
    std::function<void(control::v1::RankDied&)> change;
    std::size_t nodes_told;
  } rows[] = {
      {"its own host", "h1", {}, 3},
      {"a host that is not of the job", "h9", {}, 0},
      {"of another user's process", "h1", [](auto& word) { word.set_uid(word.uid() + 1); }, 0},
      {"of a process that never had the key", "h1", [](auto& word) { word.set_job_key(std::string(16, 'x')); }, 0},
      {"half a key", "h1", [](auto& word) { word.set_job_key("half"); }, 0},
      {"no key", "h1", [](auto& word) { word.clear_job_key(); }, 0},
      {"of another job", "h1", [](auto& word) { word.set_job_id(8); }, 0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    World world;
    world.up();
    const auto request = test_begin(7);
    const auto granted = world.begin_and_ack(100, request);
    ASSERT_TRUE(granted && granted->has_granted());
    auto who = test_host(200);
    who.set_host(row.host);
    world.core.host_registers(200, who, world.now);
    control::v1::RankDied word;
    word.set_job_id(7);
    word.set_world_rank(3);
    word.set_uid(request.uid());
    word.set_job_key(granted->granted().job_key());
    word.set_who("h1 pid 4711");
    if (row.change) row.change(word);
    const auto told = only<ToNode>(world.core.rank_died(200, word));
    ASSERT_EQ(told.size(), row.nodes_told);
    for (const auto& one : told) {
      EXPECT_EQ(one.message.rank_died().job_id(), 7u);
      EXPECT_EQ(one.message.rank_died().world_rank(), 3u);
      EXPECT_EQ(one.message.rank_died().host(), "h1");
      EXPECT_TRUE(one.message.rank_died().job_key().empty()) << "nodes have it";
    }
  }
  World world;
  EXPECT_EQ(only<Refuse>(world.core.rank_died(102, {})).size(), 1u) << "a stream that has not registered";
  // The process that began the job dies: the job's end may be reported before the death.
  world.up();
  const auto granted = world.begin_and_ack(100, test_begin(7));
  ASSERT_TRUE(granted && granted->has_granted());
  world.core.job_ends(100, test_end(test_begin(7), "h1 pid 1 died"), world.now);
  control::v1::RankDied word;
  word.set_job_id(7);
  word.set_job_key(granted->granted().job_key());
  EXPECT_EQ(only<ToNode>(world.core.rank_died(100, word)).size(), 3u);
}

TEST(Core, a_ranks_death_goes_to_the_jobs_other_hosts_until_it_is_clear_that_the_job_is_over) {
  World world;
  world.up();
  const auto request = test_begin(7);
  const auto granted = world.begin_and_ack(100, request);
  ASSERT_TRUE(granted && granted->has_granted());
  for (int host = 1; host <= 3; ++host) {
    auto who = test_host(200u + static_cast<StreamId>(host));
    who.set_host(fmt::format("h{}", host == 3 ? 9 : host));
    world.core.host_registers(200u + static_cast<StreamId>(host), who, world.now);
  }
  control::v1::RankDied word;
  word.set_job_id(7);
  word.set_world_rank(3);
  word.set_uid(request.uid());
  word.set_job_key(granted->granted().job_key());
  const auto told = only<ToHost>(world.core.rank_died(201, word));
  ASSERT_FALSE(told.empty());
  for (const auto& one : told) {
    EXPECT_NE(one.stream, 201u) << "its own host knows it";
    EXPECT_NE(one.stream, 203u) << "h9 is none of the job's";
    EXPECT_EQ(one.message.rank_died().world_rank(), 3u);
    EXPECT_EQ(one.message.rank_died().job_key(), word.job_key());
  }
  for (int death = 0; death < 20; ++death) (void)world.core.rank_died(201, word);
  EXPECT_TRUE(only<ToHost>(world.core.rank_died(201, word)).empty());
}

TEST(Core, a_host_that_comes_later_is_told_who_died_of_a_job_that_outlives_its_trees) {
  const struct {
    const char* name;
    bool ends_first, has_left;
  } rows[] = {{"the job goes on", false, false},
              {"the death ended it", true, false},
              {"it has ended, and its nodes hold nothing of it", true, true}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    World world;
    world.ranks_leave = row.has_left;
    world.up();
    auto request = test_begin(7);
    request.set_outlives_trees(true);
    const auto granted = world.begin_and_ack(100, request);
    ASSERT_TRUE(granted && granted->has_granted());
    auto who = test_host(201);
    who.set_host("h1");
    world.core.host_registers(201, who, world.now);
    if (row.ends_first) world.note(world.core.job_ends(100, test_end(request, "h1 pid 1 died"), world.now));
    control::v1::RankDied word;
    word.set_job_id(7);
    word.set_world_rank(3);
    word.set_uid(request.uid());
    word.set_job_key(granted->granted().job_key());
    EXPECT_EQ(world.core.facts().counts.rank_deaths, 0u);
    (void)world.core.rank_died(201, word);
    EXPECT_EQ(world.core.facts().counts.rank_deaths, 1u) << "it counts at whatever time it is told";
    (void)world.core.rank_died(201, word);

    for (const auto& [host, count] : {std::pair("h2", 1u), {"h1", 1u}, {"h9", 0u}}) {
      auto later = test_host(300);
      later.set_host(host);
      auto told = only<ToHost>(world.core.host_registers(300, later, world.now));
      std::erase_if(told, [](const auto& one) { return !one.message.has_rank_died(); });
      ASSERT_EQ(told.size(), count) << host;
      for (const auto& one : told) {
        EXPECT_EQ(one.stream, 300u);
        EXPECT_EQ(one.message.rank_died().world_rank(), 3u);
        EXPECT_EQ(one.message.rank_died().job_key(), word.job_key());
      }
      world.core.host_stream_ended(300, world.now);
    }
  }
}

}  // namespace
}  // namespace sumac::manager
