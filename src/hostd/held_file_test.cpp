#include "hostd/held_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace sumac::hostd {
namespace {

struct HeldFile : testing::Test {
  std::string path = testing::TempDir() + fmt::format("sumac-held-{}", ::getpid());
  void TearDown() override { ::unlink(path.c_str()); }
  std::string text() const {
    std::ifstream file(path);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
  }
};

TEST_F(HeldFile, gives_back_what_was_saved_and_goes_with_the_last_job) {
  const Held held{5, 9, {{7, JobId{70}, {100, 1000}}, {9, JobId{90}, {200, 2000}, "a0ff"}}};
  ASSERT_TRUE(save_held(path, held));
  auto loaded = load_held(path);
  ASSERT_TRUE(loaded && *loaded) << (loaded ? "nothing" : loaded.error().context);
  EXPECT_EQ((*loaded)->life, 5u);
  EXPECT_EQ((*loaded)->last_ticket, 9u);
  EXPECT_EQ((*loaded)->jobs, held.jobs);
  ASSERT_TRUE(save_held(path, {5, 9, {}}));
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  loaded = load_held(path);
  ASSERT_TRUE(loaded);
  EXPECT_FALSE(*loaded);
  EXPECT_TRUE(save_held(path, {5, 9, {}})) << "there is nothing to remove";
}

TEST_F(HeldFile, what_the_disk_has_no_room_for_says_why_and_leaves_the_former_one) {
  const Held before{5, 9, {{7, JobId{70}, {100, 1000}}}};
  ASSERT_TRUE(save_held(path, before));
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{20, limit.rlim_max};  // The first part of the file fits this limit, the next does not.
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  errno = 0;
  const auto saved = save_held(path, {5, 10, {{8, JobId{80}, {100, 1000}}}});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  ::signal(SIGXFSZ, handler);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().context, fmt::format("{}.new: write: {}", path, std::strerror(EFBIG)));
  EXPECT_NE(::access((path + ".new").c_str(), F_OK), 0);
  const auto loaded = load_held(path);
  ASSERT_TRUE(loaded && *loaded);
  EXPECT_EQ((*loaded)->jobs, before.jobs);
}

TEST_F(HeldFile, what_is_cut_short_or_not_ours_is_refused) {
  ASSERT_TRUE(save_held(path, {5, 9, {{7, JobId{70}, {100, 1000}}, {9, JobId{90}, {200, 2000}}}}));
  const auto whole = text();
  for (std::size_t size = 0; size + 4 < whole.size(); ++size) {
    std::ofstream(path) << whole.substr(0, size);
    EXPECT_FALSE(load_held(path)) << size;
  }
  std::ofstream(path) << "sumac-held-jobs 2" << whole.substr(17);
  EXPECT_FALSE(load_held(path));
  std::ofstream(path) << whole;
  EXPECT_TRUE(load_held(path));
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  const auto open_to_all = load_held(path);
  ASSERT_FALSE(open_to_all);
  EXPECT_THAT(open_to_all.error().context,
              testing::HasSubstr("must be a plain file of our user that others cannot write"));
  ::unlink(path.c_str());
  ASSERT_EQ(::symlink("/etc/passwd", path.c_str()), 0);
  EXPECT_FALSE(load_held(path));
}

TEST_F(HeldFile, another_boot_leaves_nothing) {
  ASSERT_TRUE(save_held(path, {5, 9, {{7, JobId{70}, {100, 1000}}}}));
  auto of_another = text();
  const auto at = of_another.find("boot ") + 5;
  of_another[at] = of_another[at] == 'a' ? 'b' : 'a';
  std::ofstream(path) << of_another;
  const auto loaded = load_held(path);
  ASSERT_TRUE(loaded);
  EXPECT_FALSE(*loaded);
}

TEST_F(HeldFile, processes_are_told_apart) {
  const auto own = mark_of(::getpid()), parent = mark_of(::getppid());
  ASSERT_TRUE(own);
  EXPECT_EQ(own, mark_of(::getpid()));
  EXPECT_GT(own->started, 0u);
  EXPECT_NE(own, parent);
  EXPECT_FALSE(mark_of(0));
}

}  // namespace
}  // namespace sumac::hostd
