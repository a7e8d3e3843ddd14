#pragma once
// This header belongs to src/proto alone: unanswered messages are sent again after a time that the shell has chosen.
#include <variant>

#include "base/clock.hpp"

namespace sumac::proto {

/// `after` 0: never, because the transport repeats (tcp, ucx).
constexpr Time resend_time(Time now, Duration after) noexcept {
  return after.count() == 0 ? kNever : deadline_after(now, after);
}

/// Returns the time at which a machine in this state repeats its message if no answer comes.
template <class... States>
Time resend_at(const std::variant<States...>& state) noexcept {
  return std::visit(
      [](const auto& s) {
        if constexpr (requires { s.resend_at; }) return s.resend_at;
        return kNever;
      },
      state);
}

}  // namespace sumac::proto
