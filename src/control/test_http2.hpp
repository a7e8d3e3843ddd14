#pragma once
// For tests: bytes of HTTP/2 as gRPC's callers send them.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sumac::control::test {

inline constexpr std::uint8_t kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kContinuation = 9;
inline constexpr std::uint8_t kEndStream = 1, kEndHeaders = 4, kPadded = 8;

inline std::string preface() { return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"; }

/// Returns the number in so many bytes, the highest first.
inline std::string big_endian(std::uint32_t number, int count) {
  std::string text;
  for (int i = count - 1; i >= 0; --i) text += static_cast<char>(number >> 8 * i & 0xff);
  return text;
}

inline std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream, const std::string& content = {}) {
  return big_endian(static_cast<std::uint32_t>(content.size()), 3) + static_cast<char>(type) +
         static_cast<char>(flags) + big_endian(stream, 4) + content;
}

/// Begins a call. The headers are none that gRPC would accept.
inline std::string call(std::uint32_t stream) { return frame(kHeaders, kEndHeaders, stream, "headers"); }

/// Returns the five bytes that precede a message of so many bytes.
inline std::string prefix(std::uint32_t bytes) { return '\0' + big_endian(bytes, 4); }

/// The beginning of a message of so many bytes, in one frame.
inline std::string begun(std::uint32_t stream, std::uint32_t bytes, std::size_t sent) {
  return frame(kData, 0, stream, prefix(bytes) + std::string(sent, 'x'));
}

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace sumac::control::test
