// These operations have more bytes, elements or fragments than 32 bits hold: each element arrives where it belongs. A
// pattern of 3 MiB repeats through the memory: an offset that lost its upper bits reads another part of the pattern,
// since 4 GiB is no multiple of 3 MiB.
#include <gtest/gtest.h>

#include <cstring>

#include "base/test_repeated_memory.hpp"
#include "proto/cutting.hpp"
#include "proto/test_tree.hpp"

namespace sumac::proto {
namespace {

using sumac::test::RepeatedMemory;
using wire::Coll;

constexpr std::uint64_t kMiB = 1u << 20, kGiB = 1u << 30, kTiB = 1ull << 40;
constexpr std::size_t kPeriod = 3 * kMiB;

/// A group with chunks of one MiB.
struct LargeChunks : test::StandingGroup {
  explicit LargeChunks(std::uint32_t size) : StandingGroup(size, limits(), job()) {
    make([](ClientGroupConfig& config) { config.chunk_bytes = kMiB; });
  }
  static NodeLimits limits() {
    NodeLimits limits;
    limits.chunk_max = kMiB;
    return limits;
  }
  static JobGrant job() {
    auto job = test::grant();
    job.quota.chunk_bytes = kMiB;
    return job;
  }
};

std::vector<std::byte> pattern() {
  std::vector<std::byte> bytes(kPeriod);
  for (std::size_t i = 0; i < kPeriod; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251 + i / 65'537);
  return bytes;
}

/// Each message begins where the one before it ended, up to the end of the vector.
void expect_in_a_row(const std::vector<wire::AggHeader>& sent, std::uint64_t count, std::uint64_t per_chunk) {
  std::uint64_t at = 0;
  for (const auto& header : sent) {
    ASSERT_EQ(header.first, at);
    ASSERT_EQ(header.count, count);
    at = std::min(count, at + per_chunk);
  }
  EXPECT_EQ(at, count);
}

TEST(Large, a_broadcast_beyond_4_gib_arrives_where_it_belongs) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "one thread: ThreadSanitizer would look at 20 GiB for nothing";
#endif
  LargeChunks world(2);
  // With elements of 8 bytes, 32 bits hold the number of elements, but not that of bytes.
  const std::uint64_t bytes = 4 * kGiB + 5 * kMiB + 12'344, count = bytes / 8;
  constexpr auto kAtOnce = RepeatedMemory::Pages::at_once;
  const RepeatedMemory in(kPeriod, bytes, kAtOnce), out(kPeriod, bytes, kAtOnce);
  const auto given = pattern();
  std::memcpy(in.data(), given.data(), given.size());
  const auto before = world.clients[0]->sent.size();
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    Operation bcast{.coll = Coll::bcast, .dtype = Dtype::int64, .count = count, .streaming = true};
    if (rank == 0) {
      bcast.keep = {0, 0};
      bcast.src = in.all();
    } else {
      bcast.give = {0, 0};
      bcast.dst = out.all();
    }
    ASSERT_TRUE(world.groups[rank]->post(bcast, {}));
  }
  world.tree.run();
  for (const auto& group : world.groups) EXPECT_EQ(group->next_completion().value().status, Errc::ok);
  const auto& sent = world.clients[0]->sent;
  expect_in_a_row({sent.begin() + static_cast<std::ptrdiff_t>(before), sent.end()}, count, kMiB / 8);
  EXPECT_EQ(std::memcmp(out.data(), given.data(), given.size()), 0);
}

TEST(Large, a_tib_is_cut_to_its_very_end) {
  const GroupShape shape{.osts = 8, .stream_window = 16, .payload_per_ost = 1024, .chunk_bytes = 65536};
  const struct {
    const char* name;
    std::uint64_t count, block, first_block;
    bool streaming;
  } rows[] = {
      {"in small fragments", kTiB + 5, 0, 0, false},
      {"in chunks", kTiB + 5, 0, 0, true},
      {"whole parts of three members", 3 * (kTiB / 3), kTiB / 3, 0, true},
      {"parts that a window cuts", kTiB + 5, kTiB / 4, 77, true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Cutting cutting;
    cutting.operation = bounded({.coll = row.block == 0 ? Coll::bcast : Coll::allgather,
                                 .dtype = Dtype::uint8,
                                 .count = row.count,
                                 .block = row.block,
                                 .first_block = row.first_block,
                                 .streaming = row.streaming});
    plan(cutting, shape);
    // Around each offset where a number might lose its upper bits, and at the end, fragments follow each other without
    // a gap.
    for (const std::uint64_t near : {std::uint64_t{0}, 4 * kGiB, 512 * kGiB, row.count}) {
      cutting.sent = near < 4 * kMiB ? 0 : near - 4 * kMiB;
      if (row.block == 0) cutting.sent -= cutting.sent % cutting.per_fragment;
      while (cutting.sent < std::min(row.count, near + 4 * kMiB)) {
        const FragmentRange range = next_fragment(cutting);
        ASSERT_GT(range.elements, 0u);
        ASSERT_LE(range.elements, cutting.per_fragment);
        ASSERT_LE(range.first + range.elements, row.count);
        wire::AggHeader header;
        header.coll = cutting.operation.coll;
        describe_fragment(cutting, range, header);
        ASSERT_EQ(header.first, range.first);
        ASSERT_EQ(header.count, row.count);
        if (row.block == 0 || row.first_block != 0) {
          ASSERT_EQ(range.first, cutting.sent);
        }
        cutting.sent += range.elements;
      }
    }
    EXPECT_EQ(cutting.sent, row.count);
  }
}

}  // namespace
}  // namespace sumac::proto
