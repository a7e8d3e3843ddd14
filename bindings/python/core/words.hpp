#pragma once
// Text of other processes is made fit for people here: a host's name, the reason of another rank, a line of a program.
#include <string>
#include <string_view>

#include "base/utf8.hpp"

namespace sumac::python {

/// As sumac::printable(); a text beyond some thousand bytes is cut.
inline std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 4096;
  return sumac::printable(text.substr(0, kLongest)) + (text.size() > kLongest ? "..." : "");
}

}  // namespace sumac::python
