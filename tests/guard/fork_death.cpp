// Runs jobs of three ranks, one after the other: rank 1 has children and is killed; the program measures the time until
// the others' operation ends with an error. Usage: fork-death SHARPD-SOCKET COUNT. It prints a line for each job: the
// kind of children, and the milliseconds, or "none" for a job in which a survivor had no error that names rank 1.
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <thread>

#include "client/world/test_ranks.hpp"
#include "client/world/test_sleepers.hpp"

namespace sumac::client::test {
namespace {

using Clock = std::chrono::steady_clock;

/// The times are in memory that all ranks share.
struct Times {
  std::atomic<std::int64_t> death_ns{0}, heard_ns{0};  ///< heard: the time at which the last survivor got the error.
  std::atomic<int> heard{0};
};

std::int64_t now_ns() { return Clock::now().time_since_epoch().count(); }

struct Kind {
  const char* name;
  void (*children)(const Sleepers& sleepers);
};
constexpr Kind kKinds[] = {
    {"fork", [](const Sleepers& s) { s.fork_one(); }},
    {"clone", [](const Sleepers& s) { s.clone_one(); }},
    {"child-of-child", [](const Sleepers& s) { s.fork_one(2); }},
    {"of-a-thread", [](const Sleepers& s) { std::thread([&] { s.fork_one(); }).join(); }},
    {"several",
     [](const Sleepers& s) {
       for (int i = 0; i < 4; ++i) s.fork_one();
       s.clone_one();
     }},
};

void live(Rank& rank, std::uint64_t job, const Kind& kind, const Sleepers& sleepers, Times& times) {
  auto* context = rank.init(job);
  auto* comm = rank.comm(context);
  RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
  if (rank.rank == 1) kind.children(sleepers);
  rank.barrier();
  if (rank.rank == 1) {
    times.death_ns = now_ns();
    ::raise(SIGKILL);
  }
  RANK_EQUAL(sharp_coll_do_barrier(comm), SHARP_COLL_ERROR);
  std::int64_t heard = times.heard_ns.load();
  for (const auto now = now_ns(); heard < now && !times.heard_ns.compare_exchange_weak(heard, now);) {
  }
  char text[256];
  RANK_EQUAL(sumac_comm_error(comm, text, sizeof text), SHARP_COLL_ERROR);
  if (std::strstr(text, "rank 1") == nullptr) std::fprintf(stderr, "rank %d reads: %s\n", rank.rank, text);
  RANK_CHECK(std::strstr(text, "rank 1") != nullptr);
  ++times.heard;
  RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
  RANK_EQUAL(sharp_coll_finalize(context), 0);
}

int run(const char* socket, int count) {
  void* memory = ::mmap(nullptr, sizeof(Times), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return std::perror("mmap"), 1;
  for (int i = 0; i < count; ++i) {
    auto& times = *new (memory) Times;
    const Kind& kind = kKinds[static_cast<std::size_t>(i) % std::size(kKinds)];
    const Sleepers sleepers;
    const auto job = new_job_id();
    RanksConfig config;
    config.size = 3;
    config.sockets = {socket};
    config.limit = std::chrono::seconds(20);
    const auto ended = run_ranks(config, [&](Rank& rank) { live(rank, job, kind, sleepers, times); });
    if (times.heard == 2 && ended[0].status == 0 && ended[2].status == 0)
      std::printf("%s %.3f\n", kind.name, static_cast<double>(times.heard_ns - times.death_ns) / 1e6);
    else
      std::printf("%s none\n%s\n%s\n", kind.name, ended[0].err.c_str(), ended[2].err.c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace sumac::client::test

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: fork-death SHARPD-SOCKET COUNT\n"), 2;
  return sumac::client::test::run(argv[1], std::atoi(argv[2]));
}
