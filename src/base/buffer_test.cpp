#include "base/buffer.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <vector>

namespace sumac {
namespace {

constexpr std::size_t kMiB = 1 << 20;

TEST(Buffer, DataIsAlignedAndAsLargeAsAsked) {
  BufferPool pool(8 * kMiB);
  for (const std::size_t size : {0, 1, 255, 256, 257, 2048, 2049, 16384, 16385, 65792, 65793, 1000000}) {
    SCOPED_TRACE(size);
    auto buffer = pool.acquire(size);
    ASSERT_TRUE(buffer);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kBufferAlignment, 0U);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_GE(buffer.capacity(), size);
    std::memset(buffer.data(), 0xab, buffer.capacity());
  }
}

TEST(Buffer, SteadyStateDoesNotAllocate) {
  BufferPool pool(8 * kMiB);
  pool.reserve(1088, 4);
  EXPECT_EQ(pool.stats().allocations, 4U);
  for (int round = 0; round < 100; ++round) {
    std::vector<BufferRef> held;
    for (int i = 0; i < 4; ++i) held.push_back(pool.acquire(1088));
    for (const auto& buffer : held) ASSERT_TRUE(buffer);
  }
  EXPECT_EQ(pool.stats().allocations, 4U);
  EXPECT_EQ(pool.stats().buffers_in_use, 0U);
}

TEST(Buffer, CopiesShareTheBytesAndTheLastOneReturnsThem) {
  BufferPool pool(kMiB);
  auto first = pool.acquire(10);
  EXPECT_TRUE(first.unique());
  auto second = first;
  EXPECT_FALSE(first.unique());
  EXPECT_EQ(first.data(), second.data());
  first.reset();
  EXPECT_FALSE(first);
  EXPECT_TRUE(second.unique());
  EXPECT_EQ(pool.stats().buffers_in_use, 1U);
  second = second;  // NOLINT: on purpose
  EXPECT_TRUE(second.unique());
  second = {};
  EXPECT_EQ(pool.stats().buffers_in_use, 0U);
}

TEST(Buffer, LargeOnesLeaveRoomForSmallOnes) {
  const auto large = BufferPool::footprint(65536), small = BufferPool::footprint(2048);
  BufferPool pool(2 * large + 3 * small, 3 * small);
  auto a = pool.acquire(65536), b = pool.acquire(65536);
  ASSERT_TRUE(a && b);
  EXPECT_FALSE(pool.acquire(65536)) << "what is left is for small ones";
  std::vector<BufferRef> held;
  for (int i = 0; i < 3; ++i) held.push_back(pool.acquire(2048));
  for (const auto& buffer : held) EXPECT_TRUE(buffer);
  EXPECT_FALSE(pool.acquire(1));
  held.clear();
  b.reset();
  EXPECT_TRUE(pool.acquire(65536));
}

TEST(Buffer, AtTheLimitAcquireIsEmptyUntilOneComesBack) {
  BufferPool pool(2 * (256 + 64));
  auto a = pool.acquire(1), b = pool.acquire(256);
  ASSERT_TRUE(a && b);
  EXPECT_FALSE(pool.acquire(1));
  EXPECT_EQ(pool.stats().refusals, 1U);
  a.reset();
  EXPECT_TRUE(pool.acquire(1));
}

TEST(Buffer, IdleBuffersOfOneSizeMakeRoomForAnother) {
  BufferPool pool(2048 + 64);
  pool.reserve(256, 6);
  EXPECT_EQ(pool.stats().bytes_held, 6U * 320);
  EXPECT_TRUE(pool.acquire(2000));
  EXPECT_FALSE(pool.acquire(4000)) << "more than the limit at once";
  EXPECT_FALSE(pool.acquire(SIZE_MAX));
}

TEST(Buffer, BuffersMayOutliveTheirPool) {
  std::optional<BufferPool> pool(kMiB);
  auto kept = pool->acquire(100);
  auto other = pool->acquire(70000);
  pool.reset();
  std::memset(kept.data(), 1, kept.size());
  other.reset();
  EXPECT_TRUE(kept.unique());
}

TEST(Buffer, ASliceKeepsTheWholeFrame) {
  BufferPool pool(kMiB);
  auto frame = pool.acquire(64 + 128);
  BufferSlice payload(frame, 64, 128);
  EXPECT_EQ(payload.data(), frame.data() + 64);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(payload.data()) % kBufferAlignment, 0U);
  EXPECT_FALSE(payload.unique());
  frame.reset();
  EXPECT_TRUE(payload.unique());
  EXPECT_EQ(pool.stats().buffers_in_use, 1U);
  const auto part = payload.sub(8, 16);
  EXPECT_EQ(part.data(), payload.data() + 8);
  EXPECT_EQ(part.size(), 16U);
}

TEST(Buffer, ResizeStaysWithinTheCapacity) {
  BufferPool pool(kMiB);
  auto buffer = pool.acquire(10);
  buffer.resize(buffer.capacity());
  EXPECT_EQ(buffer.bytes().size(), 256U);
}

}  // namespace
}  // namespace sumac
