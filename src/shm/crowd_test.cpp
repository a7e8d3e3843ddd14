// A table of which rank moves where. Then: a rank's affinity is restored after its move, and ranks on one core make
// progress whether or not they know where the others are.
#include "shm/crowd.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <vector>

#include "shm/test_exercise.hpp"
#include "shm/test_ranks.hpp"

namespace sumac::shm {
namespace {

machine::CpuMask mask_of(const std::vector<int>& cpus) {
  machine::CpuMask mask;
  for (const int cpu : cpus) mask.set(static_cast<std::size_t>(cpu));
  return mask;
}

TEST(BetterCpu, EvensOutAndNobodyMovesTwice) {
  const struct {
    const char* name;
    std::vector<std::int32_t> cpus;
    std::vector<int> allowed;
    std::vector<std::int32_t> to;  ///< The CPU that each member moves to.
  } rows[] = {
      {"even", {0, 0, 1, 1}, {0, 1}, {-1, -1, -1, -1}},
      {"one more is no reason", {0, 0, 1}, {0, 1}, {-1, -1, -1}},
      {"the first of five goes", {0, 1, 0, 0, 1, 0, 0, 1}, {0, 1}, {1, -1, -1, -1, -1, -1, -1, -1}},
      {"two of six go", {1, 1, 1, 1, 0, 1, 1, 0}, {0, 1}, {0, 0, -1, -1, -1, -1, -1, -1}},
      {"to different ones", {3, 3, 3, 3}, {3, 5, 64, 4095}, {5, 64, 4095, -1}},
      {"bound to its own", {0, 0, 0, 1}, {0}, {-1, -1, -1, -1}},
      {"not to one that it may not use", {0, 0, 0, 1}, {0, 7}, {7, -1, -1, -1}},
      {"nobody knows where the others are", {-1, -1, 0, -1}, {0, 1}, {-1, -1, -1, -1}},
      {"a number beyond all masks", {5000, 5000, 5000}, {0, 1}, {-1, -1, -1}},
      {"no cpu allowed", {0, 0, 0}, {}, {-1, -1, -1}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    for (std::size_t m = 0; m < row.cpus.size(); ++m)
      EXPECT_EQ(row.to[m], better_cpu(row.cpus, m, mask_of(row.allowed)));
  }
}

bool bind(const machine::CpuMask& mask) {
  return sched_setaffinity(0, sizeof mask.words, reinterpret_cast<const cpu_set_t*>(mask.words.data())) == 0;
}

TEST(Crowd, RanksGetThroughBoundOrNotAndKeepTheirAffinity) {
  const machine::CpuMask all = machine::own_affinity();
  const std::int32_t first = all.numbers().front();
  const double cpus = all.count();
  const int many = 2 * static_cast<int>(std::min(cpus, 8.0)) + 2;
  const Shape shape = small_shape(many);
  for (const bool spreads : {false, true}) {
    SCOPED_TRACE(spreads);
    const WaitSettings waiting{.ranks_on_host = many, .cpus = cpus, .spreads = spreads};
    const auto barriers = [](Group& group, int count) {
      const coll::Operation barrier;
      for (int i = 0; i < count; ++i)
        if (run(group, barrier) != Errc::ok) return false;
      return true;
    };
    EXPECT_EQ("", run_threads(shape, [&](Segment& segment, int rank) -> std::string {
                Group group(segment, 0, everybody(many), rank, waiting, tuning_for(shape, many));
                if (!bind(mask_of({first}))) return "cannot be bound";
                if (!barriers(group, 200)) return group.error();
                if (sched_getcpu() != first) return "left the only cpu that it may use";
                if (!bind(all)) return "cannot be freed";
                if (!barriers(group, 2000)) return group.error();
                return machine::own_affinity() == all ? "" : "its affinity is not what it was";
              }));
  }
}

TEST(Crowd, TellsWhereItIsAndWhoIsNotThere) {
  Control controls[3]{};
  const WaitSettings waiting{.ranks_on_host = 3, .cpus = 1};
  Crowd crowd(controls, 3, 0, waiting);
  EXPECT_TRUE(crowd.is_here(1)) << "nobody knows where it is: it may be here";
  crowd.note_here();
  const std::int32_t here = controls[0].cpu_plus_one;
  ASSERT_GT(here, 0);
  controls[1].cpu_plus_one = here;
  controls[2].cpu_plus_one = here + 1;
  EXPECT_TRUE(crowd.is_here(1));
  EXPECT_FALSE(crowd.is_here(2));
}

}  // namespace
}  // namespace sumac::shm
