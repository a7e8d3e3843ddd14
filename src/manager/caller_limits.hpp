#pragma once
// Limits the requests of an ordinary caller to the manager: open streams, and Status calls per second. Each Status is
// made under the mutex that jobs need, and a stream costs memory before its caller is identified. The class is pure: a
// caller is identified by the name of its share (control::Caller::share()).
#include <algorithm>
#include <map>
#include <string>

#include "base/clock.hpp"

namespace sumac::manager {

class CallerLimits {
 public:
  static constexpr unsigned kStreams = 64;
  static constexpr double kStatusPerSecond = 10;  ///< After a pause, this number of calls may come at once.

  /// True if this caller may open one more stream; close() must follow.
  bool open(const std::string& who, Time now) {
    auto& caller = at(who, now);
    if (caller.streams >= kStreams) return false;
    ++caller.streams;
    return true;
  }
  void close(const std::string& who) {
    if (const auto found = callers_.find(who); found != callers_.end() && found->second.streams > 0)
      --found->second.streams;
  }

  /// True if this caller may ask for the status now.
  bool ask(const std::string& who, Time now) {
    auto& caller = at(who, now);
    const double rested = std::chrono::duration<double>(now - caller.asked_at).count() * kStatusPerSecond;
    caller.left = std::min(kStatusPerSecond, caller.left + rested);
    caller.asked_at = now;
    if (caller.left < 1) return false;
    caller.left -= 1;
    return true;
  }

  std::size_t size() const noexcept { return callers_.size(); }

 private:
  struct Caller {
    unsigned streams = 0;
    double left = kStatusPerSecond;
    Time asked_at{};
  };

  /// Returns the entry of a caller. If there are many entries, those without an open stream and without a recent call
  /// are removed first.
  Caller& at(const std::string& who, Time now) {
    if (callers_.size() >= kRemembered && now >= look_at_) {
      std::erase_if(callers_, [&](const auto& entry) {
        return entry.second.streams == 0 && now - entry.second.asked_at > Seconds(1);
      });
      look_at_ = now + Seconds(1);
    }
    const auto [found, fresh] = callers_.try_emplace(who);
    if (fresh) found->second.asked_at = now;
    return found->second;
  }

  static constexpr std::size_t kRemembered = 1024;
  std::map<std::string, Caller, std::less<>> callers_;
  Time look_at_{};
};

}  // namespace sumac::manager
