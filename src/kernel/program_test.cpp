#include <gtest/gtest.h>

#include "hop/element.h"
#include "hop/test_pairs.hpp"
#include "kernel/test_kernel.hpp"

namespace sumac::kernel {
namespace {

using namespace test;

constexpr std::uint32_t kIndex = 3, kFirst = 0xFFFFFFF0;

class HopProgram : public ::testing::Test {
 protected:
  void begin(const HopGroup& group) {
    auto loaded = Program::load({.pins = "/tmp/program", .port = kPort, .groups_max = 8});
    ASSERT_TRUE(loaded) << loaded.error().context;
    program_.emplace(std::move(*loaded));
    group_ = group;
    const auto begun = program_->begin_group(kIndex, group, kFirst);
    ASSERT_TRUE(begun) << begun.error().context;
  }
  void TearDown() override {
    if (program_) (void)program_->unpin();
  }
  bool is_ipv6() const { return group_.self.address[0] == 0xfd; }
  Packet from_child(HopFrame frame) const {
    seal(frame, group_.child[frame.header.child].key);
    return packet_of(frame, group_.child[frame.header.child].end, group_.self, is_ipv6());
  }
  Packet from_parent(HopFrame frame, int flags) const {
    frame.header.kind = kHopResult;
    frame.header.flags = static_cast<std::uint8_t>(flags);
    frame.header.child = 0;
    seal(frame, group_.parent_key);
    return packet_of(frame, group_.parent, group_.self, is_ipv6());
  }
  Outcome receive(const Packet& packet) const { return test::receive(*program_, packet); }
  std::uint64_t count(HopCounter counter) const { return program_->counts()->count[counter]; }

  std::optional<Program> program_;
  HopGroup group_{};
};

TEST_F(HopProgram, AddsAsTheReferenceDoes) {
  SKIP_WITHOUT_KERNEL();
  begin(group_of(2, false));
  Random random(41);
  std::uint32_t sequence = kFirst;
  std::uint64_t pairs = 0;
  for (unsigned d = 0; d < kDtypeCount; ++d)
    for (unsigned o = 0; o < kOpCount; ++o) {
      if (!hop_combines(o, d)) continue;
      const Dtype dtype{static_cast<std::uint8_t>(d)};
      const Op op{static_cast<std::uint8_t>(o)};
      for (int i = 0; i < 4; ++i, ++sequence) {
        HopFrame a = contribution(kIndex, sequence, 0, kHopPayloadWords), b = a;
        b.header.child = 1;
        for (HopFrame* frame : {&a, &b})
          frame->header.op = static_cast<std::uint8_t>(o), frame->header.dtype = static_cast<std::uint8_t>(d);
        for (unsigned w = 0; w < kHopPayloadWords; ++w)
          std::tie(a.payload.word[w], b.payload.word[w]) = sumac::test::draw_words(random, dtype);
        ASSERT_EQ(receive(from_child(i % 2 ? a : b)).verdict, kDropped);
        const Outcome last = receive(from_child(i % 2 ? b : a));
        ASSERT_EQ(last.verdict, kRedirected);
        const std::size_t elements = sizeof(HopPayload) / width(dtype);
        reduce::reference_reduce(op, dtype, Dtype::null, &a.payload, &b.payload, elements);
        const HopFrame up = last.packet.frame();
        for (unsigned w = 0; w < kHopPayloadWords; ++w)
          ASSERT_EQ(up.payload.word[w], a.payload.word[w]) << to_string(op) << " of " << to_string(dtype);
        pairs += elements;
      }
    }
  EXPECT_GE(pairs, 100'000u);
  EXPECT_EQ(count(kHopFolds), sequence - kFirst);
}

TEST_F(HopProgram, SendsTheSumOfAReduceUpBeforeItsRoot) {
  SKIP_WITHOUT_KERNEL();
  begin(group_of(3, false));
  HopFrame frame = contribution(kIndex, kFirst, 0);
  frame.header.coll = kHopReduce;
  frame.header.root = 1;
  frame.header.flags = kHopFull | kHopValue;
  frame.payload.word[0] = 5;
  EXPECT_EQ(receive(from_child(frame)).verdict, kDropped);
  frame.header.child = 2, frame.payload.word[0] = 7;
  const Outcome ahead = receive(from_child(frame));
  ASSERT_EQ(ahead.verdict, kRedirected);
  EXPECT_EQ(ahead.packet.frame().header.flags, kHopValue);
  EXPECT_EQ(ahead.packet.frame().payload.word[0], 12u);
  frame.header.child = 1, frame.header.flags = kHopFull, frame.payload.word[0] = 0;
  const Outcome rest = receive(from_child(frame));
  ASSERT_EQ(rest.verdict, kRedirected);
  EXPECT_EQ(rest.packet.frame().header.flags, kHopFull | kHopValue);
  const Outcome down = receive(from_parent(frame, kHopValue | kHopClosed));
  ASSERT_EQ(down.verdict, kRedirected);
  EXPECT_EQ(down.packet.frame().header.flags, kHopValue | kHopClosed);
}

TEST_F(HopProgram, MergesInTheOrderOfItsPlace) {
  SKIP_WITHOUT_KERNEL();
  HopGroup group = group_of(3, false);
  group.place.merges = 2;
  group.place.merge[0] = {2, 1};
  group.place.merge[1] = {2, 0};
  begin(group);
  const double parts[] = {1.0, -1e16, 1e16};
  Outcome last;
  for (const unsigned child : {2u, 0u, 1u}) {
    HopFrame frame = contribution(kIndex, kFirst, child);
    frame.header.dtype = static_cast<std::uint8_t>(Dtype::float64);
    std::memcpy(&frame.payload.word[0], &parts[child], sizeof(double));
    last = receive(from_child(frame));
  }
  ASSERT_EQ(last.verdict, kRedirected);
  double sum = 0;
  const HopFrame up = last.packet.frame();
  std::memcpy(&sum, &up.payload.word[0], sizeof sum);
  EXPECT_EQ(sum, 1.0) << "in the order of the children it is 0 or 2";
}

TEST_F(HopProgram, SendsAContributionUpAndAResultDown) {
  SKIP_WITHOUT_KERNEL();
  for (const bool ipv6 : {false, true}) {
    begin(group_of(2, false, ipv6));
    HopFrame frame = contribution(kIndex, kFirst, 0, 2);
    frame.payload.word[0] = 5, frame.payload.word[1] = 50;
    frame.header.root = 3, frame.header.meaning = 4;
    EXPECT_EQ(receive(from_child(frame)).verdict, kDropped);
    frame.header.child = 1, frame.payload.word[0] = 7, frame.payload.word[1] = 70;
    const Outcome up = receive(from_child(frame));
    ASSERT_EQ(up.verdict, kRedirected);
    HopFrame right = frame;
    right.header.group = group_.parent.group;
    right.header.child = 5;
    right.header.flags = kHopFull | kHopValue;
    right.payload.word[0] = 12, right.payload.word[1] = 120;
    seal(right, group_.up_key);
    EXPECT_EQ(up.packet.bytes, packet_of(right, group_.self, group_.parent, ipv6).bytes);

    HopFrame result = frame;
    result.payload.word[0] = 1000;
    const Outcome down = receive(from_parent(result, kHopValue | kHopClosed));
    ASSERT_EQ(down.verdict, kRedirected) << "the last child's copy";
    EXPECT_EQ(down.packet.frame().header.kind, kHopResult);
    EXPECT_EQ(down.packet.frame().header.group, group_.child[1].end.group);
    EXPECT_EQ(down.packet.frame().payload.word[0], 1000u);
    EXPECT_EQ(down.packet.udp_sum(), 0xFFFFu);
    const HopFrame got = down.packet.frame();
    EXPECT_EQ(got.header.tag, hop_tag(&group_.down_key, &got.header, &got.payload, 2));
    EXPECT_EQ(count(kHopSent), 3u);
    ASSERT_TRUE(program_->unpin());
  }
}

TEST_F(HopProgram, LeavesADatagramWithoutChecksumWithoutOne) {
  SKIP_WITHOUT_KERNEL();
  begin(group_of(1, false));
  HopFrame frame = contribution(kIndex, kFirst, 0);
  seal(frame, group_.child[0].key);
  const Outcome up = receive(packet_of(frame, group_.child[0].end, group_.self, false, Checksum::none));
  ASSERT_EQ(up.verdict, kRedirected);
  EXPECT_EQ(up.packet.bytes[40], 0);
  EXPECT_EQ(up.packet.bytes[41], 0);
}

TEST_F(HopProgram, AnswersAProbe) {
  SKIP_WITHOUT_KERNEL();
  begin(group_of(2, true));
  HopFrame probe = contribution(kIndex, 4711, 1, 0);
  probe.header.kind = kHopProbe;
  const Outcome answer = receive(from_child(probe));
  ASSERT_EQ(answer.verdict, kRedirected);
  const HopFrame probed = answer.packet.frame();
  EXPECT_EQ(probed.header.kind, kHopProbed);
  EXPECT_EQ(probed.header.sequence, 4711u);
  EXPECT_EQ(probed.header.tag, hop_tag(&group_.down_key, &probed.header, &probed.payload, 0));
  EXPECT_EQ(answer.packet.udp_sum(), 0xFFFFu);
}

TEST_F(HopProgram, RemembersTheLastProbeThatItsParentHasAnswered) {
  SKIP_WITHOUT_KERNEL();
  begin(group_of(2, false));
  const auto answer = [&](std::uint32_t probe, const HopKey& key, const HopEnd& from) {
    HopFrame frame = contribution(kIndex, probe, 0, 0);
    frame.header.kind = kHopProbed;
    seal(frame, key);
    EXPECT_EQ(receive(packet_of(frame, from, group_.self)).verdict, kDropped) << "no process hears of it";
    return program_->group(kIndex)->probed;
  };
  EXPECT_EQ(answer(7, group_.down_key, group_.parent), 0u);
  EXPECT_EQ(program_->group(kIndex)->heard, 0u) << "a stranger's";
  EXPECT_EQ(answer(7, group_.parent_key, group_.parent), 7u);
  EXPECT_EQ(program_->group(kIndex)->heard, 1u);
  EXPECT_EQ(answer(6, group_.parent_key, group_.parent), 7u) << "a copy that came late";
  EXPECT_EQ(answer(8, group_.down_key, group_.parent), 7u);
  EXPECT_EQ(answer(8, group_.parent_key, group_.child[0].end), 7u);
  EXPECT_EQ(count(kHopStrangers), 3u);
}

TEST_F(HopProgram, LearnsAPlaceOnlyFromWhatIsNew) {
  SKIP_WITHOUT_KERNEL();
  begin(group_of(2, true));
  const auto from_elsewhere = [&](HopFrame frame) {
    Packet packet = from_child(frame);
    std::memset(&packet.bytes[6], 0x66, 6);
    return receive(packet);
  };
  const auto sent_to = [](const Outcome& outcome) {
    EXPECT_EQ(outcome.verdict, kRedirected);
    return std::string(outcome.packet.bytes.begin(), outcome.packet.bytes.begin() + 6);
  };
  const std::string elsewhere(6, 0x66);
  const auto learned = [&] {
    const HopGroup group = *program_->group(kIndex);
    return std::string(std::begin(group.child[0].end.mac), std::end(group.child[0].end.mac));
  };
  const std::string home = learned();
  HopFrame probe = contribution(kIndex, 4711, 0, 0);
  probe.header.kind = kHopProbe;
  EXPECT_EQ(sent_to(from_elsewhere(probe)), elsewhere);
  receive(from_child(contribution(kIndex, kFirst, 0)));
  EXPECT_EQ(from_elsewhere(contribution(kIndex, kFirst, 0)).verdict, kDropped) << "a copy before the answer";
  receive(from_child(contribution(kIndex, kFirst, 1)));
  EXPECT_EQ(sent_to(from_elsewhere(contribution(kIndex, kFirst, 0))), elsewhere) << "the member has a new way back";
  EXPECT_EQ(sent_to(receive(from_child(contribution(kIndex, kFirst, 0)))), home);
  EXPECT_EQ(learned(), home);
  from_elsewhere(contribution(kIndex, kFirst + 1, 0));
  EXPECT_EQ(learned(), elsewhere) << "a new number";
}

TEST_F(HopProgram, BelievesNoStranger) {
  SKIP_WITHOUT_KERNEL();
  begin(group_of(2, true));
  const HopFrame good = contribution(kIndex, kFirst, 1);
  const auto refused = [&](auto change, const char* name) {
    HopFrame frame = good;
    HopEnd from = group_.child[1].end;
    HopKey key = group_.child[1].key;
    change(frame, from, key);
    const std::uint64_t before = count(kHopStrangers);
    seal(frame, key);
    EXPECT_EQ(receive(packet_of(frame, from, group_.self)).verdict, kDropped) << name;
    EXPECT_EQ(count(kHopStrangers), before + 1) << name;
  };
  refused([](HopFrame&, HopEnd&, HopKey& key) { key.word[0]++; }, "another key");
  refused([](HopFrame&, HopEnd& from, HopKey&) { from.address[3]++; }, "another address");
  refused([](HopFrame&, HopEnd& from, HopKey&) { from.port++; }, "another port");
  refused([](HopFrame& frame, HopEnd&, HopKey&) { frame.header.group = 2; }, "no group");
  refused([](HopFrame& frame, HopEnd&, HopKey&) { frame.header.group = 1'000'000; }, "beyond the table");
  refused([](HopFrame& frame, HopEnd&, HopKey&) { frame.header.child = 2; }, "no child");
  refused([](HopFrame& frame, HopEnd&, HopKey&) { frame.header.child = 0; }, "a sibling");
  refused([](HopFrame& frame, HopEnd&, HopKey&) { frame.header.version++; }, "another version");
  refused([](HopFrame& frame, HopEnd&, HopKey&) { frame.header.kind = kHopResult; }, "a result for the root");
  for (std::size_t byte = 0; byte < kHopHeaderBytes + 8; ++byte) {
    Packet packet = from_child(good);
    packet.bytes[packet.udp_at() + 8 + byte] ^= 1;
    EXPECT_EQ(receive(packet).verdict, kDropped) << byte;
  }
  for (const std::size_t bytes : {43u, 50u, 73u, 81u}) {
    Packet packet = from_child(good);
    packet.bytes.resize(bytes);
    const int verdict = receive(packet).verdict;
    EXPECT_TRUE(verdict == kDropped || verdict == kGoesOn) << bytes;
  }
  EXPECT_EQ(count(kHopFrames), 0u);
  EXPECT_EQ(program_->look(*program_->group(kIndex), kFirst)->claimed, 0u);
}

TEST_F(HopProgram, LeavesOtherTrafficAlone) {
  SKIP_WITHOUT_KERNEL();
  begin(group_of(2, true));
  HopEnd elsewhere = group_.self;
  elsewhere.port = 1;
  EXPECT_EQ(receive(packet_of(contribution(kIndex, kFirst, 1), group_.child[1].end, elsewhere)).verdict, kGoesOn);
  Packet packet = from_child(contribution(kIndex, kFirst, 1));
  packet.bytes[23] = 6;
  EXPECT_EQ(receive(packet).verdict, kGoesOn) << "TCP";
  packet = from_child(contribution(kIndex, kFirst, 1));
  packet.bytes[20] = 0x20;
  EXPECT_EQ(receive(packet).verdict, kGoesOn) << "a fragment";
  EXPECT_EQ(count(kHopStrangers), 0u);
}

TEST_F(HopProgram, GivesDisagreementToTheDaemon) {
  SKIP_WITHOUT_KERNEL();
  begin(group_of(2, true));
  EXPECT_EQ(receive(from_child(contribution(kIndex, kFirst, 0))).verdict, kDropped);
  HopFrame other = contribution(kIndex, kFirst, 1);
  other.header.op = 1;
  EXPECT_EQ(receive(from_child(other)).verdict, kGoesOn);
}

TEST_F(HopProgram, StopsWhenTheLeaseEnds) {
  SKIP_WITHOUT_KERNEL();
  begin(group_of(1, true));
  ASSERT_TRUE(program_->renew_lease(1));
  EXPECT_EQ(receive(from_child(contribution(kIndex, kFirst, 0))).verdict, kGoesOn) << "the port may be another's";
  EXPECT_EQ(count(kHopExpired), 1u);
  ASSERT_TRUE(program_->renew_lease(~std::uint64_t{0}));
  EXPECT_EQ(receive(from_child(contribution(kIndex, kFirst, 0))).verdict, kRedirected);
}

TEST_F(HopProgram, FreezesBeforeAVerdict) {
  SKIP_WITHOUT_KERNEL();
  begin(group_of(2, true));
  for (const unsigned child : {0u, 1u}) receive(from_child(contribution(kIndex, kFirst, child)));
  receive(from_child(contribution(kIndex, kFirst + 1, 0)));
  ASSERT_TRUE(program_->freeze(kIndex));
  EXPECT_EQ(receive(from_child(contribution(kIndex, kFirst + 1, 1))).verdict, kDropped);
  EXPECT_EQ(receive(from_child(contribution(kIndex, kFirst, 1))).verdict, kRedirected);
  const HopGroup group = *program_->group(kIndex);
  const HopSlot answered = *program_->look(group, kFirst), open = *program_->look(group, kFirst + 1);
  EXPECT_TRUE(hop_is_answered(&answered, kFirst));
  EXPECT_FALSE(hop_is_answered(&open, kFirst + 1));
}

}  // namespace
}  // namespace sumac::kernel
