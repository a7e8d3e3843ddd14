#include "wire/hop_frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/types.hpp"
#include "wire/agg.hpp"
#include "wire/samples.hpp"

namespace sumac::wire {
namespace {

constexpr HopKey kKey{{7, 11}}, kOther{{7, 12}};

static_assert(kHopBarrier == static_cast<int>(Coll::barrier) && kHopAllreduce == static_cast<int>(Coll::allreduce) &&
              kHopReduce == static_cast<int>(Coll::reduce) && kHopBcast == static_cast<int>(Coll::bcast));
static_assert(sizeof(HopHeader) == kHopHeaderBytes);

HopFrame result() {
  HopFrame frame{};
  frame.header.kind = kHopResult;
  frame.header.flags = kHopValue | kHopClosed;
  frame.header.coll = kHopAllreduce;
  frame.header.op = static_cast<std::uint8_t>(Op::sum);
  frame.header.dtype = static_cast<std::uint8_t>(Dtype::float32);
  frame.header.payload_bytes = 12;
  frame.header.group = 3;
  frame.header.sequence = 0xFFFFFFFE;
  frame.header.root = 1;
  frame.header.meaning = 0x0203;
  frame.payload.word[0] = 0x0102030405060708;
  frame.payload.word[1] = 0xFFFFFFFF0A0B0C0D;
  return frame;
}

std::vector<std::byte> sealed(const HopFrame& frame) {
  HopFrameBytes bytes;
  const auto made = seal_hop_frame(frame, kKey, bytes);
  return {made.begin(), made.end()};
}

TEST(HopFrame, ComesBackAsItWas) {
  const auto bytes = sealed(result());
  ASSERT_EQ(bytes.size(), kHopHeaderBytes + 16u);
  HopFrame out{};
  ASSERT_EQ(open_hop_frame(bytes, kKey, out), Errc::ok);
  EXPECT_EQ(out.header.sequence, 0xFFFFFFFE);
  EXPECT_EQ(out.header.payload_bytes, 12);
  EXPECT_EQ(out.payload.word[0], 0x0102030405060708u);
  EXPECT_EQ(out.payload.word[1], 0x0A0B0C0Du) << "bytes behind the payload do not leave the process";
}

TEST(HopFrame, EveryChangedBitIsFound) {
  auto bytes = sealed(result());
  HopFrame out{};
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    // The group's number is the receiver's own: a leaf sends one result to all its children, with one tag.
    const bool is_group = bit / 8 >= offsetof(HopHeader, group) && bit / 8 < offsetof(HopHeader, tag);
    bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    EXPECT_EQ(open_hop_frame(bytes, kKey, out) == Errc::ok, is_group) << bit;
    bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  }
  EXPECT_EQ(open_hop_frame(bytes, kOther, out), Errc::denied);
}

TEST(HopFrame, EveryOtherLengthIsFound) {
  auto bytes = sealed(result());
  HopFrame out{};
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(open_hop_frame(std::span(bytes).first(size), kKey, out), Errc::invalid) << size;
  bytes.resize(bytes.size() + 8);
  EXPECT_EQ(open_hop_frame(bytes, kKey, out), Errc::invalid);
  bytes.resize(65'000);
  EXPECT_EQ(open_hop_frame(bytes, kKey, out), Errc::invalid);
}

TEST(HopFrame, MembersTakeNothingButAnswers) {
  HopFrame out{};
  const auto opened = [&](auto change) {
    HopFrame frame = result();
    change(frame.header);
    return open_hop_frame(sealed(frame), kKey, out);
  };
  EXPECT_EQ(opened([](HopHeader& h) { h.flags = kHopValue; }), Errc::ok);
  EXPECT_EQ(opened([](HopHeader& h) { h.kind = kHopProbed, h.payload_bytes = 0; }), Errc::ok);
  EXPECT_EQ(opened([](HopHeader& h) { h.kind = kHopProbed; }), Errc::invalid);
  EXPECT_EQ(opened([](HopHeader& h) { h.kind = kHopContribute; }), Errc::invalid);
  EXPECT_EQ(opened([](HopHeader& h) { h.kind = kHopProbe, h.payload_bytes = 0; }), Errc::invalid);
  EXPECT_EQ(opened([](HopHeader& h) { h.flags = kHopClosed; }), Errc::invalid);
  EXPECT_EQ(opened([](HopHeader& h) { h.flags = 0xFF; }), Errc::invalid);
  EXPECT_EQ(opened([](HopHeader& h) { h.coll = 6; }), Errc::invalid);
  EXPECT_EQ(opened([](HopHeader& h) { h.child = 1; }), Errc::invalid);
}

TEST(HopFrame, TooLongIsNotSealed) {
  HopFrame frame = result();
  frame.header.payload_bytes = 8 * kHopPayloadWords + 1;
  EXPECT_TRUE(sealed(frame).empty());
}

}  // namespace
}  // namespace sumac::wire
