#include "lab/packet_header.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sumac::lab {
namespace {

/// The headers have 66 bytes: Ethernet 14, IPv4 20, TCP with timestamps 32.
std::vector<std::uint8_t> piece(std::uint32_t payload) {
  std::vector<std::uint8_t> bytes(66 + payload);
  bytes[34 + 12] = 8U << 4U;
  return bytes;
}

TEST(WireSize, headers_stand_in_each_segment) {
  const struct {
    const char* name;
    std::uint32_t payload;
    std::uint16_t segment;
    WireSize wire;
  } rows[] = {
      {"one frame", 8948, 0, {9014, 9014, 9014}},
      {"one full segment", 8948, 8948, {9014, 9014, 9014}},
      {"one byte more", 8949, 8948, {8949 + 2 * 66, 9014, 67}},
      {"seven full and a rest", 65000, 8948, {65000 + 8 * 66, 9014, 66 + 65000 - 7 * 8948}},
      {"less than a segment", 100, 8948, {166, 166, 166}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto bytes = piece(row.payload);
    const VnetHeader header{1, static_cast<std::uint8_t>(row.segment == 0 ? 0 : 1), 66, row.segment, 34, 16};
    const auto wire = wire_size(header, bytes.data(), static_cast<std::uint32_t>(bytes.size()));
    EXPECT_EQ(wire.all, row.wire.all);
    EXPECT_EQ(wire.first, row.wire.first);
    EXPECT_EQ(wire.last, row.wire.last);
  }
}

TEST(WireSize, nonsense_is_one_frame) {
  auto bytes = piece(10);
  const VnetHeader beyond{1, 1, 66, 100, 60000, 16};
  EXPECT_EQ(wire_size(beyond, bytes.data(), 76).all, 76U);
  bytes[34 + 12] = 15U << 4U;  // the headers claim 94 bytes, but there are only 76
  const VnetHeader header{1, 1, 66, 100, 34, 16};
  EXPECT_EQ(wire_size(header, bytes.data(), 76).all, 76U);
}

}  // namespace
}  // namespace sumac::lab
