#include "bindings/python/core/words.hpp"

#include <fmt/format.h>

#include "base/utf8.hpp"

namespace sumac::python {
namespace {

constexpr std::size_t kLongest = 4096;

/// ESC and its kin, and the control characters of two bytes (U+0080 to U+009F), which some terminals obey too.
bool is_control(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7f;
  return character.size() == 2 && byte(0) == 0xc2 && byte(1) < 0xa0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    if (shown.size() > kLongest) return shown + "...";
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    if (length == 0 || is_control(character))
      for (const char byte : character) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    else
      shown += character;
    text.remove_prefix(character.size());
  }
  return shown;
}

}  // namespace sumac::python
