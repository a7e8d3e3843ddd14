#pragma once
// This header belongs to src/proto alone: it decodes a message's body, checks it, and passes it on.
#include <span>

#include "base/buffer.hpp"
#include "wire/agg_codec.hpp"

namespace sumac::proto {

/// Errc::invalid: the bytes are not such a body.
template <class Body, class Use>
Errc with_body(const BufferRef& frame, const Use& use) {
  Body body;
  if (wire::decode(std::span<const std::byte>(frame.bytes()).subspan(wire::kAggHeaderBytes), body) != Errc::ok)
    return Errc::invalid;
  return use(body);
}

/// The same for callers that report the fault; null: none.
template <class Body, class Use>
const char* use_body(const BufferRef& frame, const Use& use) {
  Body body;
  if (wire::decode(std::span<const std::byte>(frame.bytes()).subspan(wire::kAggHeaderBytes), body) != Errc::ok) {
    wire::load(body, frame.data() + wire::kAggHeaderBytes);
    return wire::flaw(body);
  }
  return use(body);
}

}  // namespace sumac::proto
