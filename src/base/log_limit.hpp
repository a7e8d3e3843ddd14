#pragma once
// Limits log lines that strangers can cause. The first line of a kind is printed at once, then one per minute with the
// number of omitted lines. A script that sends rubbish thus neither fills a disk nor hides other lines.
//
//   if (const auto more = limit.next("rubbish", now)) SUMAC_WARN(log, "{} sent rubbish{}", peer, *more);
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace sumac {

class LogLimit {
 public:
  /// Keeps at most `kinds_max` kinds within `every`. Further kinds share one limit, so that a peer cannot add lines by
  /// inventing kinds.
  explicit LogLimit(Duration every = Seconds(60), std::size_t kinds_max = 32) : every_(every), kinds_max_(kinds_max) {}

  /// Returns nullopt if this line is to be omitted. Otherwise returns its suffix, which counts the omitted lines of its
  /// kind, or is empty.
  std::optional<std::string> next(std::string_view kind, Time now) {
    Kind& found = find(kind, now);
    if (now < found.next_at) {
      ++found.left_out;
      return std::nullopt;
    }
    const auto left_out = std::exchange(found.left_out, 0);
    found.next_at = deadline_after(now, every_);
    return left_out == 0 ? std::string()
                         : fmt::format(" ({} more such line{} left out)", left_out, left_out == 1 ? "" : "s");
  }

 private:
  struct Kind {
    std::string name;
    std::uint64_t left_out = 0;
    Time next_at{};
  };

  Kind& find(std::string_view name, Time now) {
    const auto same = std::ranges::find(kinds_, name, &Kind::name);
    if (same != kinds_.end()) return *same;
    if (kinds_.size() < kinds_max_) return kinds_.emplace_back(Kind{std::string(name), 0, {}});
    // A kind whose minute is over and that has no omitted lines makes room for a new one.
    const auto over =
        std::ranges::find_if(kinds_, [&](const Kind& kind) { return kind.left_out == 0 && now >= kind.next_at; });
    if (over == kinds_.end()) return others_;
    *over = Kind{std::string(name), 0, {}};
    return *over;
  }

  Duration every_;
  std::size_t kinds_max_;
  std::vector<Kind> kinds_;
  Kind others_;
};

}  // namespace sumac
