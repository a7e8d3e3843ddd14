#include "control/descriptors.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sumac::control {
namespace {

/// Each case runs in a process of its own, because a lowered limit cannot be raised again.
TEST(Descriptors, some_are_kept_from_strangers_whatever_the_limit) {
  const struct {
    const char* name;
    rlim_t soft, hard;
    std::size_t wanted, given;
    rlim_t soft_after;
  } rows[] = {
      {"the limit is raised as far as needed", 64, 512, 400, 400, 464},
      {"and not beyond what is legal", 64, 256, 400, 192, 256},
      {"one that is large enough stays", 512, 512, 100, 100, 512},
      {"just enough", 164, 164, 100, 100, 164},
      {"one too few", 163, 163, 100, 99, 163},
      {"a small one is shared", 64, 64, 400, 32, 64},
  };
  for (const auto& row : rows) {
    const pid_t child = ::fork();
    if (child == 0) {
      const rlimit limit{row.soft, row.hard};
      if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::_exit(1);
      if (descriptors_for_strangers(row.wanted) != row.given) ::_exit(2);
      rlimit now{};
      ::_exit(::getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur == row.soft_after ? 0 : 3);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << row.name << ": exit status " << WEXITSTATUS(status);
  }
}

}  // namespace
}  // namespace sumac::control
