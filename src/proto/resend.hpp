#pragma once
// Inside this folder only: what stays unanswered is said again after a while that the shell has chosen.
#include <variant>

#include "base/clock.hpp"

namespace sumac::proto {

/// `after` 0: never, the transport does it (tcp, ucx).
constexpr Time resend_time(Time now, Duration after) noexcept {
  return after.count() == 0 ? kNever : deadline_after(now, after);
}

/// When a machine in this state says something again if nothing comes.
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
