#include "base/sealed.hpp"

#include <gtest/gtest.h>

#include "base/bytes.hpp"

namespace sumac {
namespace {

using Bytes = std::vector<std::uint8_t>;

// These are the test cases 13 and 14 of AES-GCM's specification: the key and the nonce are zeros.
TEST(Sealed, is_what_the_specification_says) {
  const struct {
    Bytes message;
    const char* sealed;
  } rows[] = {{Bytes(), "530f8afbc74536b9a963b4f1c4cb738b"},
              {Bytes(16), "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"}};
  for (const auto& row : rows) {
    const auto sealed = seal(SealKey{}, row.message);
    ASSERT_TRUE(sealed) << sealed.error().context;
    EXPECT_EQ(hex(std::as_bytes(std::span(*sealed)), ""), row.sealed);
    EXPECT_EQ(open_sealed(SealKey{}, *sealed), row.message);
  }
}

TEST(Sealed, opens_for_nobody_else_and_not_when_it_was_changed) {
  SealKey key{}, other{};
  key[3] = 7;
  const Bytes message{'k', 'e', 'y', 's'};
  auto sealed = seal(key, message).value();
  EXPECT_EQ(open_sealed(key, sealed), message);
  EXPECT_FALSE(open_sealed(other, sealed));
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    sealed[i] ^= 1;
    EXPECT_FALSE(open_sealed(key, sealed)) << "byte " << i;
    sealed[i] ^= 1;
  }
  for (std::size_t bytes = 0; bytes < sealed.size(); ++bytes)
    EXPECT_FALSE(open_sealed(key, std::span(sealed).first(bytes))) << bytes << " bytes";
}

}  // namespace
}  // namespace sumac
