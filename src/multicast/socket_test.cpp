// Uses real sockets on loopback.
#include "multicast/socket.hpp"

#include <gtest/gtest.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "net/test_harness.hpp"

namespace sumac::multicast {
namespace {

struct Family {
  const char *local, *group, *other;
};
constexpr Family kFamilies[] = {{"127.0.0.1:0", "239.255.83.7:0", "239.255.83.8:0"},
                                {"[::1]:0", "[ff12::5355:7]:0", "[ff12::5355:8]:0"}};

/// Returns a port that no other process on this machine uses: two runs of this test must not receive each other's
/// datagrams.
std::uint16_t free_port(int family) {
  net::SocketAddress any = *net::parse_address(family == AF_INET6 ? "[::1]:0" : "127.0.0.1:0");
  UniqueFd fd{socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  EXPECT_EQ(bind(fd.get(), any.get(), any.length), 0);
  any.length = sizeof any.storage;
  EXPECT_EQ(getsockname(fd.get(), any.get(), &any.length), 0);
  return any.port();
}

bool readable(const ReceiveSocket& receiver, int patience_ms) {
  pollfd wait{receiver.fd(), POLLIN, 0};
  return poll(&wait, 1, patience_ms) == 1;
}

class Multicast : public testing::TestWithParam<Family> {
 protected:
  void SetUp() override {
    local = *net::parse_address(GetParam().local);
    if (!interface_of(local)) GTEST_SKIP() << "no loopback of this family";
    const auto port = free_port(local.family());
    group = *net::parse_address(GetParam().group);
    other = *net::parse_address(GetParam().other);
    group.set_port(port);
    other.set_port(port);
  }
  /// For IPv6 Linux joins but delivers nothing, because its loopback carries link-local multicasts of IPv4 only.
  /// MulticastOfIpv6 tests those that it carries.
  bool carried() const { return local.family() == AF_INET; }
  net::SocketAddress local, group, other;
};
INSTANTIATE_TEST_SUITE_P(Families, Multicast, testing::ValuesIn(kFamilies),
                         [](const auto& one) { return one.index == 0 ? "ipv4" : "ipv6"; });

TEST_P(Multicast, all_who_joined_hear_it_and_nobody_else) {
  auto sender = SendSocket::open(local, 1);
  ASSERT_TRUE(sender) << sender.error().context;
  auto first = ReceiveSocket::join(group, local), second = ReceiveSocket::join(group, local),
       elsewhere = ReceiveSocket::join(other, local);
  ASSERT_TRUE(first) << first.error().context;
  ASSERT_TRUE(second) << second.error().context;
  ASSERT_TRUE(elsewhere) << elsewhere.error().context;
  if (!carried()) return;
  ASSERT_EQ(sender->send(group, as_bytes("sum")), Errc::ok);
  std::byte into[16];
  for (auto* receiver : {&*first, &*second}) {
    ASSERT_TRUE(readable(*receiver, 20'000));
    ASSERT_EQ(receiver->receive(into), 3u);
    EXPECT_EQ(std::memcmp(into, "sum", 3), 0);
    EXPECT_EQ(receiver->receive(into), 0u) << "once";
  }
  // A datagram that was sent to it earlier would have arrived before this one.
  ASSERT_EQ(sender->send(other, as_bytes("x")), Errc::ok);
  ASSERT_TRUE(readable(*elsewhere, 20'000));
  EXPECT_EQ(elsewhere->receive(into), 1u);
}

TEST_P(Multicast, a_transport_waits_for_it_with_its_connections) {
  auto sender = SendSocket::open(local, 1);
  auto receiver = ReceiveSocket::join(group, local);
  ASSERT_TRUE(sender && receiver);
  struct Reader : net::End {
    using net::End::End;
    void on_readable(std::uint32_t token) override {
      tokens.push_back(token);
      std::byte into[16];
      while (listens_to->receive(into) != 0) ++datagrams;
    }
    ReceiveSocket* listens_to = nullptr;
    std::vector<std::uint32_t> tokens;
    std::size_t datagrams = 0;
  } end(net::TransportConfig{});
  end.listens_to = &*receiver;
  ASSERT_EQ(end.transport->add_reader(receiver->fd(), 0xFFFFFFFFu), Errc::ok);
  EXPECT_EQ(end.progress(), 0u);
  if (!carried()) return;
  ASSERT_EQ(sender->send(group, as_bytes("a")), Errc::ok);
  ASSERT_TRUE(net::drive({&end}, [&] { return end.datagrams == 1; }));
  EXPECT_EQ(end.tokens.at(0), 0xFFFFFFFFu);
  end.transport->remove_reader(receiver->fd());
  ASSERT_EQ(sender->send(group, as_bytes("b")), Errc::ok);
  ASSERT_TRUE(readable(*receiver, 20'000));
  EXPECT_EQ(end.progress(), 0u);
  EXPECT_EQ(end.datagrams, 1u);
}

TEST_P(Multicast, addresses_come_back_from_the_wire) {
  const auto wire = to_wire(group);
  EXPECT_EQ(net::format_address(from_wire(wire, group.port())), net::format_address(group));
  EXPECT_TRUE(is_multicast(group));
  EXPECT_FALSE(is_multicast(local));
  const auto text = net::format_address(nth_address(group, 0x0102));
  EXPECT_NE(text.find(group.family() == AF_INET6 ? "[ff12::5355:102]" : "239.255.1.2:"), std::string::npos) << text;
}

/// Enters a network of this process alone, in which loopback also carries IPv6 multicasts of interface-local scope,
/// because they have a route. Returns false if that is not permitted here.
bool enter_network_with_ipv6_multicast() {
  // A process that may make a network does not need user namespaces, which a process with threads cannot have:
  // ThreadSanitizer starts one.
  if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  const UniqueFd fd{socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  ifreq flags{};
  std::strcpy(flags.ifr_name, "lo");
  flags.ifr_flags = IFF_UP | IFF_RUNNING | IFF_MULTICAST;
  if (!fd || ioctl(fd.get(), SIOCSIFFLAGS, &flags) != 0) return false;
  in6_rtmsg route{};
  route.rtmsg_dst = reinterpret_cast<const sockaddr_in6*>(net::parse_address("[ff11::]:0")->get())->sin6_addr;
  route.rtmsg_dst_len = 16;
  route.rtmsg_metric = 1;
  route.rtmsg_flags = RTF_UP;
  route.rtmsg_ifindex = static_cast<int>(if_nametoindex("lo"));
  return ioctl(fd.get(), SIOCADDRT, &route) == 0;
}

/// Runs in a process of its own. Returns 0 if the datagram arrived once, and only at the socket that had joined; 77 if
/// no such network is possible here; otherwise the step that failed.
int hears_ipv6() {
  if (!enter_network_with_ipv6_multicast()) return 77;
  const auto local = *net::parse_address("[::1]:0"), group = *net::parse_address("[ff11::5355:7]:5383"),
             other = *net::parse_address("[ff11::5355:8]:5383");
  auto sender = SendSocket::open(local, 1);
  auto first = ReceiveSocket::join(group, local), second = ReceiveSocket::join(group, local);
  auto elsewhere = ReceiveSocket::join(other, local);
  if (!sender || !first || !second || !elsewhere) return 1;
  if (sender->send(group, as_bytes("sum")) != Errc::ok || sender->send(other, as_bytes("x")) != Errc::ok) return 2;
  std::byte into[16];
  for (auto* receiver : {&*first, &*second})
    if (!readable(*receiver, 20'000) || receiver->receive(into) != 3 || receiver->receive(into) != 0) return 3;
  if (!readable(*elsewhere, 20'000) || elsewhere->receive(into) != 1 || elsewhere->receive(into) != 0) return 4;
  return 0;
}

TEST(MulticastOfIpv6, comes_to_who_has_joined_where_loopback_carries_it) {
  const pid_t child = fork();
  if (child == 0) _exit(hears_ipv6());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no network of its own with IPv6 multicasts: not permitted here";
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the step of hears_ipv6() that failed";
}

TEST(MulticastJoin, says_what_is_wrong) {
  const auto away = net::parse_address("192.0.2.1:0");  // No interface has an address of this network.
  const auto group = net::parse_address("239.255.83.7:5383"), local = net::parse_address("127.0.0.1:0"),
             six = net::parse_address("[ff12::1]:5383");
  EXPECT_EQ(ReceiveSocket::join(*group, *away).error().context, "no interface has the address of 192.0.2.1:0");
  EXPECT_EQ(SendSocket::open(*away, 1).error().code, Errc::not_found);
  EXPECT_EQ(ReceiveSocket::join(*six, *local).error().code, Errc::unsupported);
}

}  // namespace
}  // namespace sumac::multicast
