#pragma once
// Search as people expect it: a part of a name, whatever the case of its ASCII letters.
#include <algorithm>
#include <string_view>

namespace sumac::page {

inline bool contains_folded(std::string_view text, std::string_view part) {
  const auto fold = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [&](char a, char b) { return fold(a) == fold(b); }) != text.end();
}

}  // namespace sumac::page
