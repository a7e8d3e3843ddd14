#include "net/datagram_socket.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <array>

#include "base/bytes.hpp"
#include "net/neighbour.hpp"

namespace sumac::net {
namespace {

bool is_readable(int fd) {
  pollfd wait{fd, POLLIN, 0};
  return ::poll(&wait, 1, 10'000) == 1;
}

TEST(DatagramSocket, ReceivesFromItsPeerOnly) {
  const auto loopback = *parse_address("127.0.0.1:0");
  auto node = DatagramSocket::bind(loopback);
  ASSERT_TRUE(node);
  auto at = loopback;
  at.set_port(node->port());
  auto member = DatagramSocket::connect(loopback, at), stranger = DatagramSocket::connect(loopback, at);
  ASSERT_TRUE(member && stranger);
  const std::array<std::byte, 3> words{std::byte{1}, std::byte{2}, std::byte{3}};
  std::array<std::byte, 2> got{};
  EXPECT_EQ(node->receive(got), 0u);
  member->send(words);
  ASSERT_TRUE(is_readable(node->fd()));
  SocketAddress from;
  EXPECT_EQ(node->receive(got, &from), got.size()) << "the rest is cut off";
  EXPECT_EQ(from.port(), member->port());
  EXPECT_EQ(got[1], std::byte{2});

  stranger->send(words);
  ASSERT_TRUE(is_readable(node->fd()));
  EXPECT_EQ(member->receive(got), 0u);
}

TEST(DatagramSocket, AnUnreachablePortIsALossAndNoError) {
  const auto loopback = *parse_address("127.0.0.1:0");
  auto at = loopback;
  at.set_port(DatagramSocket::bind(loopback)->port());  // It is closed again.
  auto member = DatagramSocket::connect(loopback, at);
  ASSERT_TRUE(member);
  const std::array<std::byte, 3> words{};
  std::array<std::byte, 4> got{};
  for (int i = 0; i < 10; ++i) member->send(words);
  EXPECT_EQ(member->receive(got), 0u);
}

TEST(Neighbour, OwnAddressesAreOnLoopback) {
  const auto found = neighbour_of(*parse_address("127.0.0.1:1"));
  ASSERT_TRUE(found) << found.error().context;
  EXPECT_EQ(found->interface, *interface_of(*parse_address("127.0.0.1:1")));
  EXPECT_EQ(found->own, LinkAddress{});
  EXPECT_EQ(link_address_of(0).error().code, Errc::io);
}

}  // namespace
}  // namespace sumac::net
