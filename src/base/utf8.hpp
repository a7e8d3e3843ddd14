#pragma once
// Text of others may hold any bytes; whoever passes it on must know what is a character.
#include <cstddef>
#include <string>
#include <string_view>

namespace sumac {

/// Returns the length of the UTF-8 character at the start of `text`, which is not empty, or 0 if there is none.
std::size_t utf8_length(std::string_view text) noexcept;

/// Returns `text` as a terminal may get it: '?' stands for each byte that is no character, and for those of control
/// characters and of characters that turn the direction of a line or break it.
std::string printable(std::string_view text);

}  // namespace sumac
