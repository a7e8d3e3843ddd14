#pragma once
// For tests: children of a rank, with a copy of all its resources, that live on when it is killed.
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace sumac::client::test {

/// Children that outlive their rank, until the test ends them by closing a pipe.
class Sleepers {
 public:
  Sleepers() {
    if (::pipe(ends_) != 0) std::abort();
  }
  ~Sleepers() { ::close(ends_[0]), ::close(ends_[1]); }
  Sleepers(const Sleepers&) = delete;
  Sleepers& operator=(const Sleepers&) = delete;

  /// Called in a rank, and in a child.
  void fork_one(unsigned generations = 1) const {
    if (::fork() != 0) return;
    if (generations > 1) fork_one(generations - 1);
    ::close(ends_[1]);
    char end;
    while (::read(ends_[0], &end, 1) != 0) {
    }
    ::_exit(0);
  }

  /// Forks by the plain system call, which no library notices.
  void clone_one() const {
    if (::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr) != 0) return;
    ::syscall(SYS_close, ends_[1]);
    char end;
    while (::syscall(SYS_read, ends_[0], &end, 1) != 0) {
    }
    ::syscall(SYS_exit_group, 0);
  }

 private:
  int ends_[2] = {-1, -1};
};

}  // namespace sumac::client::test
