#include "coll/canonical.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/random.hpp"

namespace sumac::coll {
namespace {

using Nodes = std::set<std::pair<std::uint32_t, std::uint32_t>>;

/// This is the definition in docs/protocol.md, as a recursion: split at the largest power of two below the length.
void split(std::uint32_t first, std::uint32_t count, Nodes& out) {
  out.insert({first, count});
  if (count == 1) return;
  std::uint32_t left = 1;
  while (left * 2 < count) left *= 2;
  split(first, left, out);
  split(first + left, count - left, out);
}

TEST(Canonical, a_block_is_a_node_of_the_tree_that_splits_at_the_largest_power_of_two) {
  for (std::uint32_t size = 1; size <= 130; ++size) {
    Nodes nodes;
    split(0, size, nodes);
    ASSERT_EQ(nodes.size(), 2 * size - 1);
    for (std::uint32_t first = 0; first <= size + 1; ++first)
      for (std::uint32_t count = 0; count <= size + 1; ++count)
        ASSERT_EQ(is_canonical({first, count}, size), nodes.contains({first, count}))
            << "[" << first << ", +" << count << ") of " << size;
  }
}

TEST(Canonical, two_siblings_make_a_block_and_only_the_whole_has_none) {
  for (std::uint32_t size = 1; size <= 130; ++size) {
    Nodes nodes;
    split(0, size, nodes);
    for (const auto& [first, count] : nodes) {
      const RankBlock block{first, count};
      const auto other = sibling(block, size);
      ASSERT_EQ(other.has_value(), count != size);
      if (!other) continue;
      ASSERT_EQ(sibling(*other, size), block);
      const RankBlock& left = other->first < first ? *other : block;
      const RankBlock& right = other->first < first ? block : *other;
      ASSERT_EQ(left.first + left.count, right.first);
      ASSERT_TRUE(nodes.contains({left.first, left.count + right.count}));
    }
  }
}

TEST(Canonical, the_largest_group_has_a_tree_too) {
  const std::uint32_t size = 0xFFFFFFFFu;
  EXPECT_EQ(sibling({size - 1, 1}, size), (RankBlock{size - 3, 2}));
  EXPECT_EQ(sibling({0, 1u << 31}, size), (RankBlock{1u << 31, size - (1u << 31)}));
  EXPECT_EQ(sibling({1u << 31, size - (1u << 31)}, size), (RankBlock{0, 1u << 31}));
  EXPECT_EQ(sibling({0, size}, size), std::nullopt);
  EXPECT_FALSE(is_canonical({size, 1}, size));
  EXPECT_FALSE(is_canonical({2, size - 1}, size));
}

}  // namespace
}  // namespace sumac::coll
