// A caller without collectives of its own (has_no_next): nothing is passed on, whatever the placement, kind and size.
#include <gtest/gtest.h>

#include "shm/test_exercise.hpp"
#include "team/test_world.hpp"

namespace sumac::team {
namespace {

using shm::Exercise;

std::vector<sumac_place_t> places_on(std::string_view hosts) {
  std::vector<sumac_place_t> places;
  for (const char host : hosts) places.push_back({host - 'a', 0, 0, static_cast<int>(places.size())});
  return places;
}

std::string run_each_kind(sumac_team_t* team, const World& world, std::size_t bytes) {
  std::string fault;
  for (const auto& row : coll::kCollectives)
    for (int root = 0; root < (row.has_root ? world.size : 1); ++root) {
      Exercise exercise({.kind = row.kind, .bytes = bytes, .root = root, .seed = 3}, world.size, world.rank);
      const int rc = sumac_team_run(team, as_c(exercise.operation()));
      // A rank that stopped at the first fault would leave the others waiting.
      if (!fault.empty()) continue;
      fault = rc == SUMAC_TEAM_OK ? exercise.check() : fmt::format("{}: answer {}", row.name, rc);
    }
  return fault;
}

TEST(Network, CarriesEverythingWhereThereIsNoNextModule) {
  const auto options = options_with({{"SUMAC_TEAM_ALLTOALL_MAX", "800"}, {"SUMAC_TEAM_CHUNK", "2k"}});
  for (const std::string_view hosts : {"abc", "aab", "aba", "aabb"}) {
    SCOPED_TRACE(hosts);
    const auto places = places_on(hosts);
    EXPECT_EQ("", as_threads(static_cast<int>(places.size()), 41, [&](World& world) -> std::string {
                auto spec = world.spec(places, as_c(options));
                spec.has_no_next = 1;
                sumac_team_t* team = world.create(spec);
                if (team == nullptr) return world.why;
                std::string fault;
                for (const std::size_t bytes : {std::size_t{8}, std::size_t{9000}})
                  if (std::string said = run_each_kind(team, world, bytes); fault.empty()) fault = std::move(said);
                sumac_team_destroy(team);
                return fault;
              }));
  }
}

}  // namespace
}  // namespace sumac::team
