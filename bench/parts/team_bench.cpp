// Measures what a team adds to one call of shared memory: an 8-byte allreduce alternates between shm::run and
// sumac_team_run on the very same group. It also measures the cost of making a team. Two processes run, each on a core
// of its own. Run by hand:
//
//   cmake --build build/dev --target sumac-teambench && build/dev/bin/sumac-teambench
#include <sched.h>

#include <algorithm>
#include <cstdio>

#include "team/team.hpp"
#include "team/test_world.hpp"

namespace sumac::team {
namespace {

constexpr int kRounds = 41, kCalls = 20000;

template <class Do>
double ns_of_one(Do do_one) {
  const Time began = monotonic_now();
  for (int i = 0; i < kCalls; ++i) do_one();
  return static_cast<double>((monotonic_now() - began).count()) / kCalls;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

std::string measure(World& world) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  CPU_SET(static_cast<unsigned>(world.rank), &mine);
  if (::sched_setaffinity(0, sizeof mine, &mine) != 0) return "no core of its own";
  const auto places = places_of(1, 1, 2);
  const auto options = options_with({});
  std::vector<double> creation, oob, by_shm, by_team, extra;
  sumac_team_t* team = nullptr;
  for (int i = 0; i < 101; ++i) {
    sumac_team_destroy(team);
    world.meet();
    world.in_oob = {};
    const Time began = monotonic_now();
    team = world.create(world.spec(places, as_c(options)));
    if (team == nullptr) return world.why;
    sumac_call_t barrier{};
    if (sumac_team_run(team, &barrier) != SUMAC_TEAM_OK) return sumac_team_error(team);
    creation.push_back(static_cast<double>((monotonic_now() - began - world.in_oob).count()) / 1000);
    oob.push_back(static_cast<double>(world.in_oob.count()) / 1000);
  }
  double in = world.rank, out = 0;
  sumac_fold_t fold;
  sumac_fold_standard(&fold, static_cast<int>(Dtype::float64), static_cast<int>(Op::sum),
                      static_cast<int>(Dtype::null));
  sumac_call_t call{};
  call.coll = SUMAC_COLL_ALLREDUCE;
  call.in = &in;
  call.out = &out;
  call.bytes = sizeof in;
  call.fold = &fold;
  for (int round = 0; round < kRounds; ++round) {
    const auto shm_ns = ns_of_one([&] { (void)shm::run(*team->island_group, operation_of(call)); });
    const auto team_ns = ns_of_one([&] { (void)sumac_team_run(team, &call); });
    by_shm.push_back(shm_ns);
    by_team.push_back(team_ns);
    extra.push_back(team_ns - shm_ns);
  }
  world.meet();
  sumac_team_destroy(team);
  if (world.rank != 0) return "";
  std::printf(
      "8 B allreduce: shm::run %.1f ns, sumac_team_run %.1f ns, %.1f ns more (median of %d pairs)\n"
      "creating a team and its first barrier: %.0f us, and %.0f us in out-of-band functions (sleeping barriers here)\n",
      median(by_shm), median(by_team), median(extra), kRounds, median(creation), median(oob));
  std::fflush(stdout);
  return "";
}

}  // namespace
}  // namespace sumac::team

int main() {
  for (const auto& text : sumac::team::as_processes(2, 1, sumac::team::measure))
    if (!text.empty()) return std::fprintf(stderr, "sumac-teambench: %s\n", text.c_str()), 1;
  return 0;
}
