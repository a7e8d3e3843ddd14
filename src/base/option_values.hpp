#pragma once
// The syntax of an option's value follows from the type of the member that it fills, so that a unit cannot be
// forgotten: Bytes "64k", durations "200ms", integers, bool, text, enums by a table, and std::optional<T> ("auto"
// leaves the choice to the program).
#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace sumac {

/// A size. It is a type of its own, so that a count is not mistaken for a size.
struct Bytes {
  std::uint64_t count = 0;
  friend constexpr auto operator<=>(const Bytes&, const Bytes&) = default;
};
inline constexpr Bytes kUnlimitedBytes{std::numeric_limits<std::uint64_t>::max()};

/// Makes an enum an option: declare next to it `constexpr auto enum_names(Level) { return
/// std::array{EnumName<Level>{..}}; }`. Several names may stand for one value; the first is printed.
template <class E>
struct EnumName {
  std::string_view name;
  E value;
};

namespace detail {

/// The smallest and largest legal value of an option, in its own unit. Any other value is refused with the option's
/// name.
struct Limits {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
  bool or_zero = false;  ///< 0 is legal as well, though it is below `low`: in many variables 0 means the default.
};

Result<std::uint64_t> parse_unsigned(std::string_view text, std::uint64_t max);
Result<std::int64_t> parse_signed(std::string_view text, std::int64_t min, std::int64_t max);
Result<bool> parse_bool(std::string_view text);
Result<Bytes> parse_bytes(std::string_view text);
/// The result counts units of `unit_ns`, the member's unit, which a bare number has too. A value that is no whole
/// number of units is refused.
Result<std::int64_t> parse_duration(std::string_view text, std::int64_t unit_ns);
std::string print_bytes(Bytes value);
std::string print_duration(std::int64_t count, std::int64_t unit_ns);
std::string print_unsigned(std::uint64_t value, std::uint64_t max);
std::string_view unit_name(std::int64_t unit_ns);
std::string legal_range(std::string_view kind, const Limits& limits, std::string (*print)(std::int64_t));

template <class T>
struct IsDuration : std::false_type {};
template <class R, class P>
struct IsDuration<std::chrono::duration<R, P>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class D>
inline constexpr std::int64_t kUnitNs = std::chrono::duration_cast<std::chrono::nanoseconds>(D{1}).count();

template <class T>
Result<T> parse_value(std::string_view text) {
  if constexpr (IsOptional<T>::value) {
    if (text == "auto" || text.empty()) return T{};
    auto value = parse_value<typename T::value_type>(text);
    if (!value) return tl::unexpected(value.error());
    return T{*std::move(value)};
  } else if constexpr (std::is_same_v<T, std::string>) {
    return std::string(text);
  } else if constexpr (std::is_same_v<T, bool>) {
    return parse_bool(text);
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return parse_bytes(text);
  } else if constexpr (IsDuration<T>::value) {
    auto count = parse_duration(text, kUnitNs<T>);
    if (!count) return tl::unexpected(count.error());
    return T{*count};
  } else if constexpr (std::is_enum_v<T>) {
    for (const auto& entry : enum_names(T{}))
      if (entry.name == text) return entry.value;
    return fail(Errc::invalid, "not one of the names");
  } else if constexpr (std::is_unsigned_v<T>) {
    auto value = parse_unsigned(text, std::numeric_limits<T>::max());
    if (!value) return tl::unexpected(value.error());
    return static_cast<T>(*value);
  } else {
    static_assert(std::is_signed_v<T> && std::is_integral_v<T>, "no parser for a member of this type");
    auto value = parse_signed(text, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    if (!value) return tl::unexpected(value.error());
    return static_cast<T>(*value);
  }
}

/// `bare` prints durations as a number in the member's unit, the form of variables that users know from earlier stacks.
template <class T>
std::string print_value(const T& value, bool bare) {
  if constexpr (IsOptional<T>::value) {
    return value ? print_value(*value, bare) : std::string("auto");
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "1" : "0";
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return bare && value != kUnlimitedBytes ? fmt::format("{}", value.count) : print_bytes(value);
  } else if constexpr (IsDuration<T>::value) {
    return bare ? fmt::format("{}", value.count()) : print_duration(value.count(), kUnitNs<T>);
  } else if constexpr (std::is_enum_v<T>) {
    for (const auto& entry : enum_names(T{}))
      if (entry.value == value) return std::string(entry.name);
    return "?";
  } else if constexpr (std::is_unsigned_v<T>) {
    return print_unsigned(value, std::numeric_limits<T>::max());
  } else {
    return fmt::format("{}", value);
  }
}

/// Returns the value as a plain number for the check of limits, or nothing for a kind that has no limits.
template <class T>
std::optional<std::int64_t> magnitude(const T& value) {
  if constexpr (IsOptional<T>::value) {
    return value ? magnitude(*value) : std::nullopt;
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(value.count, std::numeric_limits<std::int64_t>::max()));
  } else if constexpr (IsDuration<T>::value) {
    return value.count();
  } else if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max()));
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return value;
  } else {
    return std::nullopt;
  }
}

/// Describes the legal values, for errors and for the documentation.
template <class T>
std::string legal_text(const Limits& limits) {
  if constexpr (IsOptional<T>::value) {
    return "auto or " + legal_text<typename T::value_type>(limits);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return "text";
  } else if constexpr (std::is_same_v<T, bool>) {
    return "0 or 1 (also n/y, no/yes, off/on, false/true)";
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return legal_range("a size such as 512, 64k or 1MiB", limits,
                       [](std::int64_t v) { return print_bytes({static_cast<std::uint64_t>(v)}); });
  } else if constexpr (IsDuration<T>::value) {
    return legal_range(fmt::format("a duration such as 200ms or 1s (bare: {})", unit_name(kUnitNs<T>)), limits,
                       [](std::int64_t v) { return print_duration(v, kUnitNs<T>); });
  } else if constexpr (std::is_enum_v<T>) {
    std::string text = "one of";
    std::string_view separator = " ";
    for (const auto& entry : enum_names(T{})) {
      text += fmt::format("{}{}", separator, entry.name);
      separator = ", ";
    }
    return text;
  } else {
    constexpr bool kUnsigned = std::is_unsigned_v<T>;
    constexpr auto kLowest = std::numeric_limits<std::int64_t>::min();
    const bool is_open = limits.low == kLowest && limits.high == std::numeric_limits<std::int64_t>::max();
    return legal_range(kUnsigned && is_open ? "a whole number from 0 up" : "a whole number", limits,
                       [](std::int64_t v) { return fmt::format("{}", v); });
  }
}

}  // namespace detail
}  // namespace sumac
