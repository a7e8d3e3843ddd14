#include "control/caller.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.hpp"

namespace sumac::control {
namespace {

/// A TCP connection within this machine, with the addresses of both ends as text.
struct Connection {
  UniqueFd listener, client;
  std::string peer, server;

  Connection()
      : listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener.get(), any, size), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener.get(), any, &size), 0);
    server = fmt::format("127.0.0.1:{}", ::ntohs(address.sin_port));
    EXPECT_EQ(::connect(client.get(), any, size), 0);
    EXPECT_EQ(::getsockname(client.get(), any, &size), 0);
    peer = fmt::format("ipv4:127.0.0.1:{}", ::ntohs(address.sin_port));
  }
};

TEST(Caller, the_kernel_says_whose_a_connection_is) {
  const Connection connection;
  const auto uid = uid_of_peer(connection.peer, connection.server);
  if (!uid) GTEST_SKIP() << "this kernel has no NETLINK_SOCK_DIAG for TCP";
  EXPECT_EQ(*uid, ::geteuid());
  EXPECT_EQ(uid_of_peer(connection.peer, "0.0.0.0" + connection.server.substr(9)), ::geteuid()) << "on all addresses";
  for (const auto* peer : {"", "unix:", "ipv4:127.0.0.1:1", "ipv4:127.0.0.1", "ipv4:nonsense:5", "ipv4:127.0.0.1:99999",
                           "ipv6:%5B::1%5D:1", "ipv6:%5B"})
    EXPECT_FALSE(uid_of_peer(peer, connection.server)) << peer;
}

/// An impostor could call and hang up at once: the kernel then reports root as the owner of the closed socket.
TEST(Caller, a_connection_that_its_process_has_closed_is_nobodys) {
  Connection connection;
  if (!uid_of_peer(connection.peer, connection.server)) GTEST_SKIP() << "this kernel has no NETLINK_SOCK_DIAG for TCP";
  connection.client.reset();
  EXPECT_FALSE(uid_of_peer(connection.peer, connection.server));
  const auto caller = clear_text_caller(connection.peer, connection.server, {});
  EXPECT_FALSE(caller.is_operator());
  EXPECT_FALSE(caller.may_be(CertRole::node, "x"));
}

TEST(Caller, clear_text_is_believed_elsewhere_only) {
  const struct {
    const char* peer;
    bool here;
  } rows[] = {{"ipv4:127.0.0.1:1", true},
              {"ipv4:127.9.8.7:1", true},
              {"ipv6:%5B::1%5D:1", true},
              {"ipv6:%5B::ffff:127.0.0.1%5D:1", true},
              {"ipv4:192.0.2.1:1", false},
              {"ipv6:%5B2001:db8::1%5D:1", false},
              {"ipv6:%5B::ffff:192.0.2.1%5D:1", false},
              {"fd:7", true},
              {"", true}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.peer);
    EXPECT_EQ(calls_from_here(row.peer), row.here);
    EXPECT_EQ(clear_text_caller(row.peer, "0.0.0.0:1", {}).may_be(CertRole::node, "x").has_value(), !row.here);
  }
}

TEST(Caller, daemon_users_are_names_or_numbers) {
  const auto me = ::geteuid();
  const struct {
    const char* list;
    std::vector<uid_t> has;
    bool legal;
  } rows[] = {
      {"", {}, true},
      {"sumac-am,sumac-an,sumac-sharpd", {}, true},
      {"4711", {4711}, true},
      {"4711,4712,daemon", {4711, 4712, 1}, true},
      {"no-such-user-here", {}, false},
      {"4711,no-such-user-here", {}, false},
      {"-1", {}, false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.list);
    const auto users = DaemonUsers::parse(row.list);
    ASSERT_EQ(users.has_value(), row.legal);
    if (!users) continue;
    EXPECT_TRUE(users->has(0) && users->has(me));
    EXPECT_FALSE(users->has(me + 1000));
    for (const auto uid : row.has) EXPECT_TRUE(users->has(uid)) << uid;
  }
  EXPECT_TRUE(local_caller(4711, *DaemonUsers::parse("4711")).may_be(CertRole::node, "x"));
  EXPECT_FALSE(local_caller(4711, *DaemonUsers::parse("4711")).is_operator()) << "it sees what anybody sees";
}

TEST(Caller, may_be_only_what_its_certificate_or_the_kernel_says) {
  const auto me = ::geteuid();
  const struct {
    const char* name;
    Caller who;
    bool sees_all, may_be_node, may_be_host;
  } rows[] = {
      {"root", local_caller(0, {}), true, true, true},
      {"whoever runs the manager", local_caller(me, {}), true, true, true},
      {"another user of this machine", local_caller(me + 1000, {}), false, false, false},
      {"another machine in clear text", {}, false, true, true},
      {"the node's certificate", {Identity{CertRole::node, "x"}, {}, {}}, false, true, false},
      {"another node's", {Identity{CertRole::node, "y"}, {}, {}}, false, false, false},
      {"the host's", {Identity{CertRole::host, "x"}, {}, {}}, false, false, true},
      {"an administrator's", {Identity{CertRole::admin, "x"}, {}, {}}, true, false, false},
      {"the manager's", {Identity{CertRole::manager, "x"}, {}, {}}, true, false, false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(row.who.is_operator(), row.sees_all);
    EXPECT_EQ(row.who.may_be(CertRole::node, "x").has_value(), row.may_be_node);
    EXPECT_EQ(row.who.may_be(CertRole::host, "x").has_value(), row.may_be_host);
  }
  EXPECT_THAT(Caller({Identity{CertRole::node, "y"}, {}, {}}).may_be(CertRole::node, "x").error().context,
              testing::HasSubstr("its certificate is for node y, but it registers as node x"));
}

}  // namespace
}  // namespace sumac::control
