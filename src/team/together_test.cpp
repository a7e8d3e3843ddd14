// Operations that were posted together over several hosts are under way together.
#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "shm/test_exercise.hpp"
#include "team/team.hpp"
#include "team/test_world.hpp"

namespace sumac::team {
namespace {

using coll::Kind;
using shm::Exercise;

/// Operations that are posted one behind the other, and how they end.
class Row {
 public:
  Row(const std::vector<shm::Ask>& asks, const World& world) {
    for (const shm::Ask& ask : asks) exercises_.push_back(std::make_unique<Exercise>(ask, world.size, world.rank));
  }

  std::string post(sumac_team_t* team) {
    for (const auto& exercise : exercises_) {
      sumac_op_t* op = nullptr;
      if (const int rc = sumac_team_post(team, c_call(*exercise), nullptr, nullptr, &op); rc != SUMAC_TEAM_OK)
        return fmt::format("post: answer {}", rc);
      ops_.push_back(op);
    }
    return "";
  }
  /// Moves the team until all have ended. Where they are not under way together they would never end.
  std::string wait(sumac_team_t* team) {
    for (const Time began = monotonic_now(); sumac_team_active(team) > 0; ::sched_yield()) {
      (void)sumac_team_progress(team);
      if (monotonic_now() - began > Seconds{60})
        return fmt::format("{} of {} operations have not ended", sumac_team_active(team), ops_.size());
    }
    return "";
  }
  /// The first `count` have ended well, and all others have failed.
  std::string fault(std::size_t count) {
    std::string found;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const int status = sumac_op_test(ops_[i]);
      sumac_op_free(ops_[i]);
      if (!found.empty()) continue;
      if (status != (i < count ? SUMAC_TEAM_OK : SUMAC_TEAM_BROKEN))
        found = fmt::format("operation {}: answer {}", i, status);
      if (found.empty() && i < count)
        if (auto wrong = exercises_[i]->check(); !wrong.empty()) found = fmt::format("operation {}: {}", i, wrong);
    }
    ops_.clear();
    return found;
  }
  std::string check(std::size_t i) const { return exercises_[i]->check(); }

 private:
  std::vector<std::unique_ptr<Exercise>> exercises_;
  std::vector<sumac_op_t*> ops_;
};

/// One of each kind that travels with others, with roots and sizes of all sorts; some have several chunks.
std::vector<shm::Ask> asks_of(int count, int size, std::uint64_t seed) {
  Random random(seed);
  std::vector<shm::Ask> asks;
  for (int i = 0; i < count; ++i) {
    const Kind kinds[] = {Kind::barrier, Kind::allreduce, Kind::reduce, Kind::bcast};
    const std::size_t sizes[] = {8, 64, 1000, 4500};
    shm::Ask ask{.kind = kinds[random.below(4)],
                 .root = static_cast<int>(random.below(static_cast<std::uint64_t>(size)))};
    ask.bytes = ask.kind == Kind::barrier ? 0 : sizes[random.below(4)];
    ask.seed = seed + static_cast<std::uint64_t>(i);
    asks.push_back(ask);
  }
  return asks;
}

std::uint64_t chunks_of(const std::vector<shm::Ask>& asks) {
  std::uint64_t chunks = 0;
  for (const auto& ask : asks) chunks += ask.kind == Kind::barrier ? 1 : (ask.bytes + 1023) / 1024;
  return chunks;
}

struct Case {
  const char* hosts;
  bool by_tree;
  const char* steps;
};
constexpr Case kCases[] = {{"aabb", true, "never"}, {"aabb", false, "never"},     {"aaabcb", true, "never"},
                           {"abc", true, "never"},  {"aaaabbbb", true, "always"}, {"aaaabbbb", false, "always"},
                           {"abab", false, "never"}};

std::vector<sumac_place_t> places_on(std::string_view hosts) {
  std::vector<sumac_place_t> places;
  int on_host[26] = {};
  for (const char host : hosts) {
    const int local = on_host[host - 'a']++;
    places.push_back({host - 'a', local / 2, local / 2, static_cast<int>(places.size())});
  }
  return places;
}

/// Makes a team as `world` says, and posts and waits: the first `right` of them end well, and the others fail.
std::string run_row(World& world, const std::vector<sumac_place_t>& places, const OptionsHandle& options,
                    const std::vector<shm::Ask>& asks, std::size_t right) {
  sumac_team_t* team = world.create(world.spec(places, as_c(options)));
  if (team == nullptr) return world.why;
  Row operations(asks, world);
  std::string fault = operations.post(team);
  if (fault.empty()) fault = operations.wait(team);
  if (fault.empty()) fault = operations.fault(right);
  world.meet();
  sumac_team_destroy(team);
  return fault;
}

TEST(Together, ThosePostedTogetherAreBetweenTheHostsAtOnce) {
  for (const Case& row : kCases) {
    const auto places = places_on(row.hosts);
    const auto options =
        options_with({{"SUMAC_TEAM_CHUNK", "1k"}, {"SUMAC_TEAM_DEPTH", "8"}, {"SUMAC_TEAM_LEVELS", row.steps}});
    for (const int count : {2, 8, 16}) {
      SCOPED_TRACE(fmt::format("{} operations on {}, tree {}, levels {}", count, row.hosts, row.by_tree, row.steps));
      EXPECT_EQ("", as_threads(static_cast<int>(places.size()), 5, [&](World& world) -> std::string {
                  const auto asks = asks_of(count, world.size, 300 + static_cast<std::uint64_t>(count));
                  world.across.has_tree = row.by_tree;
                  world.across.started_least = chunks_of(asks);
                  return run_row(world, places, options, asks, asks.size());
                }));
    }
  }
}

/// Those that are there when the team is moved begin in one pass, and their messages leave together; one alone leaves at once.
TEST(Together, ThoseThatBeginTogetherLeaveTogether) {
  const auto places = places_on("aabb");
  const auto options = options_with({});
  for (const int count : {1, 8})
    EXPECT_EQ("", as_threads(4, 10, [&](World& world) -> std::string {
                world.across.has_tree = true;
                world.across.started_least = static_cast<std::uint64_t>(count);
                const std::vector<shm::Ask> asks(static_cast<std::size_t>(count),
                                                 {.kind = Kind::allreduce, .bytes = 8, .seed = 9});
                if (auto fault = run_row(world, places, options, asks, asks.size()); !fault.empty()) return fault;
                if (world.across.corked != 0) return fmt::format("{} corks are left", world.across.corked);
                const bool leads = world.rank % 2 == 0;
                const int together = world.across.started_corked;
                return together == (leads && count > 1 ? count : 0) ? "" : fmt::format("{} began together", together);
              }));
}

TEST(Together, ABlockingCallComesBehindThoseThatWerePosted) {
  const auto places = places_on("aabb");
  const auto options = options_with({{"SUMAC_TEAM_CHUNK", "1k"}});
  EXPECT_EQ("", as_threads(4, 6, [&](World& world) -> std::string {
              world.across.has_tree = true;
              world.across.started_least = 6;
              sumac_team_t* team = world.create(world.spec(places, as_c(options)));
              if (team == nullptr) return world.why;
              Row posted(std::vector<shm::Ask>(6, {.kind = Kind::allreduce, .bytes = 8, .seed = 9}), world);
              std::string fault = posted.post(team);
              Exercise last({.kind = Kind::allreduce, .bytes = 8, .seed = 10}, world.size, world.rank);
              const int rc = sumac_team_run(team, c_call(last));
              if (fault.empty() && rc != SUMAC_TEAM_OK) fault = fmt::format("answer {}", rc);
              if (fault.empty() && sumac_team_active(team) != 0) fault = "posted ones are under way behind it";
              if (fault.empty()) fault = posted.fault(6);
              if (fault.empty()) fault = last.check();
              world.meet();
              sumac_team_destroy(team);
              return fault;
            }));
}

/// Kinds that use the team's own memory are under way alone, also between others.
TEST(Together, OthersAreUnderWayAlone) {
  const auto places = places_on("aabb");
  const auto options = options_with({});
  EXPECT_EQ("", as_threads(4, 7, [&](World& world) -> std::string {
              world.across.looks_least = 50;
              std::vector<shm::Ask> asks;
              for (const Kind kind : {Kind::barrier, Kind::allgather, Kind::bcast, Kind::alltoall, Kind::allreduce,
                                      Kind::allgatherv, Kind::reduce_scatter_block, Kind::reduce})
                for (std::uint64_t i = 0; i < 2; ++i)
                  asks.push_back({.kind = kind, .bytes = kind == Kind::barrier ? 0u : 256u, .root = 3, .seed = 40 + i});
              return run_row(world, places, options, asks, asks.size());
            }));
}

TEST(Together, SoManyAreUnderWayThatTheirChunksAreWhatTheTreeTakes) {
  const auto places = places_on("aabb");
  const auto options = options_with({{"SUMAC_TEAM_CHUNK", "1k"}, {"SUMAC_TEAM_DEPTH", "16"}});
  EXPECT_EQ("", as_threads(4, 9, [&](World& world) -> std::string {
              world.across.has_tree = true;
              world.across.looks_least = 400;
              const std::vector<shm::Ask> asks(40, {.kind = Kind::allreduce, .bytes = 16 * 1024, .seed = 9});
              if (auto fault = run_row(world, places, options, asks, asks.size()); !fault.empty()) return fault;
              const int most = world.across.most_in_flight;
              return most <= 256 ? "" : fmt::format("{} chunks in flight", most);
            }));
}

/// Those before it end well at all ranks, for other hosts may have their results.
TEST(Together, AFailureEndsItsOperationAndAllBehindIt) {
  const auto places = places_on("aabb");
  const auto options = options_with({});
  EXPECT_EQ("", as_threads(4, 8, [&](World& world) -> std::string {
              world.across.has_tree = true;
              world.across.started_least = 8;
              world.across.fail_at = 3;  // It fails at the first look, before any is done.
              return run_row(world, places, options,
                             std::vector<shm::Ask>(8, {.kind = Kind::allreduce, .bytes = 8, .seed = 9}), 3);
            }));
}

}  // namespace
}  // namespace sumac::team
