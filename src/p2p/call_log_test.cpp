#include "p2p/call_log.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace sumac::p2p {
namespace {

TEST(CallLog, AReaderSeesAnEntryWholeOrNotAtAll) {
  std::vector<std::byte> memory(CallLog::bytes_for(1) + 64);
  void* at = memory.data();
  std::size_t room = memory.size();
  auto* aligned = static_cast<std::byte*>(std::align(64, CallLog::bytes_for(1), at, room));
  const CallLog log(aligned, 0);
  std::thread writer([&] {
    CallLog own(aligned, 0);
    for (std::uint64_t n = 1; n <= 20000; ++n)
      own.begin(n, {.coll = static_cast<std::uint8_t>(n % 5), .root = static_cast<std::uint32_t>(n % 7), .bytes = n});
  });
  for (std::uint64_t n = 1; n <= 20000; ++n)
    if (const auto found = log.read(0, n)) {
      EXPECT_EQ(found->bytes, n);
      EXPECT_EQ(found->root, n % 7);
      EXPECT_EQ(found->coll, n % 5);
    }
  writer.join();
  EXPECT_TRUE(log.has_begun(0, 20000));
  EXPECT_FALSE(log.read(0, 20000 - CallRing::kEntries).has_value()) << "its entry has been used again";
}

}  // namespace
}  // namespace sumac::p2p
