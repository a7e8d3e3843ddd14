#pragma once
// Ranks as processes, on hosts that are letters: a process with a host name of its own, in its own UTS namespace, shares no memory with
// those of another name.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace sumac::rank::test {

inline constexpr int kCannot = 77;  ///< The exit status of a process that can't have a host name.

/// Starts a rank for each letter. It ends with status 1 if an expectation of it failed.
inline std::vector<pid_t> start_on_hosts(const std::string& hosts, const std::function<void(int rank)>& body) {
  std::vector<pid_t> started;
  for (int rank = 0; rank < static_cast<int>(hosts.size()); ++rank) {
    const pid_t child = ::fork();
    if (child > 0) {
      started.push_back(child);
      continue;
    }
    const std::string name = std::string("host-") + hosts[static_cast<std::size_t>(rank)];
    if (hosts.find_first_not_of(hosts[0]) != std::string::npos &&
        (::unshare(CLONE_NEWUTS) != 0 || ::sethostname(name.c_str(), name.size()) != 0))
      ::_exit(kCannot);
    body(rank);
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  return started;
}

/// Asks for a tree by daemons of the job's own, of an installation if SUMAC_HOME names one, else of the build. Returns false where there
/// are none.
inline bool ask_for_a_tree(const char* build) {
  ::setenv("HCOLL_ENABLE_SHARP", "3", 1);
  ::setenv("HCOLL_SHARP_NP", "2", 1);
  ::setenv("SUMAC_HOME", build, 0);
  return ::access((std::string(::getenv("SUMAC_HOME")) + "/bin/sumac").c_str(), X_OK) == 0;
}

/// Waits for all of them. Each must have ended with its status of waitpid(), or 0 behind their end.
inline void await_ranks(const std::vector<pid_t>& started, std::vector<int> ends = {}) {
  bool is_skipped = false;
  ends.resize(started.size());
  for (std::size_t rank = 0; rank < started.size(); ++rank) {
    int status = -1;
    EXPECT_EQ(::waitpid(started[rank], &status, 0), started[rank]);
    is_skipped = is_skipped || (WIFEXITED(status) && WEXITSTATUS(status) == kCannot);
    if (!is_skipped) {
      EXPECT_EQ(status, ends[rank]) << "rank " << rank << " has failed";
    }
  }
  if (is_skipped) GTEST_SKIP() << "a UTS namespace needs root";
}

}  // namespace sumac::rank::test
