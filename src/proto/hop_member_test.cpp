// A member's timer for its datagrams.
#include "proto/hop_member.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace sumac::proto {
namespace {

class LastFrame final : public HopOutbox {
 public:
  void send_datagram(std::span<const std::byte> frame) override {
    ++sent;
    std::memcpy(&last, frame.data(), frame.size());
  }
  HopFrame last{};
  int sent = 0;
};

constexpr std::uint32_t kLevels = 2;

struct HopMemberTimer : testing::Test {
  /// The leaf answers the last frame.
  void answer(HopKind kind, Time now) {
    HopFrame frame = outbox.last;
    frame.header.kind = static_cast<std::uint8_t>(kind);
    frame.header.flags = kHopValue | kHopClosed;
    wire::HopFrameBytes bytes;
    EXPECT_EQ(member.on_datagram(wire::seal_hop_frame(frame, config.down, bytes), now), Errc::ok);
    member.tick(std::max(now, member.next_due() == kNever ? now : member.next_due()));  // It forgets the timer.
  }
  void contribute(std::uint32_t number, HopColl coll, Time now) {
    HopHeader header{};
    header.coll = static_cast<std::uint8_t>(coll);
    header.sequence = number;
    member.contribute(header, {}, now);
  }

  LastFrame outbox;
  HopMemberConfig config{.window = 4, .levels = kLevels, .up = {{1, 2}}, .down = {{3, 4}}};
  HopMember member{config, outbox};
};

TEST_F(HopMemberTimer, AProbesAnswerThatWasReadLateIsNotTheRoundTripForEver) {
  Time now = at(Seconds(1));
  member.probe(now);
  answer(kHopProbed, now += Millis(224));
  contribute(0, kHopBarrier, now);
  EXPECT_EQ(member.next_due(), now + Millis(224) * kLevels * 5 / 4) << "all that is known";
  answer(kHopResult, now += Millis(2));
  contribute(1, kHopBarrier, now);
  EXPECT_EQ(member.next_due(), now + Micros(2500)) << "the whole way took 2 ms";
}

TEST_F(HopMemberTimer, WhatIsAnsweredBeforeAllHaveContributedSaysNothingOfTheWay) {
  Time now = at(Seconds(1));
  member.probe(now);
  answer(kHopProbed, now += Millis(10));
  contribute(0, kHopBcast, now);
  answer(kHopResult, now += Micros(300));
  contribute(1, kHopBarrier, now);
  EXPECT_EQ(member.next_due(), now + Millis(10) * kLevels * 5 / 4);
}

}  // namespace
}  // namespace sumac::proto
