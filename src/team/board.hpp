#pragma once
// Where a host's ranks read that their team is broken: a leader whose way across failed, or a rank that found another
// one dead, writes it here once, and everybody else sees it in the slow part of its wait. It lies in the lines of a
// group of one member that the segment has for nothing else.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/result.hpp"
#include "shm/layout.hpp"

namespace sumac::team {

struct Board {
  enum State : std::uint32_t { kClean = 0, kBeingWritten = 1, kWritten = 2 };
  std::atomic<std::uint32_t> state;  ///< The segment begins as zeros: kClean.
  std::int32_t code;
  char text[shm::kLineRing * sizeof(shm::Line) - 8];

  /// The first one is believed; later ones are its consequences.
  void write(Errc why, std::string_view words) noexcept {
    std::uint32_t clean = kClean;
    if (!state.compare_exchange_strong(clean, kBeingWritten, std::memory_order_relaxed)) return;
    code = static_cast<std::int32_t>(why);
    const std::size_t length = words.size() < sizeof text - 1 ? words.size() : sizeof text - 1;
    std::memcpy(text, words.data(), length);
    text[length] = '\0';
    // Release: who sees kWritten sees the words. Test: team_failure_test.
    state.store(kWritten, std::memory_order_release);
  }
  bool is_written() const noexcept { return state.load(std::memory_order_acquire) == kWritten; }
};
static_assert(sizeof(Board) == shm::kLineRing * sizeof(shm::Line));

}  // namespace sumac::team
