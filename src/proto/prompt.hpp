#pragma once
// This header belongs to src/proto alone: prompt numbers. In a bcast one member has the data, in a reduce one member gets
// the sum, and nobody else needs to wait for the others: a node answers such a number when all data are in, and counts
// the other members later. The data of a bcast are its source's; the root of a reduce keeps its own part and adds it to
// the sum of the others. So a number is *answered* before it is *closed* (contributed by every member), and the window
// counts numbers that are not closed. This needs hops that keep the order of messages; on others such a number is
// answered like an allreduce.
#include <algorithm>

#include "base/clock.hpp"
#include "wire/agg.hpp"

namespace sumac::proto {

/// `resend_after` 0: the hop is reliable and keeps the order. A header names the root modulo 65536.
constexpr bool is_prompt(const wire::AggHeader& h, Duration resend_after, std::uint32_t group_size) noexcept {
  if (resend_after.count() != 0 || h.count == 0 || (h.flags & wire::kFlagStreaming) != 0) return false;
  if (h.coll == wire::Coll::bcast) return true;
  return h.coll == wire::Coll::reduce && (h.flags & wire::kFlagReproducible) == 0 && group_size > 1 &&
         group_size <= 0x10000;
}

/// The result of such a reduce goes to its root only: nobody else waits for it, and the closed count tells the others that
/// the number is over. Of several fragments the others wait for each, since their data are not copied.
constexpr bool is_for_root_alone(const wire::AggHeader& h) noexcept {
  constexpr std::uint16_t kWhole = wire::kFlagFirst | wire::kFlagLast;
  return h.coll == wire::Coll::reduce && (h.flags & kWhole) == kWhole;
}

/// The closed count goes down alone when it has grown and numbers begun reach this far beyond the count last sent. Half
/// a window: riding on results alone, or a whole window, would leave members waiting for each other for ever; at once
/// would be a message for each number.
constexpr std::uint32_t closed_alone_from(std::uint32_t osts, std::uint32_t stream_window) noexcept {
  const std::uint32_t window = stream_window == 0 ? osts : std::min(osts, stream_window);
  return window / 2 + window % 2;
}

/// A member that has nothing to give to a prompt number only closes it, which nobody waits for before the window is full. It may
/// hold back so many of its contributions: in a row of bcasts each would otherwise be a message by itself.
constexpr std::uint32_t held_back_most(std::uint32_t osts) noexcept { return osts / 8; }

}  // namespace sumac::proto
