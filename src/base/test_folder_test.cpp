#include "base/test_folder.hpp"

#include <gtest/gtest.h>

namespace sumac {
namespace {

TEST(TestFolder, goes_with_all_that_is_in_it_also_when_the_test_throws) {
  std::string path;
  try {
    const TestFolder folder("folder");
    path = folder.path;
    EXPECT_TRUE(std::filesystem::is_regular_file(folder.write("below/file", "text")));
    throw std::runtime_error("the test fails");
  } catch (const std::runtime_error&) {
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_NE(path, "");
}

TEST(TestFolder, a_parent_that_does_not_exist_is_an_exception_with_its_name) {
  try {
    const TestFolder folder("folder", "/nonexistent");
    FAIL() << folder.path;
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code().value(), ENOENT);
    EXPECT_NE(std::string(error.what()).find("/nonexistent/sumac-folder-"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace sumac
