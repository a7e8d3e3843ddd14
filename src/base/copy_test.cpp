// Copies of all kinds have the bytes of memcpy, and touch no byte beside them.
#include "base/copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/random.hpp"

namespace sumac {
namespace {

constexpr std::size_t kPage = 4096, kSizes[] = {0, 1, 63, 64, 65, 127, 128, 2047, 2048, 2049, 4095, 8192, 20'001};
constexpr std::size_t kOffsets[] = {0, 1, 8, 15, 16, 31, 32, 63, 64, 256, 4080, 4095};
constexpr std::byte kBeside{0xA5};

struct PageFree {
  void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{kPage}); }
};
using Pages = std::unique_ptr<std::byte[], PageFree>;
Pages pages(std::size_t bytes) { return Pages(new (std::align_val_t{kPage}) std::byte[bytes]); }

using Copy = void (*)(std::byte*, const std::byte*, std::size_t) noexcept;

void expect_all(Copy copies_them) {
  constexpr std::size_t kRoom = 32 * 1024;
  const Pages from = pages(kRoom), to = pages(kRoom);
  Random random(7);
  std::generate_n(from.get(), kRoom, [&] { return static_cast<std::byte>(random.next()); });
  for (const std::size_t bytes : kSizes)
    for (const std::size_t source : kOffsets)
      for (const std::size_t target : kOffsets) {
        std::fill_n(to.get(), kRoom, kBeside);
        copies_them(to.get() + target, from.get() + source, bytes);
        const auto at = [&](std::size_t i) { return to[i]; };
        ASSERT_TRUE(std::equal(from.get() + source, from.get() + source + bytes, to.get() + target))
            << bytes << " B from " << source << " to " << target;
        ASSERT_TRUE(target == 0 || at(target - 1) == kBeside) << bytes << " B to " << target;
        ASSERT_EQ(kBeside, at(target + bytes)) << bytes << " B to " << target;
      }
}

TEST(Copy, HasTheBytesOfMemcpyAndNoOthers) { expect_all(copy_bytes); }
TEST(Copy, PastTheCachesHasTheSame) { expect_all(copy_past_caches); }

TEST(Copy, OfNothingTakesNull) {
  copy_bytes(nullptr, nullptr, 0);
  copy_past_caches(nullptr, nullptr, 0);
}

#if defined(__x86_64__)
TEST(Copy, TellsAddressesThatRepeatSlowly) {
  const struct {
    std::size_t to, from;
    bool is_slow;
  } rows[] = {
      {0, 0, false},  {1, 0, true},   {16, 0, true},  {31, 0, true},       {32, 0, false},  {0, 16, true},
      {0, 32, false}, {64, 48, true}, {15, 31, true}, {4095, 4095, false}, {256, 16, true}, {272, 16, false},
  };
  const Pages memory = pages(4 * kPage);
  for (const auto& row : rows)
    EXPECT_EQ(row.is_slow, copies::repeats_slowly(memory.get() + row.to, memory.get() + row.from))
        << row.from << " to " << row.to;
}
#endif

}  // namespace
}  // namespace sumac
