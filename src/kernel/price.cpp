// hop-price prints the kernel's nanoseconds for a contribution (bpf_stats), tags and copies of the result included, of a
// group's root with 16 children whose device is one end of a veth pair. It needs root.
#include <fmt/core.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "kernel/test_kernel.hpp"

namespace {

using namespace sumac::kernel;
using namespace sumac::kernel::test;

constexpr unsigned kChildren = 16, kOperations = 2000, kTurns = 9;
constexpr std::uint32_t kIndex = 0;
constexpr std::uint8_t kFloat64 = 5;

struct Measured {
  std::uint64_t ns = 0, runs = 0;
};

Measured measured(const Program& program) {
  bpf_prog_info info{};
  std::uint32_t bytes = sizeof info;
  bpf_obj_get_info_by_fd(program.receiver(), &info, &bytes);
  return {info.run_time_ns, info.run_cnt};
}

struct Price {
  double least = 0, median = 0;
};

/// Returns the nanoseconds of one frame, of some turns.
Price price(Program& program, const HopGroup& group, unsigned words) {
  if (!program.begin_group(kIndex, group, 0)) std::abort();
  std::array<double, kTurns> turns{};
  std::uint32_t sequence = 0;
  for (double& turn : turns) {
    const Measured before = measured(program);
    for (const std::uint32_t end = sequence + kOperations; sequence != end; ++sequence)
      for (unsigned child = 0; child < kChildren; ++child) {
        HopFrame frame = contribution(kIndex, sequence, child, words);
        frame.header.dtype = kFloat64;
        const double value = 1.0 / (1 + child);
        for (unsigned i = 0; i < words; ++i) std::memcpy(&frame.payload.word[i], &value, sizeof value);
        seal(frame, group.child[child].key);
        (void)receive(program, packet_of(frame, group.child[child].end, group.self));
      }
    const Measured after = measured(program);
    turn = static_cast<double>(after.ns - before.ns) / static_cast<double>(after.runs - before.runs);
  }
  std::sort(turns.begin(), turns.end());
  return {turns[0], turns[kTurns / 2]};
}

}  // namespace

int main() {
  if (!obstacle().empty()) return fmt::print(stderr, "hop-price: {}\n", obstacle()), 1;
  if (std::system("ip link add hop0 type veth peer name hop1 && ip link set hop0 up && ip link set hop1 up") != 0)
    return 1;
  const int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
  auto program = Program::load({.pins = "/tmp/price", .port = kPort, .groups_max = 1});
  if (!program) return fmt::print(stderr, "hop-price: {}\n", program.error().context), 1;
  HopGroup group = group_of(kChildren, true);
  for (bool copies : {false, true}) {
    // A device that does not exist takes no copies.
    for (HopChild& child : group.child) child.end.device = copies ? if_nametoindex("hop0") : 9999;
    for (const unsigned words : {1u, 16u, 128u}) {
      const Price found = price(*program, group, words);
      fmt::print("{:4} B, {} children, {} copies: {:.0f} ns a contribution, at least {:.0f}\n", 8 * words, kChildren,
                 copies ? "with" : "without", found.median, found.least);
    }
  }
  (void)program->unpin();
  close(stats);
  return 0;
}
