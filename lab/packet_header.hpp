#pragma once
#include <cstdint>

namespace sumac::lab {

/// A packet socket puts virtio_net_hdr before each frame: it carries the mark "checksum is still open" from device to
/// device. Its size is part of the kernel's interface; the header that defines it is not C++.
inline constexpr std::uint32_t kVnetHeaderBytes = 10;

struct VnetHeader {  ///< In the kernel's layout and the machine's byte order.
  std::uint8_t flags;
  std::uint8_t gso_type;  ///< 0: one frame; otherwise a train.
  std::uint16_t header_bytes;
  std::uint16_t segment_bytes;  ///< Payload of each segment of a train but the last.
  std::uint16_t checksum_start;
  std::uint16_t checksum_offset;
};
static_assert(sizeof(VnetHeader) == kVnetHeaderBytes);

struct WireSize {
  std::uint32_t all;
  std::uint32_t first;
  std::uint32_t last;
};

/// Returns the bytes that a link carries for a frame or train of `bytes` (the virtio-net header not counted), which
/// begins with `frame`.
inline WireSize wire_size(const VnetHeader& header, const std::uint8_t* frame, std::uint32_t bytes) {
  const std::uint32_t tcp = header.checksum_start;  // a train's checksum is always open, and begins at the TCP header
  if (header.gso_type == 0 || header.segment_bytes == 0 || tcp + 20 > bytes) return {bytes, bytes, bytes};
  const std::uint32_t headers = tcp + (frame[tcp + 12] >> 4U) * 4U;
  if (headers >= bytes) return {bytes, bytes, bytes};
  const std::uint32_t payload = bytes - headers;
  const std::uint32_t segments = (payload + header.segment_bytes - 1) / header.segment_bytes;
  const std::uint32_t last = payload - (segments - 1) * header.segment_bytes;
  return {payload + segments * headers, headers + (segments == 1 ? payload : header.segment_bytes), headers + last};
}

}  // namespace sumac::lab
