#pragma once
// User bytes behind a header on their way out: either kept alive by a reference, or borrowed from whoever sends.
#include <cstddef>
#include <span>

#include "base/buffer.hpp"

namespace sumac {

struct Payload {
  std::span<const std::byte> bytes{};
  BufferRef owner{};  ///< Empty: borrowed, see Transport::send().
};

}  // namespace sumac
