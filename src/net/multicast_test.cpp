// Real sockets on loopback.
#include "net/multicast.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include "net/transport_harness.hpp"

namespace sumac::net {
namespace {

struct Family {
  const char *local, *group, *other;
};
constexpr Family kFamilies[] = {{"127.0.0.1:0", "239.255.83.7:0", "239.255.83.8:0"},
                                {"[::1]:0", "[ff12::5355:7]:0", "[ff12::5355:8]:0"}};

/// A port that nobody else on this machine has: two runs of this test must not hear each other.
std::uint16_t free_port(int family) {
  SocketAddress any = *parse_address(family == AF_INET6 ? "[::1]:0" : "127.0.0.1:0");
  UniqueFd fd{socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  EXPECT_EQ(bind(fd.get(), any.get(), any.length), 0);
  any.length = sizeof any.storage;
  EXPECT_EQ(getsockname(fd.get(), any.get(), &any.length), 0);
  return any.port();
}

bool readable(const MulticastReceiver& receiver, int patience_ms) {
  pollfd wait{receiver.fd(), POLLIN, 0};
  return poll(&wait, 1, patience_ms) == 1;
}

class Multicast : public testing::TestWithParam<Family> {
 protected:
  void SetUp() override {
    local = *parse_address(GetParam().local);
    if (!interface_of(local)) GTEST_SKIP() << "no loopback of this family";
    const auto port = free_port(local.family());
    group = *parse_address(GetParam().group);
    other = *parse_address(GetParam().other);
    group.set_port(port);
    other.set_port(port);
  }
  /// Linux joins, but delivers nothing: its loopback carries multicasts of IPv4 only.
  bool carried() const { return local.family() == AF_INET; }
  SocketAddress local, group, other;
};
INSTANTIATE_TEST_SUITE_P(Families, Multicast, testing::ValuesIn(kFamilies),
                         [](const auto& one) { return one.index == 0 ? "ipv4" : "ipv6"; });

TEST_P(Multicast, all_who_joined_hear_it_and_nobody_else) {
  auto sender = MulticastSender::open(local, 1);
  ASSERT_TRUE(sender) << sender.error().context;
  auto first = MulticastReceiver::join(group, local), second = MulticastReceiver::join(group, local),
       elsewhere = MulticastReceiver::join(other, local);
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
  // What it would have got came before what it is sent now.
  ASSERT_EQ(sender->send(other, as_bytes("x")), Errc::ok);
  ASSERT_TRUE(readable(*elsewhere, 20'000));
  EXPECT_EQ(elsewhere->receive(into), 1u);
}

TEST_P(Multicast, a_transport_waits_for_it_with_its_connections) {
  auto sender = MulticastSender::open(local, 1);
  auto receiver = MulticastReceiver::join(group, local);
  ASSERT_TRUE(sender && receiver);
  struct Reader : End {
    using End::End;
    void on_readable(std::uint32_t token) override {
      tokens.push_back(token);
      std::byte into[16];
      while (listens_to->receive(into) != 0) ++datagrams;
    }
    MulticastReceiver* listens_to = nullptr;
    std::vector<std::uint32_t> tokens;
    std::size_t datagrams = 0;
  } end(TransportConfig{});
  end.listens_to = &*receiver;
  ASSERT_EQ(end.transport->add_reader(receiver->fd(), 0xFFFFFFFFu), Errc::ok);
  EXPECT_EQ(end.progress(), 0u);
  if (!carried()) return;
  ASSERT_EQ(sender->send(group, as_bytes("a")), Errc::ok);
  ASSERT_TRUE(drive({&end}, [&] { return end.datagrams == 1; }));
  EXPECT_EQ(end.tokens.at(0), 0xFFFFFFFFu);
  end.transport->remove_reader(receiver->fd());
  ASSERT_EQ(sender->send(group, as_bytes("b")), Errc::ok);
  ASSERT_TRUE(readable(*receiver, 20'000));
  EXPECT_EQ(end.progress(), 0u);
  EXPECT_EQ(end.datagrams, 1u);
}

TEST_P(Multicast, addresses_come_back_from_the_wire) {
  const auto wire = to_wire(group);
  EXPECT_EQ(format_address(from_wire(wire, group.port())), format_address(group));
  EXPECT_TRUE(is_multicast(group));
  EXPECT_FALSE(is_multicast(local));
  const auto text = format_address(nth_address(group, 0x0102));
  EXPECT_NE(text.find(group.family() == AF_INET6 ? "[ff12::5355:102]" : "239.255.1.2:"), std::string::npos) << text;
}

TEST(MulticastJoin, says_what_is_wrong) {
  const auto away = parse_address("192.0.2.1:0");  // of a network that is nobody's
  const auto group = parse_address("239.255.83.7:5383"), local = parse_address("127.0.0.1:0"),
             six = parse_address("[ff12::1]:5383");
  EXPECT_EQ(MulticastReceiver::join(*group, *away).error().context, "no interface has the address of 192.0.2.1:0");
  EXPECT_EQ(MulticastSender::open(*away, 1).error().code, Errc::not_found);
  EXPECT_EQ(MulticastReceiver::join(*six, *local).error().code, Errc::unsupported);
}

}  // namespace
}  // namespace sumac::net
