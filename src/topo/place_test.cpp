#include "topo/place.hpp"

#include <gtest/gtest.h>

namespace sumac::topo {
namespace {

/// Makes `sockets` x `nodes` x `cores` x `threads`; threads of a core are half the machine apart, as the kernel numbers
/// them.
Machine machine_of(int sockets, int nodes, int cores, int threads) {
  Machine machine;
  const int all = sockets * nodes * cores;
  for (int cpu = 0; cpu < all * threads; ++cpu) {
    const int core = cpu % all;
    machine.cpus.push_back({cpu, core / (nodes * cores), core / cores, core});
  }
  return machine;
}

TEST(Place, what_the_allowed_cpus_have_in_common) {
  const auto machine = machine_of(2, 4, 16, 2);
  EXPECT_EQ(machine.socket_count(), 2U);
  EXPECT_EQ(machine.numa_count(), 8U);
  EXPECT_EQ(machine.core_count(), 128U);
  const struct {
    const char* name;
    std::vector<std::int32_t> allowed;
    Place place;
  } rows[] = {
      {"bound to one thread", {17}, {5, 0, 1, 17}},
      {"both threads of one core", {17, 145}, {5, 0, 1, 17}},
      {"two cores of one NUMA node", {16, 17}, {5, 0, 1, -1}},
      {"two NUMA nodes of one socket", {0, 63}, {5, 0, -1, -1}},
      {"two sockets", {0, 64}, {5, -1, -1, -1}},
      {"a cpu that nobody knows", {0, 999}, {5, -1, -1, -1}},
      {"nothing is known", {}, {5, -1, -1, -1}},
  };
  for (const auto& row : rows) EXPECT_EQ(place_on(machine, row.allowed, 5), row.place) << row.name;
}

TEST(Place, by_turn_fills_core_after_core) {
  const auto machine = machine_of(2, 1, 2, 2);
  const int sockets[] = {0, 0, 1, 1, 0, 0, 1, 1, 0};
  for (std::uint32_t rank = 0; rank < 9; ++rank)
    EXPECT_EQ(place_by_turn(machine, rank, 0).socket, sockets[rank]) << rank;
  EXPECT_EQ(place_by_turn(Machine{}, 3, 7), (Place{.host = 7})) << "a machine without processors tells nothing";
}

TEST(Place, unknown_parts_count_for_none) {
  Machine machine;
  machine.cpus = {{0, -1, 0, 0}, {1, -1, 0, -1}};
  EXPECT_EQ(machine.socket_count(), 0U);
  EXPECT_EQ(machine.numa_count(), 1U);
  EXPECT_EQ(machine.core_count(), 1U);
  EXPECT_EQ(place_on(machine, std::vector<std::int32_t>{1}, 0), (Place{0, -1, 0, -1}));
}

}  // namespace
}  // namespace sumac::topo
