#pragma once
// Words for people. Text of other processes is made fit for them: a host's name, the reason of another rank, a line of a program.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/utf8.hpp"

namespace sumac::rank {

/// As sumac::printable(); a text beyond some thousand bytes is cut.
inline std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 4096;
  return sumac::printable(text.substr(0, kLongest)) + (text.size() > kLongest ? "..." : "");
}

inline std::string milliseconds(Duration time) {
  return fmt::format("{} ms", std::chrono::duration_cast<Millis>(time).count());
}

}  // namespace sumac::rank
