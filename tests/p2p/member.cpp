// One member of a group on a host of a lab: it runs random collectives of every kind and checks each result, or dies in
// the middle of one. Usage: p2p-member RANK SIZE SEEDS [DIES], with the blobs' exchange on its pipes. It ends with the
// line "right: N operations, results of this checksum: X", "failed: REASON" or a fault.
#include <csignal>

#include "p2p/test_exercise.hpp"
#include "p2p/test_pipes.hpp"

namespace {

using namespace sumac;
using namespace sumac::p2p;

int complain(const std::string& what) {
  fmt::print("fault: {}\n", what);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: p2p-member RANK SIZE SEEDS [RANK THAT DIES]\n");
    return 2;
  }
  const auto rank = static_cast<std::uint32_t>(std::atoi(argv[1]));
  const auto size = static_cast<std::uint32_t>(std::atoi(argv[2]));
  const auto seeds = static_cast<std::uint64_t>(std::atoi(argv[3]));
  const bool dies = argc > 4 && std::atoi(argv[4]) == static_cast<int>(rank);
  const auto group = test::group_by_pipes({.rank = rank, .size = size});
  std::uint64_t sum = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const test::Exercise exercise(seed, size, 20000);
    auto mine = exercise.make(rank);
    exercise.aim(rank, mine);
    void* request = nullptr;
    auto progress = group->start_by(mine.operation, exercise.algorithm, request);
    if (dies && seed == seeds / 2) ::raise(SIGKILL);
    if (progress == Group::Progress::pending) progress = group->wait(request);
    if (progress == Group::Progress::failed) {
      fmt::print("failed: {}\n", group->error());
      return 0;
    }
    if (const auto fault = exercise.check(rank, mine); !fault.empty()) return complain(fault);
    for (const auto word : mine.out) sum = (sum ^ word) * 1099511628211u;  // FNV's prime
  }
  fmt::print("right: {} operations, results of this checksum: {:x}\n", seeds, sum);
  return 0;
}
