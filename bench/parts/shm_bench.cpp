// sumac-shmbench measures what an algorithm costs here, without any MPI around it. It forks ranks, pins them, and
// alternates between the algorithm, a naive loop over shared memory and the round trip of one cache line between the
// first two ranks. Machines change their speed from one second to the next, so compare only the numbers within one
// line.
//
//   sumac-shmbench --ranks 2 --cores 0,1 --coll allreduce --bytes 8,64,1024 --algorithm flat
//   sumac-shmbench --ranks 8 --cores any --coll barrier      the kernel places the ranks, which sleep before each block
//
// Times are medians of blocks, in ns; "past the caches" is the same with such stores (stores.hpp), 0 where there are none. Barrier, allreduce, allgather and alltoall run back to back; for reduce and bcast
// an untimed barrier precedes each call, and the time is the mean over ranks.
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "shm/rounds.hpp"
#include "shm/task.hpp"

namespace sumac::shm {
namespace {

struct Settings {
  int ranks = 2;
  std::vector<int> cores{0, 1};
  std::string kind = "allreduce", algorithm;
  std::vector<std::size_t> bytes{8};
  int blocks = 41;
  int iterations = 0;  ///< The iterations of a block; 0: by size.
};

/// Memory beside the segment: the naive loops use it, and ranks store their times there.
struct Scratch {
  struct alignas(kCacheLine) Naive {
    std::atomic<std::uint64_t> flag[2];
    double value[2];
  };
  alignas(kCacheLine) std::atomic<std::uint64_t> ball;
  Naive naive[kMembersMax];
  double nanos[kMembersMax];
};

long switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw + usage.ru_nivcsw;
}

struct Rank {
  const Settings& settings;
  Scratch& scratch;
  Group& group;
  std::uint64_t naive_round = 0;
  bool crowded = false;
  std::uint64_t ball_base = 0;
  double switches_each = 0;  ///< Context switches per call of the last block.

  void relax() const { crowded ? static_cast<void>(sched_yield()) : cpu_relax(); }

  /// The least work that any barrier or allreduce over shared memory needs.
  double naive_allreduce(double value) {
    const std::uint64_t round = ++naive_round;
    Scratch::Naive& mine = scratch.naive[group.index()];
    mine.value[round % 2] = value;
    mine.flag[round % 2].store(round, std::memory_order_release);
    double sum = 0;
    for (int m = 0; m < group.size(); ++m) {
      if (m == group.index()) {
        sum += value;
        continue;
      }
      while (scratch.naive[m].flag[round % 2].load(std::memory_order_acquire) != round) relax();
      sum += scratch.naive[m].value[round % 2];
    }
    return sum;
  }

  double naive_ns(int iterations) {
    naive_allreduce(0);
    const Time begin = monotonic_now();
    for (int i = 0; i < iterations; ++i) naive_allreduce(i);
    return static_cast<double>((monotonic_now() - begin).count()) / iterations;
  }

  double round_trip_ns(int iterations) {
    naive_allreduce(0);
    if (group.index() > 1 || group.size() < 2) return 0;
    const std::uint64_t base = ball_base;
    ball_base += 2 * static_cast<unsigned>(iterations);
    const Time begin = monotonic_now();
    for (int i = 0; i < iterations; ++i) {
      const std::uint64_t mine = base + 2 * static_cast<unsigned>(i) + static_cast<unsigned>(group.index());
      while (scratch.ball.load(std::memory_order_acquire) != mine) relax();
      scratch.ball.store(mine + 1, std::memory_order_release);
    }
    return static_cast<double>((monotonic_now() - begin).count()) / iterations;
  }
  double call_ns(coll::Operation& operation, int iterations, double* data) {
    const bool rooted = operation.kind == coll::Kind::bcast || operation.kind == coll::Kind::reduce;
    coll::Operation barrier;
    naive_allreduce(0);
    const long before = switches();
    Duration timed{};
    const Time begin = monotonic_now();
    for (int i = 0; i < iterations; ++i) {
      data[0] = i;
      if (!rooted) {
        if (run(group, operation) != Errc::ok) std::abort();
        continue;
      }
      if (run(group, barrier) != Errc::ok) std::abort();
      const Time from = monotonic_now();
      if (run(group, operation) != Errc::ok) std::abort();
      timed += monotonic_now() - from;
    }
    if (!rooted) timed = monotonic_now() - begin;
    switches_each = static_cast<double>(switches() - before) / iterations;
    return static_cast<double>(timed.count()) / iterations;
  }

  /// Returns the mean over ranks; only rank 0 uses it.
  double mean(double mine) {
    scratch.nanos[group.index()] = mine;
    naive_allreduce(0);
    double sum = 0;
    for (int m = 0; m < group.size(); ++m) sum += scratch.nanos[m];
    naive_allreduce(0);
    return sum / group.size();
  }
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

int rank_main(const Settings& settings, Segment& segment, Scratch& scratch, int rank) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool is_pinned = !settings.cores.empty();
  if (is_pinned) {
    CPU_SET(static_cast<std::size_t>(settings.cores[static_cast<std::size_t>(rank) % settings.cores.size()]), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) std::perror("sumac-shmbench: pin a rank");
  }
  const WaitSettings waiting{
      .ranks_on_host = settings.ranks,
      .cpus = is_pinned ? static_cast<double>(settings.cores.size()) : machine::own_affinity().count()};
  std::vector<Member> members;
  for (int m = 0; m < settings.ranks; ++m) members.push_back({m, m});
  Tuning tuning = default_tuning({.size = settings.ranks, .crowded = waiting.crowded()});
  int kind = 0;
  while (kind < coll::kKinds && to_string(static_cast<coll::Kind>(kind)) != settings.kind) ++kind;
  if (kind == coll::kKinds) {
    std::fprintf(stderr, "sumac-shmbench: no collective is called %s\n", settings.kind.c_str());
    return 2;
  }
  if (!settings.algorithm.empty()) {
    if (auto forced = tuning.force(static_cast<coll::Kind>(kind), settings.algorithm); !forced) {
      if (rank == 0) std::fprintf(stderr, "sumac-shmbench: %s\n", forced.error().context.c_str());
      return 2;
    }
  }
  Group group(segment, 0, members, rank, waiting, tuning);
  Rank self{settings, scratch, group, 0, waiting.crowded(), 0};

  coll::Fold fold;
  fold.kernel = reduce::kernel_for(Op::sum, Dtype::float64);
  fold.element_bytes = sizeof(double);
  for (const std::size_t bytes : settings.bytes) {
    const std::size_t room = (bytes / sizeof(double) + 1) * static_cast<std::size_t>(settings.ranks);
    std::vector<double> in(room, 1.0), out(room, 0.0);
    std::vector<int> counts(static_cast<std::size_t>(settings.ranks), static_cast<int>(bytes)), displacements;
    for (int m = 0; m < settings.ranks; ++m) displacements.push_back(m * static_cast<int>(bytes));
    const coll::Blocks blocks{counts.data(), displacements.data(), 1};
    coll::Operation operation{.kind = static_cast<coll::Kind>(kind),
                              .in = in.data(),
                              .out = out.data(),
                              .bytes = bytes,
                              .fold = &fold,
                              .in_blocks = blocks,
                              .out_blocks = blocks};
    double* data = operation.kind == coll::Kind::bcast ? out.data() : in.data();
    const int iterations = settings.iterations != 0 ? settings.iterations
                           : waiting.crowded()      ? 200
                           : bytes <= 4096          ? 2000
                           : bytes <= 65536         ? 200
                                                    : 10;
    const bool has_two_ways = kCanCopyPastCaches && bytes >= Stores::kPieceLeast;
    std::vector<double> ours, past, naive, trips, turns;
    for (int block = 0; block < settings.blocks; ++block) {
      if (!is_pinned) {
        usleep(3000);  // The ranks sleep and then wake up on the core that the kernel picks, as after input or output.
        self.naive_allreduce(0);
      }
      group.stores.fix(Stores::kPast);
      const double p = has_two_ways ? self.mean(self.call_ns(operation, iterations, data)) : 0;
      group.stores.fix(Stores::kThrough);
      const double t = self.mean(self.call_ns(operation, iterations, data));
      const double s = self.mean(self.switches_each) * settings.ranks;
      const double n = self.mean(self.naive_ns(std::min(iterations * 10, 2000)));
      const double r = waiting.crowded() ? 0 : self.round_trip_ns(500);
      if (block < 3) continue;  // warm-up
      ours.push_back(t);
      past.push_back(p);
      turns.push_back(s);
      naive.push_back(n);
      trips.push_back(r);
    }
    if (rank != 0) continue;
    const Algorithm* used = tuning.pick(operation.kind, selection_bytes(operation, settings.ranks));
    std::printf(
        "%-21s %-10s %8zu B  %2d ranks  %10.1f ns   past the caches %10.1f ns   naive 8 B %8.1f ns   line round trip "
        "%6.1f ns   "
        "switches %.1f\n",
        settings.kind.c_str(), std::string(used->name).c_str(), bytes, settings.ranks, median(ours), median(past),
        median(naive), median(trips), median(turns));
    std::fflush(stdout);
  }
  return 0;
}

std::vector<std::size_t> numbers(const char* text) {
  std::vector<std::size_t> result;
  for (char* end = nullptr; *text != '\0'; text = *end == ',' ? end + 1 : end) {
    result.push_back(std::strtoul(text, &end, 10));
    if (end == text) break;
  }
  return result;
}

int bench_main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const char* value = argv[i + 1];
    if (name == "--ranks") settings.ranks = std::atoi(value);
    if (name == "--coll") settings.kind = value;
    if (name == "--algorithm") settings.algorithm = value;
    if (name == "--bytes") settings.bytes = numbers(value);
    if (name == "--blocks") settings.blocks = std::atoi(value);
    if (name == "--iterations") settings.iterations = std::atoi(value);
    if (name == "--cores") {
      settings.cores.clear();
      if (std::string_view(value) != "any")
        for (const std::size_t core : numbers(value)) settings.cores.push_back(static_cast<int>(core));
    }
  }
  if (settings.ranks < 1 || settings.ranks > kMembersMax || settings.blocks < 4 || settings.bytes.empty()) {
    std::fprintf(stderr,
                 "usage: sumac-shmbench [--ranks 2] [--cores 0,1|any] [--coll allreduce] [--algorithm flat]"
                 " [--bytes 8,64] [--blocks 41] [--iterations n]\n");
    return 2;
  }
  Shape shape;
  shape.members = settings.ranks;
  shape.group_sizes = {settings.ranks};
  auto segment = Segment::create(shape, Backing::memfd);
  if (!segment) {
    std::fprintf(stderr, "sumac-shmbench: %s\n", segment.error().context.c_str());
    return 1;
  }
  void* memory = mmap(nullptr, sizeof(Scratch), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return std::perror("sumac-shmbench: mmap"), 1;
  auto& scratch = *new (memory) Scratch{};
  std::vector<pid_t> children;
  for (int rank = 0; rank < settings.ranks; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) _exit(rank_main(settings, *segment, scratch, rank));
    children.push_back(pid);
  }
  int worst = 0;
  for (const pid_t pid : children) {
    int status = 0;
    waitpid(pid, &status, 0);
    worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  return worst;
}

}  // namespace
}  // namespace sumac::shm

int main(int argc, char** argv) { return sumac::shm::bench_main(argc, argv); }
