#include "base/group_key.hpp"

#include <gtest/gtest.h>

namespace sumac {
namespace {

struct Ranks {
  std::vector<OwnKeys> own;
  std::vector<std::vector<std::uint8_t>> shown;
  explicit Ranks(int count) {
    for (int rank = 0; rank < count; ++rank) {
      own.push_back(OwnKeys::draw().value());
      shown.emplace_back(own.back().shown().begin(), own.back().shown().end());
    }
  }
};

TEST(GroupKey, IsTheSameAtAllRanksAndNobodyOpensAnothersPart) {
  const Ranks ranks(4);
  const SealKey key = draw_seal_key().value();
  EXPECT_NE(key, draw_seal_key().value());
  const auto sealed = sealed_for_each(key, ranks.own[0], ranks.shown);
  ASSERT_TRUE(sealed) << sealed.error().context;
  for (std::size_t rank = 1; rank < 4; ++rank) {
    EXPECT_EQ(opened_for(rank, *sealed, ranks.own[rank], ranks.shown).value(), key) << rank;
    const auto others = opened_for(rank % 3 + 1, *sealed, ranks.own[rank], ranks.shown);
    ASSERT_FALSE(others);
    EXPECT_EQ(others.error().context, "rank 0 gave this rank no key");
  }
}

TEST(GroupKey, NamesTheRankThatHasShownNone) {
  Ranks ranks(3);
  ranks.shown[2].pop_back();
  const auto sealed = sealed_for_each(SealKey{}, ranks.own[0], ranks.shown);
  ASSERT_FALSE(sealed);
  EXPECT_EQ(sealed.error().context, "rank 2 sent no public key");
  ranks.shown[0].clear();
  const auto opened = opened_for(1, {}, ranks.own[1], ranks.shown);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().context, "rank 0 sent no public key");
}

}  // namespace
}  // namespace sumac
