#include "base/secret.hpp"

#include <gtest/gtest.h>

#include <set>

namespace sumac {
namespace {

TEST(Secret, each_one_is_another_and_none_is_empty) {
  std::set<Secret> seen{Secret{}};
  for (int i = 0; i < 1000; ++i) {
    const auto secret = draw_secret();
    ASSERT_TRUE(secret) << secret.error().context;
    EXPECT_TRUE(seen.insert(*secret).second);
  }
}

TEST(Secret, every_bit_counts) {
  const auto secret = draw_secret().value();
  EXPECT_TRUE(same_secret(secret, Secret(secret)));
  for (std::size_t bit = 0; bit < 128; ++bit) {
    auto other = secret;
    other[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    EXPECT_FALSE(same_secret(secret, other)) << bit;
  }
}

}  // namespace
}  // namespace sumac
