#include "machine/memory_host.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sumac::machine {
namespace {

/// The status of a child that runs `body`.
template <class Body>
int in_child(Body body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(MemoryHost, IsTheSameInAnotherProcess) {
  const std::uint64_t mine = memory_host();
  EXPECT_EQ(in_child([&] { return memory_host() == mine ? 0 : 1; }), 0);
}

TEST(MemoryHost, DiffersUnderAnotherHostName) {
  constexpr int kRefused = 77;
  const std::uint64_t mine = memory_host();
  const int status = in_child([&] {
    const int flags = CLONE_NEWUTS | (::geteuid() == 0 ? 0 : CLONE_NEWUSER);
    if (::unshare(flags) != 0 || ::sethostname("elsewhere", 9) != 0) return kRefused;
    return memory_host() != mine ? 0 : 1;
  });
  if (status == kRefused) GTEST_SKIP() << "this system refuses a UTS namespace";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace sumac::machine
