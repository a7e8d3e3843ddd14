#include "control/endpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control/control.grpc.pb.h"

namespace sumac::control {
namespace {

TEST(Endpoint, clear_text_stays_on_this_machine_unless_told) {
  const struct {
    const char* endpoint;
    bool local, legal;
  } rows[] = {
      {"127.0.0.1:6126", true, true}, {"127.3.2.1:0", true, true},      {"[::1]:6126", true, true},
      {"localhost:1", true, true},    {"unix:/tmp/x", true, true},      {"0.0.0.0:6126", false, true},
      {"10.0.0.1:6126", false, true}, {"am.cluster:6126", false, true}, {"127.evil.org:1", false, true},
      {"10.0.0.1", false, false},     {"10.0.0.1:", false, false},      {"10.0.0.1:65536", false, false},
      {":6126", false, false},        {"::1:6126", false, false},       {"", false, false},
      {"unix:", true, false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.endpoint);
    EXPECT_EQ(is_local(row.endpoint), row.local);
    EXPECT_EQ(check_endpoint(row.endpoint, true).has_value(), row.legal);
    EXPECT_EQ(check_endpoint(row.endpoint, false).has_value(), row.legal && row.local);
  }
  const auto refused = check_endpoint("10.0.0.1:6126", false);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().context, testing::HasSubstr("--allow-insecure"));
}

TEST(Endpoint, a_second_server_on_the_same_port_is_refused) {
  v1::Manager::Service service, other;
  auto first = Server::start("127.0.0.1:0", service);
  ASSERT_TRUE(first) << first.error().context;
  EXPECT_GT(first->port(), 0);
  auto second = Server::start(first->endpoint(), other);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().context, testing::HasSubstr(first->endpoint()));
}

TEST(Endpoint, a_living_servers_socket_is_not_taken_over_a_dead_ones_is) {
  v1::Manager::Service service, other;
  const std::string path = testing::TempDir() + "sumac-endpoint-test-taken.sock";
  const int dead = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ::unlink(path.c_str());
  ASSERT_EQ(::bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(dead);
  auto first = Server::start("unix:" + path, service);
  ASSERT_TRUE(first) << first.error().context;
  auto second = Server::start("unix:" + path, other);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().context, testing::HasSubstr("another process does: stop it"));
}

TEST(Endpoint, a_unix_socket_is_for_its_owner_only) {
  v1::Manager::Service service;
  const std::string path = testing::TempDir() + "sumac-endpoint-test.sock";
  auto server = Server::start("unix:" + path, service);
  ASSERT_TRUE(server) << server.error().context;
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 077, 0u);
}

}  // namespace
}  // namespace sumac::control
