// The functions of libsumac_older.so beside those of this machine's C library.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <vector>

#include "packaging/older/clock_wait.h"
#include "packaging/older/close_each.h"

namespace {

template <class Function>
Function older(const char* name) {
  static void* const library = ::dlopen(SUMAC_OLDER, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << ::dlerror();
  return reinterpret_cast<Function>(::dlvsym(library, name, "libsumac_older.so"));
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_mode == b.st_mode && a.st_size == b.st_size;
}

TEST(OlderLibc, files_are_what_the_c_library_says) {
  using Stat = int (*)(const char*, struct stat*);
  struct stat ours {};
  struct stat theirs {};
  for (const char* path : {"/proc/self/exe", "/etc/passwd", "/"}) {
    ASSERT_EQ(older<Stat>("stat")(path, &ours), 0);
    ASSERT_EQ(::stat(path, &theirs), 0);
    EXPECT_TRUE(same_file(ours, theirs)) << path;
    ASSERT_EQ(older<Stat>("lstat64")(path, &ours), 0);
    ASSERT_EQ(::lstat(path, &theirs), 0);
    EXPECT_TRUE(same_file(ours, theirs)) << path;
  }
  ASSERT_EQ((older<int (*)(int, const char*, struct stat*, int)>("fstatat")(AT_FDCWD, "/proc/self/exe", &ours,
                                                                            AT_SYMLINK_NOFOLLOW)),
            0);
  EXPECT_TRUE(S_ISLNK(ours.st_mode));
  ASSERT_EQ((older<int (*)(int, struct stat*)>("fstat")(STDIN_FILENO, &ours)), 0);
  errno = 0;
  EXPECT_EQ(older<Stat>("stat")("/nonexistent", &ours), -1);
  EXPECT_EQ(errno, ENOENT);
}

TEST(OlderLibc, words_of_errors) {
  const auto text = older<const char* (*)(int)>("strerrordesc_np");
  EXPECT_STREQ(text(EAGAIN), ::strerrordesc_np(EAGAIN));
  EXPECT_EQ(text(123456), nullptr);
}

TEST(OlderLibc, a_closed_range_and_the_number_of_a_thread) {
  const int file = ::dup(STDERR_FILENO);
  ASSERT_GT(file, 2);
  const auto number = static_cast<unsigned>(file);
  EXPECT_EQ((older<int (*)(unsigned, unsigned, int)>("close_range")(number, number, 0)), 0);
  EXPECT_EQ(::fcntl(file, F_GETFD), -1);
  EXPECT_EQ(older<pid_t (*)()>("gettid")(), ::gettid());
}

TEST(OlderLibc, each_descriptor_of_a_range_is_closed_alone) {
  std::vector<int> files;
  for (int i = 0; i < 100; ++i)
    files.push_back(::fcntl(STDERR_FILENO, F_DUPFD, 500 + 3 * i));  // more than one read of the folder lists
  EXPECT_EQ(close_each(503, 700), 0);
  for (int i = 0; i < 100; ++i) {
    const int number = 500 + 3 * i;
    ASSERT_EQ(files[static_cast<std::size_t>(i)], number);
    EXPECT_EQ(::fcntl(number, F_GETFD) == -1, number >= 503 && number <= 700) << number;
    ::close(number);
  }
}

TEST(OlderLibc, random_numbers_differ) {
  std::set<unsigned> seen;
  for (int i = 0; i < 20; ++i) seen.insert(older<unsigned (*)()>("arc4random")());
  EXPECT_GT(seen.size(), 15U);
}

TEST(OlderLibc, several_threads_are_always_possible) { EXPECT_EQ(*older<const char*>("__libc_single_threaded"), 0); }

int calls = 0;

/// Stands for a wait whose real-time clock somebody set forward: it ends too early three times.
int too_early(pthread_cond_t*, pthread_mutex_t*, const timespec*) { return ++calls < 4 ? ETIMEDOUT : 0; }

TEST(OlderLibc, a_wait_that_ended_too_early_is_repeated) {
  timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += 3600;
  calls = 0;
  EXPECT_EQ(clock_wait(too_early, nullptr, nullptr, CLOCK_MONOTONIC, &until), 0);
  EXPECT_EQ(calls, 4);
  calls = 0;
  EXPECT_EQ(clock_wait(too_early, nullptr, nullptr, CLOCK_REALTIME, &until), ETIMEDOUT);
  EXPECT_EQ(calls, 1);
}

TEST(OlderLibc, a_wait_ends_at_its_moment) {
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  ::pthread_mutex_lock(&mutex);
  timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  EXPECT_EQ(clock_wait(::pthread_cond_timedwait, &condition, &mutex, CLOCK_MONOTONIC, &until), ETIMEDOUT);
  until.tv_nsec += until.tv_nsec < 900'000'000 ? 10'000'000 : 0;
  const auto wait =
      older<int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>("pthread_cond_clockwait");
  EXPECT_EQ(wait(&condition, &mutex, CLOCK_MONOTONIC, &until), ETIMEDOUT);
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  EXPECT_TRUE(now.tv_sec > until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec));
  ::pthread_mutex_unlock(&mutex);
}

}  // namespace
