#include "base/key_agreement.hpp"

#include <gtest/gtest.h>

namespace sumac {
namespace {

TEST(KeyAgreement, TwoPairsShareOneKeyAndAThirdHasAnother) {
  const auto one = OwnKeys::draw(), two = OwnKeys::draw(), three = OwnKeys::draw();
  ASSERT_TRUE(one) << one.error().context;
  const auto key = one->with(two->shown());
  ASSERT_TRUE(key) << key.error().context;
  EXPECT_EQ(*key, two->with(one->shown()).value());
  EXPECT_NE(*key, three->with(one->shown()).value());
  EXPECT_NE(*key, three->with(two->shown()).value());
  EXPECT_NE(*key, SharedKey{});
}

TEST(KeyAgreement, RefusesKeysThatWouldGiveOneThatEverybodyKnows) {
  const auto own = OwnKeys::draw().value();
  PublicKey small{};
  EXPECT_FALSE(own.with(small)) << "zero";
  small[0] = 1;
  EXPECT_FALSE(own.with(small)) << "one";
}

}  // namespace
}  // namespace sumac
