// Runs the jobs whose cost handshake_cost.py measures. Only the public interface is used, so that the library of an
// older build serves as well.
//   handshake-cost SOCKET operations COUNT BYTES   two ranks, COUNT allreduces; prints "rank 0 pid N"
//   handshake-cost SOCKET communicators COUNT      a lone rank; prints the ns of each sharp_coll_comm_init
#include <unistd.h>

#include <time.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include "client/world/test_ranks.hpp"

namespace sumac::client::test {
namespace {

/// The time that a rank waits before an operation: rank 0 until the node sleeps, rank 1 until both do. So each message
/// wakes its receiver, however slow a tool makes either, and no receiver finds one without having slept.
constexpr timespec kLate[] = {{0, 1'000'000}, {0, 2'500'000}};

void add_up(Rank& rank, int count, std::size_t bytes) {
  auto* context = rank.init(new_job_id());
  auto* comm = rank.comm(context);
  const std::size_t elements = bytes / sizeof(float);
  std::vector<float> in(elements, static_cast<float>(rank.rank + 1)), out(elements);
  sharp_coll_reduce_spec spec{};
  spec.sbuf_desc.buffer = {in.data(), bytes, nullptr};
  spec.rbuf_desc.buffer = {out.data(), bytes, nullptr};
  spec.dtype = SHARP_DTYPE_FLOAT;
  spec.tag_dtype = SHARP_DTYPE_NULL;
  spec.length = elements;
  spec.op = SHARP_OP_SUM;
  for (int i = 0; i < count; ++i) {
    ::nanosleep(&kLate[rank.rank], nullptr);
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
    RANK_CHECK(out.front() == 3 && out.back() == 3);
  }
  if (rank.rank == 0) std::printf("rank 0 pid %d\n", static_cast<int>(::getpid()));
  std::fflush(stdout);
  RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
  RANK_EQUAL(sharp_coll_finalize(context), 0);
}

void make_communicators(Rank& rank, int count) {
  auto* context = rank.init(new_job_id());
  for (int i = 0; i < count; ++i) {
    const auto start = std::chrono::steady_clock::now();
    auto* comm = rank.comm(context);
    const auto took = std::chrono::steady_clock::now() - start;
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    std::printf("%lld\n", static_cast<long long>(std::chrono::nanoseconds(took).count()));
  }
  std::fflush(stdout);
  RANK_EQUAL(sharp_coll_finalize(context), 0);
}

}  // namespace
}  // namespace sumac::client::test

int main(int argc, char** argv) {
  using namespace sumac::client::test;
  const bool adds = argc == 5 && std::strcmp(argv[2], "operations") == 0;
  if (!adds && (argc != 4 || std::strcmp(argv[2], "communicators") != 0)) {
    std::fprintf(stderr, "usage: %s SOCKET operations COUNT BYTES | SOCKET communicators COUNT\n", argv[0]);
    return 2;
  }
  const int count = std::atoi(argv[3]);
  RanksConfig config{adds ? 2 : 1, {argv[1]}, {}, std::chrono::seconds(300)};
  const auto ended = run_ranks(config, [&](Rank& rank) {
    if (adds)
      add_up(rank, count, static_cast<std::size_t>(std::atoll(argv[4])));
    else
      make_communicators(rank, count);
  });
  int failed = 0;
  for (const auto& rank : ended) {
    std::fputs(rank.err.c_str(), stderr);
    if (rank.status != 0) std::fprintf(stderr, "a rank ended with %d\n", failed = rank.status);
  }
  std::fputs(ended.front().out.c_str(), stdout);
  return failed;
}
