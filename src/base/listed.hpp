#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sumac {

/// Returns a list for people, of the first eight names: "a, b, c and 3 more". `last` stands in front of the last of them all.
inline std::string listed(const std::vector<std::string>& names, const char* last = ", ") {
  const std::size_t shown = std::min<std::size_t>(names.size(), 8);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : i + 1 == names.size() ? last : ", ") + names[i];
  return shown < names.size() ? fmt::format("{} and {} more", text, names.size() - shown) : text;
}

}  // namespace sumac
