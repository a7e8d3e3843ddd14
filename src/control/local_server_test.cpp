#include "control/local_server.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/socket_directory.hpp"
#include "control/test_server.hpp"

namespace sumac::control {
namespace {

using testing::HasSubstr;

constexpr uid_t kOther = 65534;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

/// Runs `what` in a child process as another user, and nothing else there; returns 0 if it succeeded.
template <class Do>
int as_other(Do what) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresgid(kOther, kOther, kOther) != 0 || ::setresuid(kOther, kOther, kOther) != 0) ::_exit(126);
    ::_exit(what());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

TEST(LocalServer, knows_its_caller_and_reconnecting_callers_too) {
  const TestDirectory directory;
  const auto path = directory.path + "/am.sock";
  const auto server = LocalServer::start(path, {}, WhoService::make);
  ASSERT_TRUE(server) << server.error().context;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask_who("unix:" + path), fmt::format("user {}", ::geteuid()));
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0666u) << "any user may ask; the directory's mode says who reaches it";
}

TEST(LocalServer, many_callers_at_once_are_each_told_who_they_are) {
  const TestDirectory directory;
  const auto server = LocalServer::start(directory.path + "/am.sock", {}, WhoService::make);
  ASSERT_TRUE(server) << server.error().context;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i)
        EXPECT_EQ(ask_who("unix:" + directory.path + "/am.sock"), fmt::format("user {}", ::geteuid()));
    });
  for (auto& thread : threads) thread.join();
}

TEST(LocalServer, a_living_servers_socket_is_not_taken_over_a_dead_ones_is) {
  const TestDirectory directory;
  const auto path = directory.path + "/am.sock";
  const auto address = address_of(path);
  const int dead = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(dead);
  {
    const auto first = LocalServer::start(path, {}, WhoService::make);
    ASSERT_TRUE(first) << first.error().context;
    const auto second = LocalServer::start(path, {}, WhoService::make);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::exists);
    EXPECT_THAT(second.error().context, HasSubstr("another process serves"));
    EXPECT_EQ(ask_who("unix:" + path), fmt::format("user {}", ::geteuid())) << "and nothing has happened to it";
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path)) << "it leaves nothing behind";
  const auto again = LocalServer::start(path, {}, WhoService::make);
  EXPECT_TRUE(again) << again.error().context;
}

TEST(LocalServer, does_not_start_where_its_socket_could_be_replaced) {
  const TestDirectory directory;
  const auto start = [&](const std::string& path) { return LocalServer::start(path, {}, WhoService::make); };
  ASSERT_EQ(::chmod(directory.path.c_str(), 0777), 0);
  EXPECT_THAT(start(directory.path + "/am.sock").error().context, HasSubstr("others may write directory"));
  ASSERT_EQ(::chmod(directory.path.c_str(), 0755), 0);
  EXPECT_THAT(start(directory.path + "/" + std::string(120, 'x')).error().context, HasSubstr("socket path"));
  std::ofstream(directory.path + "/file") << "kept";
  EXPECT_THAT(start(directory.path + "/file").error().context, HasSubstr("is no socket"));
  EXPECT_TRUE(start(directory.path + "/made/am.sock")) << "a directory that is missing is made";
  EXPECT_FALSE(start(directory.path + "/not/made/am.sock"));
}

TEST(LocalServer, an_idle_user_holds_only_so_many_connections_and_nobody_else_notices) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  const TestDirectory directory;
  ASSERT_EQ(::chmod(directory.path.c_str(), 0755), 0);
  const auto path = directory.path + "/am.sock";
  const auto server = LocalServer::start(path, {}, WhoService::make);
  ASSERT_TRUE(server) << server.error().context;
  EXPECT_EQ(as_other([&] {
              const auto address = address_of(path);
              std::size_t kept = 0;
              std::vector<UniqueFd> all;
              for (int i = 0; i < 200; ++i) {
                all.emplace_back(::socket(AF_UNIX, SOCK_STREAM, 0));
                if (::connect(all.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
                  return 2;
              }
              // A connection that the server keeps receives gRPC's first bytes; the others are closed.
              for (const auto& fd : all) {
                pollfd wait{fd.get(), POLLIN, 0};
                char byte = 0;
                if (::poll(&wait, 1, 20'000) != 1) return 3;
                kept += ::read(fd.get(), &byte, 1) == 1;
              }
              return kept == LocalServer::kStrangerConnections ? 0 : 4;
            }),
            0);
  EXPECT_EQ(ask_who("unix:" + path), "user 0");
}

TEST(LocalServer, a_client_does_not_talk_to_a_stranger_who_listens) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  const TestDirectory directory;
  ASSERT_EQ(::chown(directory.path.c_str(), kOther, kOther), 0);
  const auto path = directory.path + "/am.sock";
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresuid(kOther, kOther, kOther) != 0) ::_exit(126);
    const auto address = address_of(path);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(fd, 8) != 0)
      ::_exit(1);
    if (::write(ready[1], "x", 1) != 1) ::_exit(2);
    ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const auto refused = make_channel("unix:" + path);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::denied);
  EXPECT_THAT(refused.error().context, HasSubstr(fmt::format("user {} listens at", kOther)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(make_channel("unix:" + path).error().code, Errc::lost) << "nobody listens any more";
}

}  // namespace
}  // namespace sumac::control
