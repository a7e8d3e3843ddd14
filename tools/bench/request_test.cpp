// The words of `sumac bench` and the command lines that come of them.
#include "tools/bench/request.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tools/bench/commands.hpp"

namespace sumac::tools::bench {
namespace {

using Words = std::vector<std::string>;

TEST(BenchRequest, OwnOptionsMayStandBehindTheBenchmark) {
  const auto request = parse_request({"osu_allreduce", "-m", "8:1M", "-n", "4", "-c", "--compare", "--pairs", "3"});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->benchmark, (Words{"osu_allreduce", "-m", "8:1M", "-c"}));
  EXPECT_EQ(request->ranks, 4U);
  EXPECT_TRUE(request->compare);
  EXPECT_EQ(request->pairs, 3U);
}

TEST(BenchRequest, HelpIsTheBenchmarksBehindItsName) {
  EXPECT_TRUE(parse_request({"-h"})->help);
  EXPECT_FALSE(parse_request({"osu_bcast", "-h"})->help);
  EXPECT_EQ(parse_request({"osu_bcast", "-h"})->benchmark, (Words{"osu_bcast", "-h"}));
}

TEST(BenchRequest, OptionsOfSumacRunPassThrough) {
  const auto request = parse_request({"--hosts", "a:2,b:2", "IMB-MPI1", "Barrier", "--tree", "--mpirun", "mpiexec -v"});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->run, (Words{"--hosts", "a:2,b:2", "--tree"}));
  EXPECT_TRUE(request->hosts_named);
  EXPECT_EQ(request->launcher, (Words{"mpiexec", "-v"}));
  EXPECT_EQ(request->benchmark, (Words{"IMB-MPI1", "Barrier"}));
}

TEST(BenchRequest, MistakesAreNamed) {
  const struct {
    const char* name;
    Words words;
    const char* part;
  } rows[] = {
      {"no benchmark", {}, "which benchmark"},
      {"an option without its value", {"osu_bcast", "-n"}, "-n needs a value"},
      {"no rank", {"-n", "0", "osu_bcast"}, "-n 0: give a whole number from 1"},
      {"a word for a number", {"--pairs", "many", "osu_bcast"}, "--pairs many"},
      {"one pair has no interval", {"--pairs", "1", "osu_bcast"}, "from 2 to"},
      {"an unknown option before the name", {"--fast", "osu_bcast"}, "no option --fast"},
      {"a lab and hosts", {"--lab", "f.yaml", "--hosts", "a,b", "osu_bcast"}, "leave --hosts out"},
      {"JSON without a comparison", {"--json", "f", "osu_bcast"}, "add --compare"},
      {"a plot and none", {"--compare", "--plot", "a", "--no-plot", "osu_bcast"}, "contradict"},
      {"an option for a plot's name", {"--compare", "osu_bcast", "--plot", "-x"}, "--plot '-x': give a file's name"},
      {"a forgotten plot's name", {"--compare", "--plot", "--no-plot", "osu_bcast"}, "--plot '--no-plot': give a file"},
      {"an option for a file", {"--compare", "--json", "-x", "osu_bcast"}, "--json '-x': give a file's name"},
      {"no name for a file", {"--compare", "--json", "", "osu_bcast"}, "--json '': give a file's name"},
      {"an empty launcher", {"--mpirun", " ", "osu_bcast"}, "--mpirun is empty"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto request = parse_request(row.words);
    ASSERT_FALSE(request);
    EXPECT_NE(request.error().context.find(row.part), std::string::npos) << request.error().context;
  }
}

std::string line(const Words& words, const Places& places, LauncherFamily family, Side side, bool json = false) {
  const auto request = parse_request(words);
  return request ? fmt::format("{}", fmt::join(command_of(*request, places, family, side, json), " ")) : "no request";
}

TEST(BenchCommands, OnThisHostAndInALab) {
  const Places here{.sumac = "s", .program = "p"};
  const Places crowded{.sumac = "s", .program = "p", .crowded = true};
  const Places lab{.sumac = "s", .program = "p", .lab = "bench-1"};
  const Words words{"-n", "2", "osu_bcast", "-f"};
  using enum LauncherFamily;
  EXPECT_EQ(line(words, here, open_mpi, Side::with), "run mpirun -n 2 p osu_bcast -f");
  EXPECT_EQ(line(words, here, open_mpi, Side::without, true),
            "run mpirun -n 2 -x SUMAC_ENABLE=0 p --json osu_bcast -f");
  EXPECT_EQ(line(words, crowded, open_mpi, Side::with), "run mpirun -n 2 --oversubscribe p osu_bcast -f");
  EXPECT_EQ(line(words, crowded, hydra, Side::without), "run mpirun -n 2 -genv SUMAC_ENABLE 0 p osu_bcast -f");
  EXPECT_EQ(line({"--tree", "--hosts", "a,b", "osu_bcast"}, here, open_mpi, Side::with),
            "run --tree --hosts a,b mpirun p osu_bcast");
  EXPECT_EQ(line(words, lab, open_mpi, Side::with),
            "lab mpirun --name bench-1 --mca pml ob1 --mca btl tcp,self -x HCOLL_ENABLE_SHARP=3 -n 2 p osu_bcast -f");
  EXPECT_EQ(line(words, lab, open_mpi, Side::without),
            "lab mpirun --name bench-1 --mca pml ob1 --mca btl tcp,self -n 2 -x SUMAC_ENABLE=0 p osu_bcast -f");
}

}  // namespace
}  // namespace sumac::tools::bench
