#pragma once
// Bytes on the wire are little-endian on every host; these functions read and write them at any alignment.
#include <bit>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sumac {

template <std::unsigned_integral T>
constexpr T byte_swap(T value) noexcept {
  T result = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    result = static_cast<T>((result << 8) | (value & 0xff));
    if constexpr (sizeof(T) > 1) value = static_cast<T>(value >> 8);
  }
  return result;
}

template <std::unsigned_integral T>
T load_le(const void* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  if constexpr (std::endian::native == std::endian::big && sizeof(T) > 1) value = byte_swap(value);
  return value;
}

template <std::unsigned_integral T>
void store_le(void* to, T value) noexcept {
  if constexpr (std::endian::native == std::endian::big && sizeof(T) > 1) value = byte_swap(value);
  std::memcpy(to, &value, sizeof value);
}

inline std::span<const std::byte> as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// Returns text such as "0a ff 10", for messages, test data and dumps.
inline std::string hex(std::span<const std::byte> bytes, std::string_view separator = " ") {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * (2 + separator.size()));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i != 0) text += separator;
    const auto value = std::to_integer<unsigned>(bytes[i]);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

/// The inverse of hex(); white space may stand between bytes. Returns nothing if a character is no digit or a digit is
/// left over.
inline std::optional<std::vector<std::byte>> from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  int high = -1;
  for (const char c : text) {
    int digit;
    if (c >= '0' && c <= '9')
      digit = c - '0';
    else if (c >= 'a' && c <= 'f')
      digit = c - 'a' + 10;
    else if (c >= 'A' && c <= 'F')
      digit = c - 'A' + 10;
    else if ((c == ' ' || c == '\n' || c == '\t' || c == '\r') && high < 0)
      continue;
    else
      return std::nullopt;
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<std::byte>(high << 4 | digit));
      high = -1;
    }
  }
  if (high >= 0) return std::nullopt;
  return bytes;
}

}  // namespace sumac
