// Tests the decision which messages of a row share packets, and that kept ones leave without their sender.
#include "net/packet_row.hpp"

#include "net/test_harness.hpp"

namespace sumac::net {
namespace {

constexpr std::size_t kBytes = 100;

/// A row whose backlog is what the test says.
struct Row {
  PacketRow row;
  PacketRow::Backlog backlog;
  int looks = 0;

  bool shares(std::size_t bytes = kBytes) {
    return row.shares(bytes, [this] { return ++looks, backlog; });
  }
  void first_leave_alone() {
    for (std::size_t i = 0; i < kAloneInRow; ++i) EXPECT_FALSE(shares()) << i;
  }
};

TEST(PacketRow, TheFirstLeaveAloneWithoutALookAtTheSocket) {
  Row row;
  row.first_leave_alone();
  EXPECT_EQ(row.looks, 0);
}

TEST(PacketRow, WhatFollowsSharesWhileTheFirstAreUnacknowledged) {
  Row row;
  row.first_leave_alone();
  row.backlog = {kAloneInRow * kBytes - 1, 0};
  EXPECT_FALSE(row.shares()) << "one of them is acknowledged";
  row.backlog = {kAloneInRow * kBytes, 0};
  EXPECT_TRUE(row.shares());
  EXPECT_TRUE(row.row.holds());
  row.backlog = {kAloneInRow * kBytes + kBytes, kBytes};
  EXPECT_TRUE(row.shares());
}

TEST(PacketRow, BehindASharedPacketTheFirstLeaveAloneAgain) {
  Row row;
  row.first_leave_alone();
  row.backlog = {kAloneInRow * kBytes, 0};
  EXPECT_TRUE(row.shares());
  row.backlog = {30 * kBytes, 0};  // It has left. It is a single packet, whatever its length.
  row.first_leave_alone();
  EXPECT_TRUE(row.shares());
}

TEST(PacketRow, ALongMessageInFlightDoesNotCountAsSeveral) {
  Row row;
  for (std::size_t i = 0; i < kAloneInRow; ++i) EXPECT_FALSE(row.shares(20 * kBytes));
  row.backlog = {20 * kBytes, 0};
  EXPECT_FALSE(row.shares());
}

TEST(PacketRow, AnEndedRowBeginsAnew) {
  Row row;
  row.first_leave_alone();
  row.backlog = {kAloneInRow * kBytes, 0};
  EXPECT_TRUE(row.shares());
  row.row.end();
  EXPECT_FALSE(row.row.holds());
  row.first_leave_alone();
}

TEST(PacketRow, APacketThatNoAcknowledgementWillLetGoIsStuck) {
  EXPECT_TRUE(PacketRow::is_stuck({kBytes, kBytes}));
  EXPECT_FALSE(PacketRow::is_stuck({2 * kBytes, kBytes}));
  EXPECT_FALSE(PacketRow::is_stuck({kBytes, 0}));
  EXPECT_FALSE(PacketRow::is_stuck({0, 0}));
}

/// The program computes after its last call: only the kernel can send what is kept.
TEST(PacketRow, ARowArrivesAlthoughItsSenderLooksForNothing) {
  TransportConfig listening;
  listening.listen = "127.0.0.1:0";
  End node(listening), member({});
  const ConnId up = member.connect(node.transport->address());
  ASSERT_TRUE(drive({&node, &member}, [&] { return !node.accepted.empty() && !member.connected.empty(); }));
  // Answers make the peer's kernel delay its acknowledgements.
  for (std::size_t i = 1; i <= 20; ++i) {
    ASSERT_EQ(member.send(up, "question"), Errc::ok);
    ASSERT_TRUE(drive({&node, &member}, [&] { return node.received == i; }));
    ASSERT_EQ(node.send(node.accepted.front(), "answer"), Errc::ok);
    ASSERT_TRUE(drive({&node, &member}, [&] { return member.received == i; }));
  }
  constexpr std::size_t kRow = 100;
  for (std::uint32_t i = 0; i < kRow; ++i) {
    const std::string body = pattern(64, i);
    ASSERT_EQ(member.transport->send_in_row(up, as_bytes(std::string_view("head")),
                                            Payload{as_bytes(std::string_view(body)), {}}),
              Errc::ok);
  }
  ASSERT_TRUE(drive({&node}, [&] { return node.received == 20 + kRow; }));
  for (std::uint32_t i = 0; i < kRow; ++i)
    EXPECT_EQ(node.from(node.accepted.front())[20 + i], "head" + pattern(64, i)) << i;
}

}  // namespace
}  // namespace sumac::net
