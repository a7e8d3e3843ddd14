#pragma once
#include <cstdint>

namespace sumac::lab {

/// A packet socket puts virtio_net_hdr before each frame: it carries "the checksum is still open" from device to device.
/// Its size is part of the kernel's interface; the header that defines it is not C++.
inline constexpr std::uint32_t kVnetHeaderBytes = 10;

}  // namespace sumac::lab
