#include "base/utf8.hpp"

namespace sumac {
namespace {

bool is_hidden(std::string_view character) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return at(0) < 0x20 || at(0) == 0x7f;
  if (character.size() == 2) return at(0) == 0xc2 && at(1) < 0xa0;  // U+0080 to U+009F
  if (character.size() != 3 || at(0) != 0xe2) return false;
  // U+200E, U+200F, U+2028 to U+202E and U+2066 to U+2069
  if (at(1) == 0x80) return at(2) == 0x8e || at(2) == 0x8f || (at(2) >= 0xa8 && at(2) <= 0xae);
  return at(1) == 0x81 && at(2) >= 0xa6 && at(2) <= 0xa9;
}

}  // namespace

std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Refuses an overlong form, half of a surrogate pair, and a number beyond the last character.
  const unsigned second = byte(1);
  const bool wrong = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                     (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
  return wrong ? 0 : length;
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    if (length == 0 || is_hidden(character))
      result.append(character.size(), '?');
    else
      result += character;
    text.remove_prefix(character.size());
  }
  return result;
}

}  // namespace sumac
