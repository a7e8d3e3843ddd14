#include "base/replace_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "base/test_folder.hpp"

namespace sumac {
namespace {

namespace fs = std::filesystem;

struct ReplaceFile : testing::Test {
  static std::string text_of(const std::string& file) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  std::size_t files() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {})); }
  const TestFolder own{"replace"};
  const std::string folder = own.path, path = own.file("stats.json");
};

TEST_F(ReplaceFile, makes_it_and_replaces_it_as_a_whole) {
  ASSERT_TRUE(replace_file(path, "a longer text", 0600));
  const int reader = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_TRUE(replace_file(path, "short", 0600));
  EXPECT_EQ(text_of(path), "short");
  char former[32]{};
  EXPECT_EQ(::read(reader, former, sizeof former), 13) << "who had it open reads what it was";
  ::close(reader);
  struct stat made {};
  ASSERT_EQ(::stat(path.c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0600U);
  EXPECT_EQ(files(), 1U);
}

TEST_F(ReplaceFile, what_is_no_plain_file_of_ours_stays_as_it_is) {
  const auto victim = folder + "/victim";
  std::ofstream(victim) << "precious";
  const struct {
    const char* name;
    std::function<void()> make;
    const char* says;
  } rows[] = {
      {"a link to a file", [&] { fs::create_symlink(victim, path); }, "no plain file"},
      {"a link to nothing", [&] { fs::create_symlink(folder + "/new-victim", path); }, "no plain file"},
      {"a directory", [&] { fs::create_directory(path); }, "no plain file"},
      {"a FIFO", [&] { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); }, "no plain file"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    row.make();
    const auto done = replace_file(path, "overwritten", 0600);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::denied);
    EXPECT_NE(done.error().context.find(row.says), std::string::npos) << done.error().context;
    EXPECT_EQ(text_of(victim), "precious");
    EXPECT_FALSE(fs::exists(folder + "/new-victim"));
    fs::remove(path);
  }
  if (::geteuid() != 0) GTEST_SKIP() << "only root makes a file of another user";
  std::ofstream(path) << "theirs";
  ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  const auto done = replace_file(path, "overwritten", 0600);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().context.find("a file of user 65534"), std::string::npos) << done.error().context;
  EXPECT_EQ(text_of(path), "theirs");
}

TEST_F(ReplaceFile, a_link_in_place_of_the_file_meanwhile_is_not_followed) {
  const auto victim = folder + "/victim";
  std::ofstream(victim) << "precious";
  fs::create_symlink(victim, path + ".new");
  ASSERT_TRUE(replace_file(path, "text", 0600));
  EXPECT_EQ(text_of(victim), "precious");
  EXPECT_EQ(text_of(path), "text");
}

TEST_F(ReplaceFile, no_place_for_it_is_an_error_in_words) {
  const auto done = replace_file(folder + "/none/stats.json", "text", 0600);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().context, folder + "/none/stats.json.new: No such file or directory");
}

}  // namespace
}  // namespace sumac
