#include "multicast/multicaster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "wire/agg_codec.hpp"

namespace sumac::multicast {
namespace {

using testing::HasSubstr;

Config config_of(const std::string& text) { return *parse_config(text, 1); }

TEST(Multicaster, takes_auto_off_or_an_address) {
  EXPECT_TRUE(config_of("auto").enabled);
  EXPECT_FALSE(config_of("auto").to_one_level);
  EXPECT_TRUE(config_of("on").enabled && config_of("on").to_one_level);
  EXPECT_FALSE(config_of("off").enabled);
  EXPECT_EQ(net::format_address(*config_of("239.255.7.0:4000").base), "239.255.7.0:4000");
  for (const char* wrong : {"yes", "10.0.0.1:4000", "239.255.0.0:0", "239.255.0.0", "[fe80::1]:4000", ""})
    EXPECT_FALSE(parse_config(wrong, 1)) << wrong;
  EXPECT_THAT(parse_config("10.0.0.1:4000", 1).error().context, HasSubstr("no multicast address with a port"));
}

TEST(Multicaster, sends_what_a_member_with_the_key_believes) {
  Logger log(Logger::Form::daemon, LogLevel::error);
  Multicaster multicaster(config_of("auto"), "tcp:127.0.0.1:7000", log);
  wire::InvitedBody to, other;
  ASSERT_TRUE(multicaster.invite(GroupId{1}, to));
  ASSERT_TRUE(multicaster.invite(GroupId{1}, other));
  EXPECT_NE(to.key, other.key);
  EXPECT_EQ(wire::flaw(to), nullptr);
  auto receiver = ReceiveSocket::join(from_wire(to.address, to.port), *net::parse_address("127.0.0.1:0"));
  ASSERT_TRUE(receiver) << receiver.error().context;
  wire::AggHeader h;
  h.kind = wire::AggKind::result;
  h.group_id = GroupId{0x00010007};
  h.coll = wire::Coll::allreduce;
  h.op = Op::sum;
  h.dtype = Dtype::uint8;
  h.flags = wire::kFlagFirst | wire::kFlagLast;
  h.count = h.payload_bytes = 5;
  const std::byte data[5] = {};
  ASSERT_TRUE(multicaster.send(to, h, data));
  // Other processes of this machine may send to that address as well; the tag tells the datagrams apart.
  std::array<std::byte, wire::kDatagramMax + 1> into;
  Errc opened = Errc::lost;
  for (pollfd wait{receiver->fd(), POLLIN, 0}; opened != Errc::ok && poll(&wait, 1, 20'000) == 1;)
    opened = wire::open_datagram(std::span(into).first(receiver->receive(into)), to.key, h);
  EXPECT_EQ(opened, Errc::ok);
  EXPECT_EQ(h.payload_bytes, 5u);
}

TEST(Multicaster, without_a_way_there_is_none_and_it_is_not_tried_again) {
  Logger log(Logger::Form::daemon, LogLevel::error);
  wire::InvitedBody to;
  for (const char* address : {"ucx:0a0b", "tcp:192.0.2.1:7000", ""}) {
    Multicaster multicaster(config_of("auto"), address, log);
    EXPECT_FALSE(multicaster.invite(GroupId{1}, to)) << address;
    EXPECT_FALSE(multicaster.send(to, {}, {}));
  }
  Multicaster off(config_of("off"), "tcp:127.0.0.1:7000", log);
  EXPECT_FALSE(off.invite(GroupId{1}, to));
  Multicaster six(config_of("[ff12::5355:0]:5383"), "tcp:127.0.0.1:7000", log);
  EXPECT_FALSE(six.invite(GroupId{1}, to)) << "of the other family";
}

TEST(Multicaster, stops_after_some_failures_in_a_row) {
  Logger log(Logger::Form::daemon, LogLevel::error);
  Multicaster multicaster(config_of("auto"), "tcp:127.0.0.1:7000", log);
  wire::InvitedBody to;
  ASSERT_TRUE(multicaster.invite(GroupId{1}, to));
  wire::InvitedBody nowhere = to;
  nowhere.address = {0xFF, 0x12};  // The system refuses an IPv6 address on an IPv4 socket.
  wire::AggHeader barrier;
  barrier.kind = wire::AggKind::result;
  for (std::uint32_t i = 1; i < Multicaster::kFailuresMax; ++i) EXPECT_FALSE(multicaster.send(nowhere, barrier, {}));
  EXPECT_TRUE(multicaster.send(to, barrier, {})) << "one that goes begins the count anew";
  for (std::uint32_t i = 0; i < Multicaster::kFailuresMax; ++i) EXPECT_FALSE(multicaster.send(nowhere, barrier, {}));
  EXPECT_FALSE(multicaster.send(to, barrier, {}));
  EXPECT_FALSE(multicaster.invite(GroupId{1}, to));
  EXPECT_EQ(multicaster.lost(), 2 * Multicaster::kFailuresMax - 1);
}

}  // namespace
}  // namespace sumac::multicast
