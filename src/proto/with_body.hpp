#pragma once
// Inside this folder only: what a member or a node makes of a message's body, once it has been checked.
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

/// The same for who says what is wrong with it; null: nothing.
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
