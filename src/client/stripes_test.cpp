// The cutting of operations: every element once, alike at every member, in proportion to the rates.
#include "client/stripes.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace sumac::client {
namespace {

using proto::Operation;
using proto::Range;
using wire::Coll;

Operation allreduce(std::uint64_t count, bool streaming = false) {
  Operation operation;
  operation.coll = Coll::allreduce;
  operation.op = Op::sum;
  operation.dtype = Dtype::int32;
  operation.count = count;
  operation.streaming = streaming;
  return operation;
}

struct Row {
  const char* name;
  std::vector<std::uint64_t> weights;
  std::uint64_t count;  ///< Elements of 4 bytes; an OST holds 32 of them.
  bool streaming;
  std::uint32_t turn, turn_after;
  std::vector<Stripe> stripes;
};

TEST(Stripes, OfWhatSizeGoWhere) {
  const std::vector<Row> rows = {
      {"nothing to send goes to one group", {1, 1}, 0, false, 0, 1, {{0, {0, 0}}}},
      {"one OST's payload goes to one group", {1, 1}, 32, false, 0, 1, {{0, {0, 32}}}},
      {"and the next one to the next group", {1, 1}, 32, false, 1, 0, {{1, {0, 32}}}},
      {"one element more is cut, at a whole fragment", {1, 1}, 33, false, 0, 0, {{0, {0, 32}}, {1, {32, 33}}}},
      {"two fragments of three groups: the two whose turn it is",
       {1, 1, 1},
       64,
       false,
       2,
       1,
       {{2, {0, 32}}, {0, {32, 64}}}},
      {"a large one in equal parts", {1, 1}, 640, false, 0, 0, {{0, {0, 320}}, {1, {320, 640}}}},
      {"by rates, 3 to 1", {3, 1}, 640, false, 0, 0, {{0, {0, 480}}, {1, {480, 640}}}},
      {"a group too slow to be worth a fragment gets none", {100, 1}, 64, false, 0, 0, {{0, {0, 64}}}},
      {"a stream below twice the least stripe stays whole", {1, 1}, 511, true, 0, 1, {{0, {0, 511}}}},
      {"from there on it is cut, at a cache line", {1, 1}, 520, true, 0, 0, {{0, {0, 272}}, {1, {272, 520}}}},
      {"one group takes everything", {1}, 100000, true, 0, 0, {{0, {0, 100000}}}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const StripeRule rule{row.weights, 128, 1024};
    std::array<Stripe, kChannelsMax> out;
    std::uint32_t turn = row.turn;
    const auto n = cut_into_stripes(rule, allreduce(row.count, row.streaming), 4, turn, out);
    ASSERT_EQ(n, row.stripes.size());
    EXPECT_EQ(turn, row.turn_after);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(out[i].channel, row.stripes[i].channel) << i;
      EXPECT_EQ(out[i].elements.from, row.stripes[i].elements.from) << i;
      EXPECT_EQ(out[i].elements.to, row.stripes[i].elements.to) << i;
    }
  }
}

TEST(Stripes, CoverEveryElementOnceWhateverTheSizeAndTheGroups) {
  for (std::uint32_t groups = 1; groups <= 9; ++groups)
    for (const std::uint64_t element : {1, 2, 3, 4, 8, 12, 16})
      for (const std::uint64_t count :
           std::initializer_list<std::uint64_t>{1, 7, 31, 32, 33, 100, 257, 4096, 70001, (1ull << 32) + 1, 1ull << 40})
        for (const bool streaming : {false, true}) {
          StripeRule rule{{}, 128, 512};
          for (std::uint32_t g = 0; g < groups; ++g) rule.weights.push_back(1 + g * g);
          std::array<Stripe, kChannelsMax> out;
          std::uint32_t turn = groups / 2;
          const auto n = cut_into_stripes(rule, allreduce(count, streaming), element, turn, out);
          ASSERT_GE(n, 1u);
          ASSERT_LE(n, groups);
          ASSERT_LT(turn, groups);
          std::uint64_t at = 0;
          std::uint64_t used = 0;
          for (std::size_t i = 0; i < n; ++i) {
            ASSERT_EQ(out[i].elements.from, at);
            ASSERT_GT(out[i].elements.to, at);
            ASSERT_EQ(used >> out[i].channel & 1, 0u) << "a group twice";
            used |= std::uint64_t{1} << out[i].channel;
            at = out[i].elements.to;
          }
          ASSERT_EQ(at, count) << groups << " groups, " << element << " bytes, " << count;
        }
}

TEST(Stripes, TreesOfDifferentRatesWeighAccordinglyAndGroupsOnOneTreeShareIt) {
  const ChannelRate slow{0, 40'000'000}, fast{1, 120'000'000}, unknown{2, 0};
  EXPECT_EQ(weights_of(std::vector{slow, fast}), (std::vector<std::uint64_t>{2'560'000'000, 7'680'000'000}));
  const auto shared = weights_of(std::vector{fast, fast, slow});
  EXPECT_EQ(shared[0], shared[1]);
  EXPECT_EQ(2 * shared[0], 3 * shared[2]) << "120 for two groups beside 40 for one";
  EXPECT_EQ(weights_of(std::vector{unknown, unknown}), (std::vector<std::uint64_t>{32, 32}))
      << "two groups on one tree";
  EXPECT_EQ(weights_of(std::vector{slow, unknown})[0], weights_of(std::vector{slow, unknown})[1]);
}

TEST(Stripes, RatesBeyondAllLinksStillShareTheVector) {
  const std::vector<ChannelRate> channels(kChannelsMax, ChannelRate{0, ~std::uint64_t{0}});
  StripeRule rule{weights_of(channels), 128, 1024};
  for (std::uint32_t i = 0; i < kChannelsMax; ++i) rule.weights[i] *= kChannelsMax;  // As if each had its own tree.
  std::array<Stripe, kChannelsMax> out;
  std::uint32_t turn = 0;
  ASSERT_EQ(cut_into_stripes(rule, allreduce(32 * kChannelsMax), 4, turn, out), kChannelsMax);
  for (std::uint32_t i = 0; i < kChannelsMax; ++i) EXPECT_EQ(out[i].elements.size(), 32u) << i;
}

TEST(Stripes, AStreamIsCutFromWhereTheTimeSavedIsLongerThanAMessageCosts) {
  EXPECT_EQ(stream_stripe_min(std::vector{ChannelRate{0, 1'000'000'000}}, 65536), 2500u);
  EXPECT_EQ(stream_stripe_min(std::vector{ChannelRate{0, 100'000'000'000}}, 65536), 65536u) << "a chunk is the most";
  EXPECT_EQ(stream_stripe_min(std::vector{ChannelRate{0, 0}}, 65536), 65536u) << "not known: a chunk";
  EXPECT_EQ(stream_stripe_min(std::vector{ChannelRate{0, 1000}}, 65536), 64u) << "a cache line is the least";
}

TEST(Stripes, AStreamIsCutWhereWaitingForChunksAndHandlingThemCostLeastTogether) {
  constexpr std::uint64_t kMbit = 1'000'000;
  const struct {
    const char* name;
    ChunkPath path;
    std::uint64_t bytes;
    std::size_t groups;
    std::uint32_t chunk;
  } rows[] = {
      {"128 KiB at 60 Mbit/s: thirteen chunks", {60 * kMbit, 50'000, 1}, 131072, 1, 9856},
      {"1 MiB: more of them, larger ones", {60 * kMbit, 50'000, 1}, 1 << 20, 1, 28032},
      {"16 MiB: whole chunks", {60 * kMbit, 50'000, 1}, 16 << 20, 1, 0},
      {"64 KiB at 10 Gbit/s: through before it could be handled twice", {10'000 * kMbit, 5'000, 1}, 65536, 1, 0},
      {"a slow link: not in fragments smaller than the other tree's", {kMbit / 10, 50'000, 1}, 4096, 1, 1024},
      {"far away: a window must fill the way", {200 * kMbit, 5'000'000, 1}, 65536, 1, 31232},
      {"no rate is known", {0, 50'000, 1}, 65536, 1, 0},
      {"nothing to send", {60 * kMbit, 50'000, 1}, 0, 1, 1024},
      {"64 KiB: a window is a train up and one down", {60 * kMbit, 50'000, 1}, 65536, 1, 8192},
      {"two levels (256 KiB on two rails): two up, two down", {40 * kMbit, 100'000, 2}, 131072, 2, 16384},
      {"however deep, a message alone is cut in eight", {60 * kMbit, 50'000, 4}, 65536, 1, 8192},
      {"a quarter of the rate and of the bytes for each of four trees", {15 * kMbit, 50'000, 2}, 16384, 4, 3456},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(chunk_of(chunk_rule(row.path, 16, row.groups), row.bytes, 65536), row.chunk);
  }
}

TEST(Stripes, AWindowOfChunksIsATrainOnEachConnectionHoweverShortTheMessages) {
  for (const std::uint32_t window : {4u, 16u, 64u})
    for (const std::uint32_t connections : {1u, 2u, 3u})
      for (std::uint64_t bytes = 512 << 10; bytes <= 16 << 20; bytes *= 2) {
        const auto chunk = chunk_of(chunk_rule({1'000'000, 0, connections}, window, 1), bytes, 65536);
        EXPECT_GE(std::uint64_t{chunk == 0 ? 65536 : chunk} * window,
                  std::min<std::uint64_t>(2 * connections * kTrainBytes, window * 65536))
            << window << " " << connections << " " << bytes;
      }
}

TEST(Stripes, APartGivesAndKeepsWhatTheWholeDoesThere) {
  std::vector<std::byte> in(400), out(400);
  const auto offset = [&](const std::byte* at, const std::vector<std::byte>& of) { return at - of.data(); };
  Operation whole = allreduce(100);
  whole.src = in;
  whole.dst = out;
  auto part = part_of(whole, 4, {40, 70});
  EXPECT_EQ(part.count, 30u);
  EXPECT_EQ(part.give.from, 0u);
  EXPECT_EQ(part.give.to, 30u);
  EXPECT_EQ(offset(part.src.data(), in), 160);
  EXPECT_EQ(part.src.size(), 120u);
  EXPECT_EQ(offset(part.dst.data(), out), 160);

  // For reduce_scatter: this member keeps [50, 75).
  whole.coll = Coll::reduce_scatter;
  whole.keep = {50, 75};
  whole.dst = std::span(out).first(100);
  part = part_of(whole, 4, {40, 70});
  EXPECT_EQ(part.keep.from, 10u);
  EXPECT_EQ(part.keep.to, 30u);
  EXPECT_EQ(offset(part.dst.data(), out), 0);
  EXPECT_EQ(part.dst.size(), 80u);
  part = part_of(whole, 4, {70, 100});
  EXPECT_EQ(part.keep.from, 0u);
  EXPECT_EQ(part.keep.to, 5u);
  EXPECT_EQ(offset(part.dst.data(), out), 80);
  part = part_of(whole, 4, {0, 40});
  EXPECT_EQ(part.keep.size(), 0u);
  EXPECT_TRUE(part.dst.empty());

  // For bcast: only the root contributes.
  whole.coll = Coll::bcast;
  whole.op = Op::null;
  whole.give = {0, 0};
  whole.keep = {0, proto::kToTheEnd};
  whole.src = {};
  whole.dst = out;
  part = part_of(whole, 4, {40, 70});
  EXPECT_EQ(part.give.size(), 0u);
  EXPECT_TRUE(part.src.empty());
  EXPECT_EQ(part.keep.to, 30u);
}

TEST(Stripes, BlocksOfAnAllgatherGoOnBehindACut) {
  Operation whole;
  whole.coll = Coll::allgather;
  whole.dtype = Dtype::uint8;
  whole.count = 100;
  whole.block = 30;
  whole.first_block = 10;  // The edges are at 10, 40, 70 and 100.
  const struct {
    Range elements;
    std::uint64_t first_block;
  } rows[] = {{{0, 50}, 10}, {{5, 50}, 5},   {{10, 50}, 0}, {{11, 50}, 29},
              {{40, 50}, 0}, {{50, 60}, 20}, {{69, 100}, 1}};
  for (const auto& row : rows) {
    const auto part = part_of(whole, 1, row.elements);
    EXPECT_EQ(part.first_block, row.first_block) << row.elements.from;
    EXPECT_EQ(part.block, 30u);
  }
}

TEST(Stripes, FragmentsOfATiBAreCountedInFull) {
  constexpr std::uint64_t kGiB = 1ull << 30;
  const proto::GroupShape shape{.osts = 8, .stream_window = 16, .payload_per_ost = 128, .chunk_bytes = 65536};
  const struct {
    const char* name;
    std::uint64_t bytes, block, first_block;
    bool streaming;
    std::uint64_t fragments;
  } rows[] = {
      {"a TiB on the low-latency tree", 1024 * kGiB, 0, 0, false, 1ull << 33},
      {"and a byte more", 1024 * kGiB + 1, 0, 0, false, (1ull << 33) + 1},
      {"a TiB streams", 1024 * kGiB, 0, 0, true, 1ull << 24},
      {"just beyond 32 bits of bytes", 4 * kGiB + 1, 0, 0, true, 65537},
      {"parts of members, the first of which is cut", 900 * kGiB + 100, 300 * kGiB, 100, false, 900 * kGiB / 128 + 1},
  };
  for (const auto& row : rows) {
    Operation operation;
    operation.coll = row.block == 0 ? Coll::bcast : Coll::allgather;
    operation.dtype = Dtype::uint8;
    operation.count = row.bytes;
    operation.block = row.block;
    operation.first_block = row.first_block;
    operation.streaming = row.streaming;
    EXPECT_EQ(fragments_of(operation, shape), row.fragments) << row.name;
  }
}

}  // namespace
}  // namespace sumac::client
