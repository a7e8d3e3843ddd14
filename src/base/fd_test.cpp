#include "base/fd.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace sumac {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(UniqueFd, ClosesOnceAndMoves) {
  int raw;
  {
    UniqueFd fd(::open("/dev/null", O_RDONLY));
    raw = fd.get();
    ASSERT_TRUE(is_open(raw));
    UniqueFd moved(std::move(fd));
    EXPECT_FALSE(fd);  // NOLINT: looking at a moved-from descriptor is the point
    EXPECT_TRUE(is_open(raw));
    UniqueFd other(::open("/dev/null", O_RDONLY));
    const int second = other.get();
    other = std::move(moved);
    EXPECT_FALSE(is_open(second));
    EXPECT_EQ(other.get(), raw);
  }
  EXPECT_FALSE(is_open(raw));
}

TEST(UniqueFd, ReleaseGivesItAwayAndErrnoSurvivesClose) {
  UniqueFd fd(::open("/dev/null", O_RDONLY));
  const int raw = fd.release();
  fd.reset();
  EXPECT_TRUE(is_open(raw));
  errno = ENOENT;
  { UniqueFd bad(1 << 20); }  // The descriptor is not open, so close() sets EBADF.
  EXPECT_EQ(errno, ENOENT);
  UniqueFd again(raw);
}

}  // namespace
}  // namespace sumac
