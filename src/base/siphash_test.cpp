// The vectors of the paper's reference code: key 00 01 ... 0f, message 00 01 ... of each length.
#include "base/siphash.hpp"

#include <gtest/gtest.h>

#include <array>

namespace sumac {
namespace {

TEST(SipHash, reference_vectors) {
  Secret key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i);
  std::array<std::byte, 16> message;
  for (std::size_t i = 0; i < message.size(); ++i) message[i] = static_cast<std::byte>(i);
  const struct {
    std::size_t bytes;
    std::uint64_t tag;
  } rows[] = {{0, 0x726fdb47dd0e0e31},
              {1, 0x74f839c593dc67fd},
              {7, 0xab0200f58b01d137},
              {8, 0x93f5f5799a932462},
              {15, 0xa129ca6149be45e5}};
  for (const auto& row : rows) EXPECT_EQ(siphash(key, std::span(message).first(row.bytes)), row.tag) << row.bytes;
}

TEST(SipHash, key_and_message_both_count) {
  const Secret key{1};
  const std::array<std::byte, 4> message{}, longer[2]{};
  const auto tag = siphash(key, message);
  EXPECT_NE(tag, siphash(Secret{2}, message));
  EXPECT_NE(tag, siphash(key, std::as_bytes(std::span(longer))));
  EXPECT_EQ(tag, siphash(key, message));
}

}  // namespace
}  // namespace sumac
