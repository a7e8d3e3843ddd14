#include "base/bytes.hpp"

#include <gtest/gtest.h>

namespace sumac {
namespace {

TEST(Bytes, LittleEndianAtAnyAlignment) {
  std::byte room[16] = {};
  store_le<std::uint32_t>(room + 1, 0x11223344);
  EXPECT_EQ(hex(std::span(room).first(6)), "00 44 33 22 11 00");
  EXPECT_EQ(load_le<std::uint32_t>(room + 1), 0x11223344U);
  store_le<std::uint64_t>(room + 3, 0x0102030405060708U);
  EXPECT_EQ(load_le<std::uint64_t>(room + 3), 0x0102030405060708U);
  EXPECT_EQ(load_le<std::uint8_t>(room + 3), 8);
}

TEST(Bytes, Swap) {
  EXPECT_EQ(byte_swap<std::uint8_t>(0x12), 0x12);
  EXPECT_EQ(byte_swap<std::uint16_t>(0x1234), 0x3412);
  EXPECT_EQ(byte_swap<std::uint64_t>(0x0102030405060708U), 0x0807060504030201U);
}

TEST(Bytes, HexThereAndBack) {
  EXPECT_EQ(hex(as_bytes("Az\xff")), "41 7a ff");
  EXPECT_EQ(hex(as_bytes("Az"), ""), "417a");
  const auto back = from_hex("41 7A\nfF");
  ASSERT_TRUE(back);
  EXPECT_EQ(hex(*back), "41 7a ff");
  EXPECT_TRUE(from_hex("")->empty());
  EXPECT_FALSE(from_hex("4"));
  EXPECT_FALSE(from_hex("4 1"));
  EXPECT_FALSE(from_hex("4g"));
}

}  // namespace
}  // namespace sumac
