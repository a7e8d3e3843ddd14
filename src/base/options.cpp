#include "base/options.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>

#include "base/read_file.hpp"
#include "base/text.hpp"

extern char** environ;

namespace sumac {
namespace detail {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};
// All units are powers of two: "64k", "64K", "64KB" and "64KiB" are the same size, as in the variables that users know.
constexpr Unit kByteUnits[] = {{"", 1},
                               {"b", 1},
                               {"k", 1ULL << 10},
                               {"kb", 1ULL << 10},
                               {"kib", 1ULL << 10},
                               {"m", 1ULL << 20},
                               {"mb", 1ULL << 20},
                               {"mib", 1ULL << 20},
                               {"g", 1ULL << 30},
                               {"gb", 1ULL << 30},
                               {"gib", 1ULL << 30}};
constexpr Unit kTimeUnits[] = {{"ns", 1},         {"us", 1000},         {"ms", 1000000},
                               {"s", 1000000000}, {"min", 60000000000}, {"h", 3600000000000}};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

bool is_unlimited(std::string_view text) { return text == "inf" || text == "infinity" || text == "unlimited"; }

/// Splits "200ms" into 200 and "ms". Only whole numbers are legal: write "1500ms", not "1.5s".
Result<std::pair<std::uint64_t, std::string>> number_and_unit(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return fail(Errc::invalid, "too large");
  if (error != std::errc{}) return fail(Errc::invalid, "does not begin with a whole number");
  std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return std::pair{value, std::string(rest)};
}

template <class T>
Result<T> parse_integer(std::string_view text, T min, T max) {
  int base = 10;
  std::string_view digits = text;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    base = 16;
    digits.remove_prefix(2);
  }
  T value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error == std::errc::result_out_of_range) return fail(Errc::invalid, "too large");
  if (error != std::errc{} || end != digits.data() + digits.size()) return fail(Errc::invalid, "not a whole number");
  if (value < min || value > max) return fail(Errc::invalid, "out of range");
  return value;
}

}  // namespace

Result<std::uint64_t> parse_unsigned(std::string_view text, std::uint64_t max) {
  if (is_unlimited(text)) return max;
  return parse_integer<std::uint64_t>(text, 0, max);
}

Result<std::int64_t> parse_signed(std::string_view text, std::int64_t min, std::int64_t max) {
  return parse_integer<std::int64_t>(text, min, max);
}

Result<bool> parse_bool(std::string_view text) {
  const std::string word = lower(text);
  for (const auto* yes : {"1", "y", "yes", "on", "true"})
    if (word == yes) return true;
  for (const auto* no : {"0", "n", "no", "off", "false"})
    if (word == no) return false;
  return fail(Errc::invalid, "neither yes nor no");
}

Result<Bytes> parse_bytes(std::string_view text) {
  if (is_unlimited(text)) return kUnlimitedBytes;
  auto split = number_and_unit(text);
  if (!split) return tl::unexpected(split.error());
  const std::string unit = lower(split->second);
  for (const auto& known : kByteUnits) {
    if (known.name != unit) continue;
    Bytes result;
    if (__builtin_mul_overflow(split->first, known.factor, &result.count)) return fail(Errc::invalid, "too large");
    return result;
  }
  return fail(Errc::invalid, "unknown unit '{}'", split->second);
}

Result<std::int64_t> parse_duration(std::string_view text, std::int64_t unit_ns) {
  auto split = number_and_unit(text);
  if (!split) return tl::unexpected(split.error());
  auto factor = static_cast<std::uint64_t>(unit_ns);
  if (!split->second.empty()) {
    const auto* known =
        std::find_if(std::begin(kTimeUnits), std::end(kTimeUnits), [&](auto& u) { return u.name == split->second; });
    if (known == std::end(kTimeUnits)) return fail(Errc::invalid, "unknown unit '{}'", split->second);
    factor = known->factor;
  }
  std::int64_t ns = 0;
  if (__builtin_mul_overflow(split->first, factor, &ns)) return fail(Errc::invalid, "too large");
  if (ns % unit_ns != 0) return fail(Errc::invalid, "finer than {}", unit_name(unit_ns));
  return ns / unit_ns;
}

std::string print_bytes(Bytes value) {
  if (value == kUnlimitedBytes) return "inf";
  constexpr Unit kPrinted[] = {{"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"KiB", 1ULL << 10}};
  for (const auto& unit : kPrinted)
    if (value.count != 0 && value.count % unit.factor == 0)
      return fmt::format("{}{}", value.count / unit.factor, unit.name);
  return fmt::format("{}", value.count);
}

std::string print_duration(std::int64_t count, std::int64_t unit_ns) {
  for (const auto& unit : {Unit{"s", 1000000000}, Unit{"ms", 1000000}, Unit{"us", 1000}}) {
    const auto factor = static_cast<std::int64_t>(unit.factor);
    // The member's own unit is coarser than this one, so the count is a multiple of it anyway.
    if (unit_ns > factor) continue;
    const std::int64_t per_unit = factor / unit_ns;
    if (count % per_unit == 0)
      return count == 0 ? fmt::format("0{}", unit_name(unit_ns)) : fmt::format("{}{}", count / per_unit, unit.name);
  }
  if (unit_ns > 1000000000) return fmt::format("{}s", count * (unit_ns / 1000000000));
  return fmt::format("{}{}", count, unit_name(unit_ns));
}

std::string print_unsigned(std::uint64_t value, std::uint64_t max) {
  return value == max && max > 0xff ? std::string("inf") : fmt::format("{}", value);
}

std::string_view unit_name(std::int64_t unit_ns) {
  for (const auto& unit : kTimeUnits)
    if (unit.factor == static_cast<std::uint64_t>(unit_ns)) return unit.name;
  return "units";
}

std::string legal_range(std::string_view kind, const Limits& limits, std::string (*print)(std::int64_t)) {
  const Limits open;
  const bool low = limits.low != open.low, high = limits.high != open.high;
  if (!low && !high) return std::string(kind);
  std::string range;
  if (limits.or_zero) range = "0 or ";
  if (low && high)
    range += fmt::format("from {} to {}", print(limits.low), print(limits.high));
  else if (low)
    range += fmt::format("at least {}", print(limits.low));
  else
    range += fmt::format("at most {}", print(limits.high));
  return fmt::format("{}, {}", kind, range);
}

Result<> check_limits(std::optional<std::int64_t> magnitude, const Limits& limits) {
  if (!magnitude || (limits.or_zero && *magnitude == 0)) return {};
  if (*magnitude < limits.low || *magnitude > limits.high) return fail(Errc::invalid, "out of range");
  return {};
}

std::optional<Found> find(std::span<const std::string_view> names, std::span<const Source> sources) {
  for (const auto& source : sources)
    for (const auto name : names)
      if (auto value = source.lookup(name); value && !value->empty())
        return Found{*std::move(value), std::string(name), source.what};
  return std::nullopt;
}

std::string bad_value(const Found& found, const Error& why, std::string_view legal) {
  return fmt::format("{}={} ({}): {}; legal is {}", found.key, found.value, found.what, why.context, legal);
}

}  // namespace detail

Source environment() {
  return {"environment", [](std::string_view name) -> std::optional<std::string> {
            const bool upper = std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
            if (!upper) return std::nullopt;
            const char* value = std::getenv(std::string(name).c_str());
            if (value == nullptr) return std::nullopt;
            return std::string(value);
          }};
}

Result<KeyValues> KeyValues::parse(std::string_view text, std::string what) {
  KeyValues result;
  result.what_ = std::move(what);
  int number = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto gap = line.find_first_of(" \t");
    if (gap == std::string_view::npos)
      return fail(Errc::invalid, "{} line {}: '{}' has no value; a line is `key value`", result.what_, number, line);
    const std::string key(line.substr(0, gap));
    for (const auto& pair : result.pairs_)
      if (pair.key == key)
        return fail(Errc::invalid, "{} line {}: '{}' is set again, first on line {}", result.what_, number, key,
                    pair.line);
    result.pairs_.push_back({key, std::string(trimmed(line.substr(gap))), number});
  }
  return result;
}

Result<KeyValues> KeyValues::read_file(const std::string& path) {
  const auto text = sumac::read_file(path, "configuration file");
  if (!text) return tl::unexpected(text.error());
  return parse(*text, path);
}

std::vector<std::string> KeyValues::keys() const {
  std::vector<std::string> names;
  for (const auto& pair : pairs_) names.push_back(pair.key);
  return names;
}

Source KeyValues::source() const {
  return {what_, [pairs = pairs_](std::string_view name) -> std::optional<std::string> {
            for (const auto& pair : pairs)
              if (pair.key == name) return pair.value;
            return std::nullopt;
          }};
}

std::vector<UnknownName> unknown_names(std::span<const std::string> names, std::span<const std::string> known) {
  std::vector<UnknownName> result;
  for (const auto& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    UnknownName unknown{name, {}};
    // A word that is farther away is not a typing error.
    std::size_t best = std::max<std::size_t>(2, name.size() / 5) + 1;
    for (const auto& candidate : known) {
      if (const std::size_t distance = edit_distance(name, candidate); distance < best) {
        best = distance;
        unknown.nearest = candidate;
      }
    }
    result.push_back(std::move(unknown));
  }
  return result;
}

std::vector<std::string> our_environment_names() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (name.starts_with("SUMAC_") || name.starts_with("SHARP_COLL_") || name.starts_with("HCOLL_"))
      names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string to_string(const UnknownName& unknown) {
  constexpr std::string_view kUnknown = "unknown variable {}: did you mean {}?";
  if (unknown.nearest.empty()) return fmt::format("unknown variable {}", unknown.name);
  return fmt::format(kUnknown, unknown.name, unknown.nearest);
}

}  // namespace sumac
