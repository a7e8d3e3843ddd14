#include "base/private_fd.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace sumac {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }
PrivateFd open_null() {
  return PrivateFd::from([] { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); });
}

/// Returns the result of `body`, run in a forked child.
template <class F>
bool in_child(F&& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

TEST(PrivateFd, ClosesOnceAndMoves) {
  int raw;
  {
    PrivateFd fd = open_null();
    raw = fd.get();
    ASSERT_TRUE(is_open(raw));
    PrivateFd moved(std::move(fd));
    EXPECT_FALSE(fd);  // NOLINT: looking at a moved-from descriptor is the point
    PrivateFd other = open_null();
    const int second = other.get();
    other = std::move(moved);
    EXPECT_FALSE(is_open(second));
    EXPECT_EQ(other.get(), raw);
  }
  EXPECT_FALSE(is_open(raw));
  const PrivateFd refused = PrivateFd::from([] { return -1; });
  EXPECT_FALSE(refused);
}

TEST(PrivateFd, IsClosedInAChildAndOpenInItsParent) {
  PrivateFd first = open_null(), moved_from = open_null(), last = open_null();
  const PrivateFd moved = std::move(moved_from);
  last.reset();
  const int numbers[] = {first.get(), moved.get()};
  EXPECT_TRUE(in_child([&] {
    if (first || moved || is_open(numbers[0]) || is_open(numbers[1])) return false;
    // The child's next descriptor gets the same number, and the copied owner in the child's memory must not close it.
    const int raw = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    first.reset();
    return is_open(raw);
  }));
  EXPECT_TRUE(is_open(first.get()));
  EXPECT_TRUE(is_open(moved.get()));
}

TEST(PrivateFd, APeerSeesTheEndWhileAChildLives) {
  int pair[2], hold[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  ASSERT_EQ(::pipe(hold), 0);
  PrivateFd ours = PrivateFd::from([&] { return pair[0]; });
  const pid_t child = ::fork();
  if (child == 0) {
    char end;
    ::close(hold[1]);
    ::_exit(::read(hold[0], &end, 1) == 0 ? 0 : 1);  // The child lives until the parent has finished its checks.
  }
  char byte = 'x';
  ASSERT_EQ(::send(ours.get(), &byte, 1, 0), 1) << "the child's closing took nothing from the parent";
  ASSERT_EQ(::recv(pair[1], &byte, 1, 0), 1);
  ours.reset();
  pollfd ended{pair[1], POLLIN, 0};  // The child closes its copy as soon as it runs.
  EXPECT_EQ(::poll(&ended, 1, 20'000), 1);
  EXPECT_EQ(::recv(pair[1], &byte, 1, MSG_DONTWAIT), 0) << "end of stream";
  ::close(pair[1]), ::close(hold[0]), ::close(hold[1]);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(PrivateFd, AChildHasItsOwnAndItsChildrenHaveNone) {
  const PrivateFd ours = open_null();
  EXPECT_TRUE(in_child([&] {
    const PrivateFd own = open_null();
    return own && !ours && in_child([&] { return !own; });
  }));
}

TEST(PrivateFd, ForksWhileThreadsOpenAndCloseLeakNothing) {
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!is_over.load(std::memory_order_relaxed)) {
        PrivateFd fd = PrivateFd::from([] { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); });
        const auto kept = std::make_unique<PrivateFd>(std::move(fd));
      }
    });
  for (int i = 0; i < 30; ++i)
    EXPECT_TRUE(in_child([] {
      for (int fd = 3; fd < 64; ++fd) {
        int type = 0;
        socklen_t length = sizeof type;
        if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0)
          return false;  // A socket here means that one was inherited.
      }
      return true;
    }));
  is_over = true;
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace sumac
