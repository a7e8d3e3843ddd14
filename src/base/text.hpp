#pragma once
#include <cstddef>
#include <string_view>

namespace sumac {

/// Returns the text without the white space around it.
std::string_view trimmed(std::string_view text) noexcept;

constexpr bool is_letter_or_digit(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Counts the edits (insert, remove, replace) that turn one word into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace sumac
