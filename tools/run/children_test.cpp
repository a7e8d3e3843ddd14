// The directory of a run: what becomes of it when the run is killed.
#include "tools/run/children.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <cstdlib>
#include <filesystem>

#include "base/test_folder.hpp"

namespace sumac::tools {
namespace {

TEST(RunDirectory, removes_what_a_killed_run_has_left_and_nothing_else) {
  const TestFolder folder("run_directory");
  ::setenv("TMPDIR", folder.path.c_str(), 1);
  const auto make = [&](const std::string& name) {
    std::filesystem::create_directory(folder.path + name);
    return folder.path + name;
  };
  const auto left = make("/sumac-run-left"), kept = make("/sumac-run-kept"), others = make("/another");
  UniqueFd(::open((left + "/lock").c_str(), O_CREAT | O_RDWR, 0600));
  UniqueFd(::open((others + "/lock").c_str(), O_CREAT | O_RDWR, 0600));
  auto first = RunDirectory::make();
  ASSERT_TRUE(first) << first.error().context;
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(kept)) << "it has no lock";
  EXPECT_TRUE(std::filesystem::exists(others)) << "it is none of ours";
  {
    auto second = RunDirectory::make();
    ASSERT_TRUE(second);
    EXPECT_TRUE(std::filesystem::exists(first->path())) << "it is in use";
    second->keep();
    auto third = RunDirectory::make();
    ASSERT_TRUE(third);
    EXPECT_TRUE(std::filesystem::exists(second->path())) << "its user keeps it";
  }
  ::unsetenv("TMPDIR");
}

}  // namespace
}  // namespace sumac::tools
