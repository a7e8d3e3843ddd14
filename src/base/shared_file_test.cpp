#include "base/shared_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace sumac {
namespace {

constexpr std::uint64_t kBytes = 4096;

TEST(SharedFile, only_memory_that_a_process_of_this_user_shares_is_opened) {
  const std::string mark = std::to_string(::getpid()), prefix = "sumac-test-" + mark + "-";
  const auto named = [&](const std::string& path, off_t bytes) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    EXPECT_TRUE(fd && ::ftruncate(fd.get(), bytes) == 0) << path;
    return fd;
  };
  const UniqueFd memfd(::memfd_create("x", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(memfd.get(), kBytes), 0);
  const auto of = [&](int fd) { return "/proc/" + mark + "/fd/" + std::to_string(fd); };
  const std::string good = "/dev/shm/" + prefix + "1", other = "/dev/shm/other-" + mark,
                    link = "/dev/shm/" + prefix + "2", twin = "/dev/shm/" + prefix + "3",
                    small = "/dev/shm/" + prefix + "4", foreign = "/dev/shm/" + prefix + "5";
  const auto file = named(good, kBytes), secret = named(other, kBytes), less = named(small, kBytes - 1),
             theirs = named(foreign, kBytes);
  ASSERT_EQ(::symlink(other.c_str(), link.c_str()), 0);
  const bool is_root = ::geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(::fchown(theirs.get(), 65534, 65534), 0);
  }
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  EXPECT_TRUE(open_shared(of(memfd.get()), prefix, kBytes));
  EXPECT_TRUE(open_shared(good, prefix, kBytes));
  const struct {
    const char* name;
    std::string path;
  } rows[] = {{"another file of ours", other},
              {"another file of ours that some process has open", of(secret.get())},
              {"a link to it", link},
              {"a pipe", of(ends[1])},
              {"another size", small},
              {"a path that goes on", "/dev/shm/" + prefix + "1/../other-" + mark},
              {"no number", "/proc/self/fd/" + std::to_string(memfd.get())},
              {"a descriptor's own files", of(memfd.get()) + "/x"},
              {"nothing", ""}};
  for (const auto& row : rows) EXPECT_FALSE(open_shared(row.path, prefix, kBytes)) << row.name;
  if (is_root) {
    EXPECT_FALSE(open_shared(foreign, prefix, kBytes)) << "a file of another user";
  }
  ASSERT_EQ(::link(good.c_str(), twin.c_str()), 0);
  EXPECT_FALSE(open_shared(good, prefix, kBytes)) << "a file with a second name";
  for (const auto& path : {good, other, link, twin, small, foreign}) ::unlink(path.c_str());
  for (const int end : ends) ::close(end);
}

TEST(SharedFile, a_complaint_is_the_same_for_each_of_a_thousand_communicators) {
  const auto complaint = [](const std::string& path) { return open_shared(path, "sumac-none-", 1).error().context; };
  EXPECT_EQ(complaint("/dev/shm/sumac-none-1"), complaint("/dev/shm/sumac-none-2"));
  EXPECT_EQ(complaint("/proc/999999999/fd/1"), complaint("/proc/999999999/fd/2"));
}

/// The kernel would end the process by SIGXFSZ.
TEST(SharedFile, a_size_beyond_the_limit_of_the_process_is_an_error) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit small{4096, 4096};
    const UniqueFd memfd(::memfd_create("x", MFD_CLOEXEC));
    if (::setrlimit(RLIMIT_FSIZE, &small) != 0) ::_exit(1);
    for (const auto pages : {Pages::when_touched, Pages::now}) {
      if (size_shared(memfd.get(), 4097, pages) != EFBIG) ::_exit(2);
      if (size_shared(memfd.get(), 4096, pages) != 0) ::_exit(3);
    }
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace sumac
