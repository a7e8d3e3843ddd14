// SUMAC_REPRODUCIBLE=1: sums have the bits of the canonical tree over the team's ranks, wherever the ranks are and
// whatever carries data between their hosts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shm/test_exercise.hpp"
#include "team/select.hpp"
#include "team/test_world.hpp"

namespace sumac::team {
namespace {

using coll::Kind;
using shm::Ask;
using shm::Exercise;

struct Placement {
  const char* name;
  std::vector<int> hosts;  ///< The host of each rank.
  bool is_canonical;       ///< Islands are nodes of the canonical tree.
};
const Placement kPlacements[] = {
    {"one host", {0, 0, 0, 0, 0, 0, 0}, true},       {"one rank a host", {0, 1, 2, 3, 4}, true},
    {"two a host", {0, 0, 1, 1, 2, 2}, true},        {"four a host, the last one short", {0, 0, 0, 0, 1, 1, 1}, true},
    {"three a host", {0, 0, 0, 1, 1, 1}, false},     {"in turns", {0, 1, 2, 0, 1, 2, 0}, false},
    {"the first one short", {0, 1, 1, 1, 1}, false},
};

std::vector<sumac_place_t> places_for(const Placement& placement) {
  std::vector<sumac_place_t> places;
  for (const int host : placement.hosts)
    places.push_back({host, static_cast<int>(places.size() % 2), 0, static_cast<int>(places.size())});
  return places;
}

/// A carrier between the hosts and its abilities.
struct Network {
  const char* name;
  bool has_tree, adds_canonically;
  const char* alltoall_max;  ///< 0: blocks cannot be exchanged, so all values are gathered.
};
constexpr Network kNetworks[] = {
    {"the MPI", false, false, "800"},
    {"the MPI without alltoall", false, false, "0"},
    {"a tree that adds as it likes", true, false, "800"},
    {"a tree that adds canonically", true, true, "800"},
};

constexpr std::size_t kFloats[] = {1, 4, 7};  // float64, float16 and bfloat16 in shm::kReductions.

class OrderedSums : public testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {
 protected:
  const Placement& placement() const { return kPlacements[std::get<0>(GetParam())]; }
  const Network& network() const { return kNetworks[std::get<1>(GetParam())]; }
};

std::string run_one(sumac_team_t* team, const Ask& ask, const World& world, bool is_posted) {
  Exercise exercise(ask, world.size, world.rank);
  int rc = SUMAC_TEAM_OK;
  if (is_posted) {
    sumac_op_t* op = nullptr;
    rc = sumac_team_post(team, c_call(exercise), nullptr, nullptr, &op);
    if (rc != SUMAC_TEAM_OK) return fmt::format("posting: {}", rc);
    while ((rc = sumac_op_test(op)) == SUMAC_TEAM_PENDING) ::sched_yield();
    sumac_op_free(op);
  } else {
    rc = sumac_team_run(team, c_call(exercise));
  }
  if (rc != SUMAC_TEAM_OK) return fmt::format("answer {}: {}", rc, sumac_team_error(team));
  return exercise.check();
}

TEST_P(OrderedSums, HaveTheBitsOfTheCanonicalTree) {
  const auto places = places_for(placement());
  const auto options = options_with(
      {{"SUMAC_REPRODUCIBLE", "1"}, {"SUMAC_TEAM_CHUNK", "2k"}, {"SUMAC_TEAM_ALLTOALL_MAX", network().alltoall_max}});
  EXPECT_EQ("", as_threads(static_cast<int>(places.size()), 11, [&](World& world) -> std::string {
              world.across.has_tree = network().has_tree;
              world.across.adds_canonically = network().adds_canonically;
              sumac_team_t* team = world.create(world.spec(places, as_c(options)));
              if (team == nullptr) return world.why;
              std::string fault;
              std::uint64_t seed = 0;
              for (const Kind kind : {Kind::allreduce, Kind::reduce, Kind::reduce_scatter_block, Kind::scan,
                                      Kind::exscan, Kind::reduce_scatter})
                for (const std::size_t bytes : {std::size_t{8}, std::size_t{264}, std::size_t{5000}})
                  for (const bool in_place : {false, true})
                    for (const std::size_t reduction : kFloats) {
                      const Ask ask{.kind = kind,
                                    .bytes = bytes,
                                    .root = static_cast<int>(seed % places.size()),
                                    .in_place = in_place,
                                    .reduction = reduction,
                                    .seed = ++seed};
                      // A rank that stopped here would leave the others waiting.
                      std::string said = run_one(team, ask, world, seed % 3 == 0);
                      if (fault.empty()) fault = std::move(said);
                    }
              sumac_team_destroy(team);
              return fault;
            }));
}

INSTANTIATE_TEST_SUITE_P(Everywhere, OrderedSums,
                         testing::Combine(testing::Range(std::size_t{0}, std::size(kPlacements)),
                                          testing::Range(std::size_t{0}, std::size(kNetworks))),
                         [](const auto& each) {
                           std::string name = fmt::format("{} by {}", kPlacements[std::get<0>(each.param)].name,
                                                          kNetworks[std::get<1>(each.param)].name);
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

Question sum_by(Across across, bool adds_canonically) {
  Question question;
  question.kind = Kind::allreduce;
  question.bytes = 8;
  question.across = across;
  question.in_order = true;
  question.adds_canonically = adds_canonically;
  question.values_can_travel = true;
  return question;
}

TEST(OrderedSumsWay, TheUsualWayServesWhereItAddsAlongTheTree) {
  Shape shape{.islands = 4, .island_size_max = 4, .is_canonical = true};
  EXPECT_EQ(choose(shape, sum_by(Across::tree, true)), (Choice{Way::tree, false, Why::across_tree, Sums::in_order}));
  EXPECT_EQ(choose(shape, sum_by(Across::next, false)), (Choice{Way::leaders, false, Why::by_values, Sums::by_values}));
  shape.is_canonical = false;
  EXPECT_EQ(choose(shape, sum_by(Across::tree, true)), (Choice{Way::leaders, false, Why::by_values, Sums::by_values}));
}

TEST(OrderedSumsWay, LeadersThatAddIslandsSumsThemselvesAreTheUsualWay) {
  const Shape shape{.islands = 4, .island_size_max = 4, .is_canonical = true};
  Question question = sum_by(Across::next, false);
  question.kind = Kind::reduce_scatter_block;
  EXPECT_EQ(choose(shape, question), (Choice{Way::leaders, false, Why::across_next, Sums::in_order}));
}

TEST(OrderedSumsWay, ARankAHostDoesNotPassItToAnMpiThatAddsAsItLikes) {
  const Shape shape{.islands = 4, .island_size_max = 1, .is_canonical = true};
  EXPECT_EQ(choose(shape, sum_by(Across::next, false)).why, Why::by_values);
}

TEST(OrderedSumsWay, WhereNoValuesTravelItIsTheNextModules) {
  const Shape shape{.islands = 4, .island_size_max = 4, .is_canonical = true};
  Question question = sum_by(Across::next, false);
  question.values_can_travel = false;
  EXPECT_EQ(choose(shape, question), (Choice{Way::pass, false, Why::no_across, Sums::in_order}));
}

TEST(OrderedSumsWay, OnOneHostAllRanksMeetAtOnce) {
  const Shape shape{.islands = 1, .island_size_max = 8, .has_steps = true, .is_canonical = true};
  Question question = sum_by(Across::none, false);
  question.steps = Steps::always;
  EXPECT_FALSE(choose(shape, question).by_steps);
}

}  // namespace
}  // namespace sumac::team
