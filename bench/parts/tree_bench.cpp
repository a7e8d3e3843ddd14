// Measures the time to build a tree over 10,000 hosts: look up names, choose the root among all nodes, find every
// parent and leaf. Usage: tree-bench [TRIALS]. It prints for each shape the median and the slowest in ms; its last line
// is the greatest of the medians as a case of `make bench-control`, in JSON.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "topo/sample_fabrics.hpp"
#include "topo/tree.hpp"

int main(int argc, char** argv) {
  using namespace sumac::topo;
  const auto trials = argc > 1 ? std::atoi(argv[1]) : 11;
  if (trials < 1 || trials > 10'000) {
    fmt::print(stderr, "tree-bench: '{}' is no number of trials within 1 to 10000\n", argv[1]);
    return 2;
  }
  double worst = 0;
  for (const auto* shape : kLargeShapes) {
    const auto fabric = large_fabric(shape);
    for (const std::uint32_t radix : {0U, 40U}) {
      std::vector<double> ms;
      for (int trial = 0; trial < trials; ++trial) {
        const auto begin = std::chrono::steady_clock::now();
        const auto trees = build_trees(fabric, {1, radix});
        ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
        if (!trees) {
          fmt::print(stderr, "tree-bench: {}: {}\n", shape, trees.error().context);
          return 1;
        }
      }
      std::sort(ms.begin(), ms.end());
      const auto median = ms[ms.size() / 2];
      worst = std::max(worst, median);
      fmt::print("{:15} radix {:2}  {} hosts {} switches {} links: median {:.1f} ms, slowest {:.1f} ms, of {}\n", shape,
                 radix, fabric.hosts.size(), fabric.switches.size(), fabric.links.size(), median, ms.back(), trials);
    }
  }
  constexpr double kLimitMs = 100;
  fmt::print(
      "{{\"case\": \"tree-10k-hosts-ms\", \"unit\": \"ms\", \"sumac\": {:.3f}, \"limit\": {}, \"trials\": {}}}\n",
      worst, kLimitMs, trials);
  return worst <= kLimitMs ? 0 : 1;
}
