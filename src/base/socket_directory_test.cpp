#include "base/socket_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/fd.hpp"
#include "base/test_folder.hpp"

namespace sumac {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr uid_t kOther = 65534;

struct Ground : TestFolder {
  Ground() : TestFolder("socket-directory") {}
  /// Makes one directory: given "a/b", the directory b inside a.
  void make(const std::string& name, mode_t mode, uid_t owner = ::geteuid()) const {
    const auto full = path + "/" + name;
    EXPECT_TRUE(::mkdir(full.c_str(), 0700) == 0 || errno == EEXIST);
    EXPECT_EQ(::chmod(full.c_str(), mode), 0);
    if (owner != ::geteuid()) {
      EXPECT_EQ(::chown(full.c_str(), owner, owner), 0);
    }
  }
};

struct Step {
  const char* name;
  mode_t mode;
  bool others = false;
};

TEST(SocketDirectory, is_its_daemons_alone) {
  const struct {
    const char* name;
    std::vector<Step> made;
    const char* says;  ///< The expected error; null if the path is good.
  } rows[] = {
      {"a directory of its own", {{"d", 0700}}, nullptr},
      {"others may read it", {{"d", 0755}}, nullptr},
      {"its group may write it", {{"d", 0770}}, "others may write directory"},
      {"everybody may write it", {{"d", 0777}}, "others may write directory"},
      {"everybody may write it, with a sticky bit", {{"d", 01777}}, "others may write directory"},
      {"somebody else's", {{"d", 0755, true}}, "belongs to user 65534"},
      {"its own below somebody else's", {{"e", 0755}, {"e/d", 0700}, {"e", 0755, true}}, "user 65534 could replace"},
      {"its own below what everybody may write", {{"e", 0755}, {"e/d", 0700}, {"e", 0777}}, "others could replace"},
      {"its own below a sticky one", {{"e", 0755}, {"e/d", 0700}, {"e", 01777}}, nullptr},
      {"not there", {}, "No such file"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Ground ground;
    bool possible = true;
    std::string last = "d";
    for (const auto& step : row.made) {
      if (step.others && ::geteuid() != 0) possible = false;
      if (possible) ground.make(step.name, step.mode, step.others ? kOther : ::geteuid());
      if (std::string_view(step.name).ends_with("/d")) last = step.name;
    }
    if (!possible) continue;
    const auto path = own_socket_path(ground.path + "/" + last + "/am.sock");
    EXPECT_EQ(path.has_value(), row.says == nullptr) << (path ? *path : path.error().context);
    if (row.says != nullptr && !path) {
      EXPECT_THAT(path.error().context, HasSubstr(row.says));
    }
  }
}

TEST(SocketDirectory, a_link_to_it_is_resolved) {
  const Ground ground;
  ground.make("d", 0700);
  ground.make("open", 0777);
  fs::create_directory_symlink(ground.path + "/d", ground.path + "/good");
  fs::create_directory_symlink(ground.path + "/open", ground.path + "/bad");
  EXPECT_EQ(own_socket_path(ground.path + "/good/am.sock").value(), ground.path + "/d/am.sock");
  EXPECT_FALSE(own_socket_path(ground.path + "/bad/am.sock"));
}

TEST(SocketDirectory, a_client_believes_root_itself_and_who_has_the_directory_from_root) {
  const Ground ground;
  ground.make("d", 0755);
  const auto path = ground.path + "/d/am.sock";
  EXPECT_TRUE(check_listener(path, 0));
  EXPECT_TRUE(check_listener(path, ::geteuid()));
  const auto stranger = check_listener(path, kOther);
  ASSERT_FALSE(stranger);
  EXPECT_THAT(stranger.error().context, HasSubstr("user 65534 listens at " + path));
  if (::geteuid() != 0) return;
  ground.make("d", 0755, kOther);
  EXPECT_THAT(check_listener(path, kOther).error().context, HasSubstr("/tmp, above it, is not root's alone"));

  // /run belongs to root alone; a service usually has its directory /run/NAME, which belongs to the daemon's user.
  if (::access("/run", W_OK) != 0) GTEST_SKIP() << "no /run to write";
  const TestFolder below_run("socket-directory", "/run");
  const std::string& run = below_run.path;
  EXPECT_EQ(::chmod(run.c_str(), 0755), 0);
  EXPECT_FALSE(check_listener(run + "/am.sock", kOther)) << "the directory is not that user's";
  EXPECT_EQ(::chown(run.c_str(), kOther, kOther), 0);
  EXPECT_TRUE(check_listener(run + "/am.sock", kOther));
  EXPECT_FALSE(check_listener(run + "/am.sock", kOther - 1));
  EXPECT_EQ(::chmod(run.c_str(), 0777), 0);
  EXPECT_FALSE(check_listener(run + "/am.sock", kOther));
}

TEST(SocketDirectory, the_kernel_names_the_other_end) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd one(ends[0]), two(ends[1]);
  EXPECT_EQ(peer_uid(one.get()).value(), ::geteuid());
}

}  // namespace
}  // namespace sumac
