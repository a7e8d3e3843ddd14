#pragma once
// A host's ranks learn from the board that their team is broken. A leader whose operation between hosts failed, or a
// rank that found another one dead, writes the reason here once; all others see it in the slow part of their wait. The
// board lies in the lines of a one-member group that the segment uses for nothing else.
#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/c_text.hpp"
#include "base/result.hpp"
#include "shm/segment/layout.hpp"

namespace sumac::team {

struct Board {
  enum State : std::uint32_t { kClean = 0, kBeingWritten = 1, kWritten = 2 };
  std::atomic<std::uint32_t> state;  ///< The segment begins as zeros: kClean.
  std::int32_t code;
  char text[shm::kLineRing * sizeof(shm::Line) - 8];

  /// Only the first reason is kept; later ones are consequences of it.
  void write(Errc why, std::string_view words) noexcept {
    std::uint32_t clean = kClean;
    if (!state.compare_exchange_strong(clean, kBeingWritten, std::memory_order_relaxed)) return;
    code = static_cast<std::int32_t>(why);
    copy_text(words, text, sizeof text);
    // A release store: a reader that sees kWritten also sees the text. Test: team_failure_test.
    state.store(kWritten, std::memory_order_release);
  }
  bool is_written() const noexcept { return state.load(std::memory_order_acquire) == kWritten; }
};
static_assert(sizeof(Board) == shm::kLineRing * sizeof(shm::Line));

}  // namespace sumac::team
