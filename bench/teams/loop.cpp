// Two ranks on this host, as processes, call the Teams API alone. Prints a line for each case: its name and the nanoseconds of
// one call. The library is the libucc.so.1 that the loader finds, so the same program times any.
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucc/api/ucc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bindings/ucc/test_oob.hpp"

namespace {

using sumac::ucc::test::OobMember;
using sumac::ucc::test::SharedOob;

constexpr int kRanks = 2;

void must(ucc_status_t status, const char* what) {
  if (status == UCC_OK) return;
  std::fprintf(stderr, "teams-loop: %s: %s\n", what, ucc_status_string(status));
  std::exit(1);
}

double now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

struct Case {
  const char* name;
  ucc_coll_type_t type;
  std::size_t bytes;
  int calls;
};

void call(const Case& which, ucc_context_h context, ucc_team_h team, char* in, char* out, bool posts) {
  ucc_coll_args_t args;
  args.mask = 0;
  args.coll_type = which.type;
  args.root = 0;
  args.op = UCC_OP_SUM;
  const std::size_t count = which.bytes / sizeof(float);
  args.src.info = {in, count, UCC_DT_FLOAT32, UCC_MEMORY_TYPE_HOST};
  args.dst.info = {out, count, UCC_DT_FLOAT32, UCC_MEMORY_TYPE_HOST};
  ucc_coll_req_h request = nullptr;
  must(ucc_collective_init(&args, &request, team), which.name);
  if (posts) {
    must(ucc_collective_post(request), which.name);
    while (ucc_collective_test(request) == UCC_INPROGRESS) (void)ucc_context_progress(context);
    must(ucc_collective_test(request), which.name);
  }
  must(ucc_collective_finalize(request), which.name);
}

/// The median of some runs of many calls, in nanoseconds of one.
double timed(const Case& which, ucc_context_h context, ucc_team_h team, char* in, char* out, bool posts) {
  std::vector<double> times;
  for (int run = 0; run < 11; ++run) {
    const double began = now_ns();
    for (int i = 0; i < which.calls; ++i) call(which, context, team, in, out, posts);
    times.push_back((now_ns() - began) / which.calls);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

int run(int rank, SharedOob* shared) {
  const ucc_lib_params_t params{.mask = UCC_LIB_PARAM_FIELD_THREAD_MODE, .thread_mode = UCC_THREAD_SINGLE};
  ucc_lib_config_h config = nullptr;
  must(ucc_lib_config_read(nullptr, nullptr, &config), "ucc_lib_config_read");
  ucc_lib_h library = nullptr;
  must(ucc_init(&params, config, &library), "ucc_init");
  ucc_context_config_h of_context = nullptr;
  must(ucc_context_config_read(library, nullptr, &of_context), "ucc_context_config_read");
  OobMember member{shared, rank, kRanks};
  ucc_context_params_t context_params{};
  context_params.mask = UCC_CONTEXT_PARAM_FIELD_OOB;
  context_params.oob = member.params();
  ucc_context_h context = nullptr;
  must(ucc_context_create(library, &context_params, of_context, &context), "ucc_context_create");
  ucc_team_params_t team_params{};
  team_params.mask = UCC_TEAM_PARAM_FIELD_OOB | UCC_TEAM_PARAM_FIELD_EP | UCC_TEAM_PARAM_FIELD_EP_RANGE;
  team_params.oob = context_params.oob;
  team_params.ep = static_cast<std::uint64_t>(rank);
  ucc_team_h team = nullptr;
  must(ucc_team_create_post(&context, 1, &team_params, &team), "ucc_team_create_post");
  ucc_status_t status = UCC_INPROGRESS;
  while ((status = ucc_team_create_test(team)) == UCC_INPROGRESS) (void)ucc_context_progress(context);
  must(status, "ucc_team_create_test");

  constexpr Case kCases[] = {
      {"allreduce-8B", UCC_COLL_TYPE_ALLREDUCE, 8, 20000},
      {"allreduce-1KiB", UCC_COLL_TYPE_ALLREDUCE, 1 << 10, 10000},
      {"allreduce-64KiB", UCC_COLL_TYPE_ALLREDUCE, 1 << 16, 500},
      {"allreduce-1MiB", UCC_COLL_TYPE_ALLREDUCE, 1 << 20, 40},
      {"bcast-8B", UCC_COLL_TYPE_BCAST, 8, 20000},
      {"bcast-1KiB", UCC_COLL_TYPE_BCAST, 1 << 10, 10000},
      {"bcast-64KiB", UCC_COLL_TYPE_BCAST, 1 << 16, 500},
      {"bcast-1MiB", UCC_COLL_TYPE_BCAST, 1 << 20, 40},
      {"barrier", UCC_COLL_TYPE_BARRIER, 0, 20000},
      {"alltoall-1KiB", UCC_COLL_TYPE_ALLTOALL, 1 << 10, 10000},
      {"alltoall-64KiB", UCC_COLL_TYPE_ALLTOALL, 1 << 16, 500},
  };
  std::vector<char> in(1 << 20), out(1 << 20);
  for (const Case& one : kCases) {
    const double each = timed(one, context, team, in.data(), out.data(), true);
    if (rank == 0) std::printf("%s %.1f\n", one.name, each);
  }
  const double alone =
      timed({"init-finalize", UCC_COLL_TYPE_ALLREDUCE, 8, 20000}, context, team, in.data(), out.data(), false);
  if (rank == 0) std::printf("init-finalize %.1f\n", alone);
  while (ucc_team_destroy(team) == UCC_INPROGRESS) (void)ucc_context_progress(context);
  must(ucc_context_destroy(context), "ucc_context_destroy");
  ucc_context_config_release(of_context);
  ucc_lib_config_release(config);
  must(ucc_finalize(library), "ucc_finalize");
  return 0;
}

}  // namespace

int main() {
  void* const memory = ::mmap(nullptr, sizeof(SharedOob), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  auto* const shared = static_cast<SharedOob*>(memory);
  const pid_t other = ::fork();
  if (other < 0) return 1;
  const int mine = run(other == 0 ? 1 : 0, shared);
  if (other == 0) return mine;
  int status = 1;
  ::waitpid(other, &status, 0);
  return mine != 0 || status != 0 ? 1 : 0;
}
