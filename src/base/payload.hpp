#pragma once
// The user bytes that are sent behind a header: either kept alive by a reference, or borrowed from the sender.
#include <cstddef>
#include <span>

#include "base/buffer.hpp"

namespace sumac {

struct Payload {
  std::span<const std::byte> bytes{};
  BufferRef owner{};  ///< Empty if the bytes are borrowed, see Transport::send().
};

}  // namespace sumac
