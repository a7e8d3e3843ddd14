#pragma once
// A Meaning says what a caller means by the bytes of an operation: its collective, its operation and the type of its elements.
// Most algorithms need none of it (a broadcast moves bytes, a mean is a sum that each rank divides), so the number only travels
// with the data, and ranks that differ in it find out. 0: the caller says nothing.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/types.hpp"

namespace sumac {

/// The types of elements that callers have: those of Dtype, and others that are only moved, or added up as one of those.
enum class Element : std::uint8_t {
  none = 0,
  // 1 to 12: a Dtype, plus 1.
  boolean = 13,
  complex32,
  complex64,
  complex128,
  float8_e4m3fn,
  float8_e4m3fnuz,
  float8_e5m2,
  float8_e5m2fnuz,
  float8_e8m0fnu,
  longdouble,
  clongdouble,
  datetime64,
  timedelta64,
  text,
  bytes,
  record,
  other,
};
inline constexpr std::uint8_t kElements = static_cast<std::uint8_t>(Element::other) + 1;

constexpr Element element_of(Dtype dtype) noexcept {
  return dtype == Dtype::null ? Element::none : static_cast<Element>(static_cast<std::uint8_t>(dtype) + 1);
}

struct Meaning {
  std::uint8_t kind = 0;  ///< The caller's number of the collective, below 16.
  Op op = Op::null;
  bool is_mean = false;  ///< `op` is a sum that each rank divides by their number.
  Element element = Element::none;

  constexpr std::uint16_t packed() const noexcept {
    const unsigned combines = is_mean ? 15u : static_cast<unsigned>(op);
    return static_cast<std::uint16_t>(0x8000u | (kind & 15u) << 10 | combines << 6 | static_cast<unsigned>(element));
  }
};
static_assert(kElements <= 64 && kOpCount < 15, "a Meaning fits into 15 bits, and the last one says that it is there");

constexpr bool means_mean(std::uint16_t packed) noexcept { return packed != 0 && (packed >> 6 & 15u) == 15u; }

/// "float32", "complex64"; "" for none, "?" for any other number.
std::string_view to_string(Element element) noexcept;
/// The type with that name; Element::other where none has it.
Element element_named(std::string_view name) noexcept;
/// "float32", or "float32, mean": the part of a packed Meaning that no other field of a message has. "" for 0.
std::string describe_meaning(std::uint16_t packed);

}  // namespace sumac
