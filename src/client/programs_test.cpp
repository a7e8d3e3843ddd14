// Whole programs through real daemons: the example of the documentation, and an MPI program that hangs if a wait does
// not drive its MPI.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "client/world/test_daemons.hpp"

namespace sumac::client::test {
namespace {

struct Run {
  int status = 0;
  std::string text;
};

/// The command is ended after a minute, with all that it started (mpirun passes SIGTERM on).
Run run(const std::string& command) {
  Run result;
  FILE* pipe = ::popen(("timeout --kill-after=5 60 " + command + " 2>&1").c_str(), "r");
  char part[512];
  while (std::fgets(part, sizeof part, pipe) != nullptr) result.text += part;
  const int status = ::pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

TEST(Programs, TheExampleAddsUpExactly) {
  const Daemons daemons({.leaves = {"leaf1"}});
  ::setenv("SHARP_COLL_SHARPD_SOCKET_NAME", daemons.socket_of(0).c_str(), 1);
  for (const char* arguments : {"", "1 1", "3 100000"}) {
    const auto ended = run(std::string(SUMAC_BINARY_DIR "/bin/example-allreduce ") + arguments);
    EXPECT_EQ(ended.status, 0) << ended.text << daemons.log();
    EXPECT_THAT(ended.text, testing::HasSubstr("all sums exact"));
  }
  EXPECT_EQ(run(SUMAC_BINARY_DIR "/bin/example-allreduce 0").status, 2);
}

TEST(Programs, TheExampleWithoutDaemonsSaysWhatIsMissing) {
  ::setenv("SHARP_COLL_SHARPD_SOCKET_NAME", "/nonexistent/sharpd.sock", 1);
  const auto ended = run(SUMAC_BINARY_DIR "/bin/example-allreduce");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.text, testing::HasSubstr("start sharpd on this host, or use `sumac run`"));
}

TEST(Programs, ABarrierDrivesTheCallersIsend) {
  const Daemons daemons({.leaves = {"leaf1"}});
  ::setenv("SHARP_COLL_SHARPD_SOCKET_NAME", daemons.socket_of(0).c_str(), 1);
  const auto ended =
      run("mpirun --allow-run-as-root --oversubscribe -n 2 --mca btl tcp,self --mca pml ob1 --mca coll ^hcoll "
          "--mca mpi_yield_when_idle 1 " SUMAC_BINARY_DIR "/tests/isend-barrier");
  EXPECT_EQ(ended.status, 0) << ended.text << daemons.log();
  EXPECT_THAT(ended.text, testing::HasSubstr("5 rounds went through"));
}

}  // namespace
}  // namespace sumac::client::test
