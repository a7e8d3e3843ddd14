#pragma once
// Inside this folder only: what a member makes of a message's body, once it has been checked.
#include <span>

#include "base/buffer.hpp"
#include "wire/agg_codec.hpp"

namespace sumac::proto {

/// Errc::invalid: it is no such body.
template <class Body, class Use>
Errc with_body(const BufferRef& frame, const Use& use) {
  Body body;
  if (wire::decode(std::span<const std::byte>(frame.bytes()).subspan(wire::kAggHeaderBytes), body) != Errc::ok)
    return Errc::invalid;
  return use(body);
}

}  // namespace sumac::proto
