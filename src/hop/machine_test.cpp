#include "hop/machine.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>

#include "base/random.hpp"
#include "base/siphash.hpp"
#include "hop/element.h"

namespace {

constexpr std::uint8_t kSum = 2, kUint64 = 2;
constexpr HopPlace kRoot{.children = 2, .slots = 2, .is_root = 1}, kLeaf{.children = 2, .slots = 2, .is_root = 0};

HopHeader contribution(std::uint32_t sequence, std::uint8_t child, std::uint8_t coll = kHopAllreduce,
                       int flags = kHopFull) {
  HopHeader h{};
  h.magic = kHopMagic;
  h.version = kHopVersion;
  h.kind = kHopContribute;
  h.flags = static_cast<std::uint8_t>(flags);
  h.child = child;
  h.coll = coll;
  h.op = kSum;
  h.dtype = kUint64;
  h.payload_bytes = 8;
  h.sequence = sequence;
  return h;
}

HopHeader result(HopHeader of, int flags) {
  of.kind = kHopResult;
  of.flags = static_cast<std::uint8_t>(flags);
  of.child = 0;
  return of;
}

/// A slot, and the steps of a frame in a row.
struct Slot {
  explicit Slot(const HopPlace& at, std::uint32_t first = 10) : place(at) { hop_begin(&slot, first, at.slots, 0); }

  HopWork receive(const HopHeader& frame, std::uint64_t value) {
    HopPayload payload{};
    payload.word[0] = value;
    HopWork work = hop_claim(&place, &slot, &frame);
    was_new = (work.todo & kHopNew) != 0;
    work.todo &= ~std::uint32_t{kHopNew};
    if (work.todo & kHopStore) {
      hop_store(&slot.buffers, &payload, hop_words(&frame), work.part);
      work = hop_stored(&place, &slot, &frame);
    }
    if (work.todo & kHopFold) {
      hop_fold(&slot.buffers, &frame, &place, slot.given);
      work = hop_folded(&place, &slot, &frame);
    }
    return work;
  }
  std::uint64_t value() const { return slot.buffers.value.word[0]; }

  HopPlace place;
  HopSlot slot{};
  bool was_new = false;  ///< The last frame was.
};

TEST(HopMachine, TheLastContributionCarriesTheSum) {
  Slot root(kRoot);
  EXPECT_EQ(root.receive(contribution(10, 1), 5).todo, 0u);
  const HopWork last = root.receive(contribution(10, 0), 7);
  EXPECT_EQ(last.todo, kHopDown);
  EXPECT_EQ(last.flags, kHopValue | kHopClosed);
  EXPECT_EQ(root.value(), 12u);
  EXPECT_TRUE(hop_is_answered(&root.slot, 10));
  EXPECT_EQ(root.receive(contribution(10, 1), 5).todo, kHopBack | kHopRepeated);
  EXPECT_EQ(root.value(), 12u);
}

TEST(HopMachine, LeafSendsUpAgainUntilItsParentAnswers) {
  Slot leaf(kLeaf);
  EXPECT_EQ(leaf.receive(contribution(10, 0), 5).todo, 0u);
  EXPECT_EQ(leaf.receive(contribution(10, 1), 7).todo, kHopUp);
  EXPECT_EQ(leaf.receive(contribution(10, 0), 5).todo, kHopUp | kHopRepeated);
  EXPECT_FALSE(hop_is_answered(&leaf.slot, 10));
  EXPECT_EQ(leaf.receive(result(contribution(10, 0), kHopValue | kHopClosed), 100).todo, kHopDown);
  EXPECT_EQ(leaf.value(), 100u);
  EXPECT_EQ(leaf.receive(contribution(10, 0), 5).todo, kHopBack | kHopRepeated);
  EXPECT_EQ(leaf.receive(result(contribution(10, 0), kHopValue | kHopClosed), 100).todo, kHopRepeated);
}

TEST(HopMachine, BroadcastIsAnsweredByItsSourceAndClosedByAll) {
  Slot root(kRoot);
  HopWork work = root.receive(contribution(10, 1, kHopBcast, kHopFull | kHopValue), 9);
  EXPECT_EQ(work.todo, kHopDown);
  EXPECT_EQ(work.flags, kHopValue);
  work = root.receive(contribution(10, 0, kHopBcast), 0);
  EXPECT_EQ(work.todo, kHopDown);
  EXPECT_EQ(work.flags, kHopValue | kHopClosed);
  EXPECT_EQ(root.value(), 9u);
}

TEST(HopMachine, BroadcastThatComesBeforeTheCallsAnswersThem) {
  Slot leaf(kLeaf);
  EXPECT_EQ(leaf.receive(result(contribution(10, 0, kHopBcast), kHopValue), 9).todo, kHopDown);
  EXPECT_EQ(leaf.receive(contribution(10, 0, kHopBcast), 0).todo, kHopBack);
  EXPECT_EQ(leaf.value(), 9u);
  EXPECT_EQ(leaf.receive(contribution(10, 1, kHopBcast), 0).todo, kHopUp | kHopBack);
  EXPECT_EQ(leaf.receive(result(contribution(10, 0, kHopBcast), kHopValue | kHopClosed), 9).todo, kHopDown);
}

/// Members 3 and 5 are below, and 5 alone may be the root of a reduce.
HopPlace with_members(HopPlace place) {
  place.alone[0] = 3;
  place.alone[1] = 5;
  return place;
}

HopHeader reduce(std::uint8_t child, int flags) {
  HopHeader h = contribution(10, child, kHopReduce, flags);
  h.root = 5;
  return h;
}

TEST(HopMachine, ReduceIsAnsweredWithoutItsRootAndClosedByIt) {
  Slot root(with_members(kRoot));
  HopWork work = root.receive(reduce(0, kHopFull | kHopValue), 9);
  EXPECT_EQ(work.todo, kHopDown);
  EXPECT_EQ(work.flags, kHopValue);
  EXPECT_EQ(root.receive(reduce(0, kHopFull | kHopValue), 9).todo, kHopBack | kHopRepeated);
  work = root.receive(reduce(1, kHopFull), 1000);
  EXPECT_EQ(work.todo, kHopDown);
  EXPECT_EQ(work.flags, kHopValue | kHopClosed);
  EXPECT_EQ(root.value(), 9u);
  EXPECT_EQ(root.receive(reduce(1, kHopFull), 1000).todo, kHopBack | kHopRepeated);
}

TEST(HopMachine, ReduceWaitsForAllOtherParts) {
  Slot root(with_members(kRoot));
  EXPECT_EQ(root.receive(reduce(1, kHopFull), 0).todo, 0u);
  EXPECT_EQ(root.receive(reduce(1, kHopFull), 0).todo, kHopRepeated);
  EXPECT_EQ(root.receive(reduce(0, kHopFull | kHopValue), 9).todo, kHopDown);
  EXPECT_EQ(root.value(), 9u);
}

TEST(HopMachine, ALeafOfAReducesRootSendsTheOthersSumAheadOfIt) {
  Slot leaf(with_members(kLeaf));
  HopWork work = leaf.receive(reduce(0, kHopFull | kHopValue), 9);
  EXPECT_EQ(work.todo, kHopUp);
  EXPECT_EQ(work.flags, kHopValue);
  EXPECT_EQ(leaf.receive(reduce(0, kHopFull | kHopValue), 9).todo, kHopUp | kHopRepeated) << "it may be lost";
  EXPECT_EQ(leaf.receive(result(reduce(0, 0), kHopValue), 100).todo, kHopDown);
  work = leaf.receive(reduce(1, kHopFull), 0);
  EXPECT_EQ(work.todo, kHopUp | kHopBack);
  EXPECT_TRUE(work.flags & kHopFull);
  EXPECT_EQ(leaf.value(), 100u);
  EXPECT_EQ(leaf.receive(reduce(1, kHopFull), 0).todo, kHopUp | kHopBack | kHopRepeated) << "it is not closed";
  EXPECT_EQ(leaf.receive(result(reduce(0, 0), kHopValue | kHopClosed), 100).todo, kHopDown);
  EXPECT_EQ(leaf.receive(reduce(1, kHopFull), 0).todo, kHopBack | kHopRepeated);
}

TEST(HopMachine, ANodeWithAReducesRootAloneGivesNothingAndTakesTheResultEarly) {
  HopPlace alone = with_members(kLeaf);
  alone.children = 1;
  alone.alone[0] = 5;
  Slot leaf(alone);
  EXPECT_EQ(leaf.receive(result(reduce(0, 0), kHopValue), 100).todo, kHopDown);
  EXPECT_EQ(leaf.receive(reduce(0, kHopFull), 0).todo, kHopUp | kHopBack);
  Slot other(alone);
  HopWork work = other.receive(reduce(0, kHopFull), 0);
  EXPECT_EQ(work.todo, kHopUp);
  EXPECT_EQ(work.flags, +kHopFull);
  EXPECT_EQ(other.receive(reduce(0, kHopFull), 0).todo, kHopUp | kHopRepeated);
}

TEST(HopMachine, ANodesPartOfAReduceComesOnceAndItsMembersLater) {
  HopPlace above = kRoot;
  above.alone[0] = 3;
  above.alone[1] = kHopMany;  // The root, 5, is one of these.
  Slot root(above);
  EXPECT_EQ(root.receive(reduce(0, kHopFull | kHopValue), 9).todo, 0u);
  EXPECT_EQ(root.receive(reduce(1, kHopValue), 20).todo, kHopDown);
  EXPECT_EQ(root.receive(reduce(1, kHopFull | kHopValue), 77).flags, kHopValue | kHopClosed);
  EXPECT_EQ(root.value(), 29u);
}

/// A node believes the sender's place of a new frame only: anybody can send a copy of one that was seen.
TEST(HopMachine, CopyOfAFrameIsNotNew) {
  const HopHeader sum = contribution(10, 0), call = contribution(10, 0, kHopBcast),
                  source = contribution(10, 1, kHopBcast, kHopFull | kHopValue);
  const HopHeader answered = result(call, kHopValue), closed = result(call, kHopValue | kHopClosed);
  const auto news = [](const HopPlace& place, std::initializer_list<HopHeader> frames) {
    Slot node(place);
    std::string found;
    for (const HopHeader& frame : frames) {
      (void)node.receive(frame, 5);
      found += node.was_new ? 'n' : '-';
    }
    return found;
  };
  EXPECT_EQ(news(kRoot, {sum, sum, contribution(10, 1), sum, contribution(12, 0), sum, contribution(12, 0)}),
            "n-n-n--");
  EXPECT_EQ(
      news(kLeaf, {sum, contribution(10, 1), result(sum, kHopValue | kHopClosed), result(sum, kHopValue | kHopClosed)}),
      "nnn-");
  EXPECT_EQ(news(kRoot, {call, call, source, source, call}), "n-n--");
  EXPECT_EQ(news(kLeaf, {call, answered, answered, closed, closed, source, source}), "nn-n-n-");
  EXPECT_EQ(news(kLeaf, {source, answered, answered, closed, closed}), "nn-n-");
}

TEST(HopMachine, SumOfAnotherLifeIsNotTaken) {
  Slot leaf(kLeaf);
  EXPECT_EQ(leaf.receive(result(contribution(10, 0), kHopValue | kHopClosed), 9).todo, 0u);
  EXPECT_FALSE(hop_is_answered(&leaf.slot, 10));
}

TEST(HopMachine, NumbersAreTakenAlsoBehindTheWrap) {
  for (const std::uint32_t first : {0u, 1u, 0xFFFFFFFEu, 0x7FFFFFFEu, 0x80000000u})
    for (std::uint32_t n = first & ~1u; n < (first & ~1u) + 8; n += 2) {
      Slot root(kRoot, n);
      EXPECT_FALSE(hop_is_answered(&root.slot, n)) << n;
      EXPECT_EQ(root.receive(contribution(n - 2, 0), 1).todo & ~kHopDaemon, 0u) << "a number before the group";
      root.receive(contribution(n, 0), 1);
      EXPECT_EQ(root.receive(contribution(n, 1), 1).todo, kHopDown) << n;
      EXPECT_EQ(root.receive(contribution(n + 2, 0), 1).todo, 0u);
      EXPECT_EQ(root.receive(contribution(n, 1), 1).todo, 0u) << "late";
    }
}

TEST(HopMachine, DisagreementReachesTheDaemon) {
  const HopHeader right = contribution(10, 1);
  auto differing = std::array{right, right, right, right, right, right};
  differing[0].coll = kHopBcast;
  differing[1].op = 1;
  differing[2].dtype = 3;
  differing[3].payload_bytes = 16;
  differing[4].root = 1;
  differing[5].meaning = 1;
  for (const auto& frame : differing) {
    Slot root(kRoot);
    root.receive(contribution(10, 0), 5);
    EXPECT_EQ(root.receive(frame, 5).todo, kHopDaemon);
  }
}

TEST(HopMachine, FrozenSlotAnswersOnlyWhatItHasAnswered) {
  Slot answered(kRoot), open(kRoot);
  answered.receive(contribution(10, 0), 5);
  answered.receive(contribution(10, 1), 5);
  open.receive(contribution(10, 0), 5);
  hop_freeze(&answered.slot);
  hop_freeze(&open.slot);
  EXPECT_EQ(answered.receive(contribution(10, 0), 5).todo, kHopBack | kHopRepeated);
  EXPECT_EQ(answered.receive(contribution(12, 0), 5).todo, 0u);
  EXPECT_TRUE(hop_is_answered(&answered.slot, 10));
  EXPECT_EQ(open.receive(contribution(10, 1), 5).todo, 0u);
  EXPECT_FALSE(hop_is_answered(&open.slot, 10));
}

TEST(HopPayload, FoldsInTheOrderOfChildrenOrOfTheMerges) {
  const double values[] = {1e16, 1.0, -1e16, 1.0};
  auto buffers = std::make_unique<HopBuffers>();
  HopHeader frame = contribution(10, 0);
  frame.dtype = 5;
  for (const unsigned child : {3u, 1u, 0u, 2u}) {
    HopPayload payload{};
    std::memcpy(&payload.word[0], &values[child], sizeof(double));
    ASSERT_EQ(hop_store(buffers.get(), &payload, 1, child), 1);
  }
  HopPlace place{};
  place.children = 4;
  const auto sum_of = [&](std::uint64_t given) {
    EXPECT_EQ(hop_fold(buffers.get(), &frame, &place, given), 1);
    double sum = 0;
    std::memcpy(&sum, &buffers->value.word[0], sizeof sum);
    return sum;
  };
  EXPECT_EQ(sum_of(0b1111), ((values[0] + values[1]) + values[2]) + values[3]);
  EXPECT_EQ(sum_of(0b1011), (values[0] + values[1]) + values[3]);
  EXPECT_EQ(sum_of(0b0100), values[2]);
  place.merges = 3;
  place.merge[0] = {1, 3};
  place.merge[1] = {0, 2};
  place.merge[2] = {1, 0};
  EXPECT_EQ(sum_of(0b1011), (values[0] + values[1]) + values[3]) << "where one is missing they are for nobody";
  EXPECT_EQ(sum_of(0b1111), (values[1] + values[3]) + (values[0] + values[2]));
}

TEST(HopPayload, TagIsSipHashOfWhatFollowsIt) {
  sumac::Random random(41);
  for (std::uint32_t words = 0; words <= kHopPayloadWords; words += 1 + words / 3) {
    HopFrame frame{};
    HopKey key{};
    for (auto& word : key.word) word = random.next();
    for (std::uint32_t i = 0; i < words; ++i) frame.payload.word[i] = random.next();
    frame.header = contribution(static_cast<std::uint32_t>(random.next()), 3);
    frame.header.root = 0x1234;
    frame.header.meaning = 0x5678;
    sumac::Secret secret{};
    static_assert(sizeof secret >= sizeof key);
    std::memcpy(&secret, &key, sizeof key);
    const auto* bytes = reinterpret_cast<const std::byte*>(&frame) + offsetof(HopHeader, kind);
    EXPECT_EQ(hop_tag(&key, &frame.header, &frame.payload, words),
              sumac::siphash(secret, {bytes, 8 * (words + kHopTaggedWords)}));
  }
}

TEST(HopPayload, AdmitsNoFrameThatANodeCannotWorkWith) {
  const HopHeader right = contribution(1, 1);
  EXPECT_TRUE(hop_admits(&right, 2, 128));
  const auto refused = [](auto change) {
    HopHeader frame = contribution(1, 1);
    change(frame);
    return hop_admits(&frame, 2, 128) == 0;
  };
  EXPECT_TRUE(refused([](HopHeader& h) { h.magic = 0; }));
  EXPECT_TRUE(refused([](HopHeader& h) { h.version = 2; }));
  EXPECT_TRUE(refused([](HopHeader& h) { h.reserved = 1; }));
  EXPECT_TRUE(refused([](HopHeader& h) { h.kind = kHopProbed; }));
  EXPECT_TRUE(refused([](HopHeader& h) { h.child = 2; }));
  EXPECT_TRUE(refused([](HopHeader& h) { h.payload_bytes = 129; }));
  EXPECT_TRUE(refused([](HopHeader& h) { h.coll = 6; }));
  EXPECT_TRUE(refused([](HopHeader& h) { h.coll = 1; })) << "a barrier has no payload";
  EXPECT_TRUE(refused([](HopHeader& h) { h.op = 3; })) << "products are not for the kernel";
  EXPECT_TRUE(refused([](HopHeader& h) { h.coll = kHopBcast, h.dtype = 16; }));
  EXPECT_TRUE(refused([](HopHeader& h) { h.kind = kHopProbe; })) << "a probe has no payload";
}

}  // namespace
