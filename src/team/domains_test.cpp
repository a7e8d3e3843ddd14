// Teams of 17 to 168 ranks on described machines (hwloc's synthetic ones), cut by NUMA node or by socket.
#include <gtest/gtest.h>
#include <stdlib.h>

#include "machine/discover.hpp"
#include "shm/test_exercise.hpp"
#include "team/team.hpp"
#include "team/test_world.hpp"

namespace sumac::team {
namespace {

using shm::Exercise;

struct Machines {
  int ranks;
  int hosts;         ///< Each is such a machine, with its share of the ranks.
  const char* text;  ///< HWLOC_SYNTHETIC
  const char* sbgp;
  const char* steps;
  const char* allreduce;
  const char* domains;  ///< The line that explain must have.
};
constexpr Machines kMachines[] = {
    {17, 1, "package:2 numa:2 core:4 pu:1", "", "always", "", "cut by NUMA node: 4 domains"},
    {24, 1, "package:1 numa:3 core:7 pu:2", "", "always", "", "cut by NUMA node: 3 domains"},
    {32, 1, "package:2 [numa] group:4 [numa] core:5 pu:1", "", "auto", "blocks", "cut by NUMA node: 7 domains"},
    {48, 2, "package:2 numa:2 core:6 pu:1", "", "always", "", "cut by NUMA node: 8 domains on 2 hosts"},
    {64, 1, "package:2 numa:4 core:8 pu:2", "basesmsocket,p2p", "auto", "", "cut by NUMA node: 8 domains"},
    {96, 1, "package:2 core:48 pu:1", "", "always", "", "cut by socket: 2 domains"},
    {128, 1, "package:2 [numa] group:4 [numa] core:16 pu:1", "", "always", "", "cut by NUMA node: 8 domains"},
    {168, 1, "package:2 numa:4 core:21 pu:1", "", "always", "", "cut by NUMA node: 8 domains"},
    {168, 1, "package:2 numa:4 core:23 pu:1", "basesmuma,p2p", "auto", "blocks",
     "not cut: HCOLL_SBGP has no basesmsocket"},
};

std::vector<sumac_place_t> places_on(const Machines& row) {
  ::setenv("HWLOC_SYNTHETIC", row.text, 1);
  const auto machine = machine::discover();
  ::unsetenv("HWLOC_SYNTHETIC");
  std::vector<sumac_place_t> places;
  const int each = row.ranks / row.hosts;
  for (int r = 0; machine && r < row.ranks; ++r) {
    const auto place = machine::own_place(*machine, r / each, static_cast<std::uint32_t>(r % each));
    places.push_back({place.host, place.socket, place.numa, place.core});
  }
  return places;
}

class DescribedMachines : public testing::TestWithParam<std::size_t> {};

TEST_P(DescribedMachines, EveryCollectiveIsRightAndASumHasTheSameBitsEachTime) {
  const Machines& row = kMachines[GetParam()];
  const auto places = places_on(row);
  ASSERT_EQ(static_cast<std::size_t>(row.ranks), places.size());
  const auto options = options_with({{"HCOLL_SBGP", row.sbgp},
                                     {"SUMAC_TEAM_LEVELS", row.steps},
                                     {"SUMAC_SHM_ALLREDUCE", row.allreduce},
                                     {"SUMAC_TEAM_ALLTOALL_MAX", "64"}});
  std::vector<std::vector<std::byte>> sums(places.size());
  EXPECT_EQ("", as_threads(
                    row.ranks, 5,
                    [&](World& world) -> std::string {
                      world.across.has_tree = true;
                      sumac_team_t* team = world.create(world.spec(places, as_c(options)));
                      if (team == nullptr) return world.why;
                      const std::string text = explained(team);
                      if (text.find(fmt::format("  {}\n", row.domains)) == std::string::npos) return text;
                      std::uint64_t seed = 1, served = 0;
                      for (int kind = 0; kind < coll::kKinds; ++kind)
                        for (const std::size_t bytes : {8, world.size <= 64 ? 1000 : 200}) {
                          ++seed;
                          Exercise exercise({.kind = static_cast<coll::Kind>(kind),
                                             .bytes = bytes,
                                             .root = static_cast<int>(seed * 11 % static_cast<unsigned>(world.size)),
                                             .in_place = seed % 4 == 0,
                                             .seed = seed},
                                            world.size, world.rank);
                          const int rc = sumac_team_run(team, c_call(exercise));
                          if (rc == SUMAC_TEAM_PASS) continue;
                          if (rc != SUMAC_TEAM_OK) return sumac_team_error(team);
                          if (auto fault = exercise.check(); !fault.empty()) return fault;
                          ++served;
                        }
                      if (served < 20) return fmt::format("only {} of 26 were done", served);
                      for (int round = 0; round < 2; ++round) {  // Floating-point sums, whose bits depend on the order.
                        double in[200], out[200];
                        for (int i = 0; i < 200; ++i) in[i] = 1.0 / (1 + world.rank * 7 + i);
                        sumac_fold_t fold;
                        if (sumac_fold_standard(&fold, static_cast<int>(Dtype::float64), static_cast<int>(Op::sum),
                                                static_cast<int>(Dtype::null)) != SUMAC_TEAM_OK)
                          return "no fold";
                        sumac_call_t call{};
                        call.coll = SUMAC_COLL_ALLREDUCE;
                        call.in = in;
                        call.out = out;
                        call.bytes = sizeof in;
                        call.fold = &fold;
                        if (sumac_team_run(team, &call) != SUMAC_TEAM_OK) return sumac_team_error(team);
                        const auto* first = reinterpret_cast<const std::byte*>(out);
                        auto& sum = sums[static_cast<std::size_t>(world.rank)];
                        if (round == 1 && !std::equal(sum.begin(), sum.end(), first))
                          return "another sum the second time";
                        sum.assign(first, first + sizeof out);
                      }
                      world.meet();
                      sumac_team_destroy(team);
                      return "";
                    }))
      << row.text;
  for (const auto& sum : sums) EXPECT_EQ(sums.front(), sum);
}
INSTANTIATE_TEST_SUITE_P(Ranks, DescribedMachines, testing::Range<std::size_t>(0, std::size(kMachines)));

/// x -> a x + b, in integers that wrap round: composing two of them is associative, and not commutative.
struct Affine {
  std::uint64_t a, b;
};
void compose(const sumac_fold_t*, void* out, const void* left, const void* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Affine f, g;
    std::memcpy(&f, static_cast<const Affine*>(left) + i, sizeof f);
    std::memcpy(&g, static_cast<const Affine*>(right) + i, sizeof g);
    f = {f.a * g.a, f.b * g.a + g.b};
    std::memcpy(static_cast<Affine*>(out) + i, &f, sizeof f);
  }
}

TEST(OneDomain, ReductionsOfManyRanksKeepTheOrderOfRanks) {
  // All 40 ranks run on one node of a socket of four.
  const std::vector<sumac_place_t> places(40, {0, 1, 5, -1});
  int own = -1;
  ASSERT_EQ(1, sumac_team_domains(places.data(), 40, 7, &own));
  EXPECT_EQ(0, own);
  const auto options = options_with({{"SUMAC_TEAM_LEVELS", "always"}});
  EXPECT_EQ("", as_threads(40, 6, [&](World& world) -> std::string {
              sumac_team_t* team = world.create(world.spec(places, as_c(options)));
              if (team == nullptr) return world.why;
              sumac_fold_t fold;
              if (sumac_fold_custom(&fold, sizeof(Affine), compose, nullptr) != SUMAC_TEAM_OK) return "no fold";
              for (const std::size_t count : {1, 100, 3000}) {
                std::vector<Affine> in(count), out(count);
                const auto of = [](int rank, std::size_t i) {
                  return Affine{2 * static_cast<std::uint64_t>(rank) + 3, 1000 * i + static_cast<std::uint64_t>(rank)};
                };
                for (std::size_t i = 0; i < count; ++i) in[i] = of(world.rank, i);
                sumac_call_t call{};
                call.coll = SUMAC_COLL_ALLREDUCE;
                call.in = in.data();
                call.out = out.data();
                call.bytes = count * sizeof(Affine);
                call.fold = &fold;
                if (sumac_team_run(team, &call) != SUMAC_TEAM_OK) return sumac_team_error(team);
                for (std::size_t i = 0; i < count; ++i) {
                  Affine expected = of(0, i);
                  for (int r = 1; r < 40; ++r) {
                    const Affine next = of(r, i);
                    compose(nullptr, &expected, &expected, &next, 1);
                  }
                  if (out[i].a != expected.a || out[i].b != expected.b)
                    return fmt::format("element {} of {} was combined in another order", i, count);
                }
              }
              world.meet();
              sumac_team_destroy(team);
              return "";
            }));
}

}  // namespace
}  // namespace sumac::team
