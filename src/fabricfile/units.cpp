#include "fabricfile/units.hpp"

#include <charconv>
#include <cmath>
#include <span>
#include <string>

namespace sumac {

namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr Unit kDelays[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr Unit kRates[] = {{"bit/s", 1}, {"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9}};
constexpr Unit kSizes[] = {{"B", 1}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}};

Result<double> parse(std::string_view text, std::span<const Unit> units, std::string_view example) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !(number >= 0)) {
    return fail(Errc::invalid, "'{}' is not a number with a unit, like {}", text, example);
  }
  auto rest = text.substr(static_cast<std::size_t>(end - text.data()));
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  if (rest.empty() && number == 0) return 0.0;
  for (const auto& unit : units) {
    if (unit.name != rest) continue;
    const double value = std::round(number * unit.factor);
    if (value > 1e18) return fail(Errc::invalid, "'{}' is too large", text);
    return value;
  }
  std::string known;
  for (const auto& unit : units) known += (known.empty() ? "" : ", ") + std::string(unit.name);
  return fail(Errc::invalid, "'{}' has no unit we know ({}): write it like {}", text, known, example);
}

}  // namespace

Result<std::int64_t> parse_delay_ns(std::string_view text) {
  return parse(text, kDelays, "500us").map([](double v) { return static_cast<std::int64_t>(v); });
}

Result<std::uint64_t> parse_rate_bits_per_s(std::string_view text) {
  return parse(text, kRates, "1Gbit/s").map([](double v) { return static_cast<std::uint64_t>(v); });
}

Result<std::uint64_t> parse_size_bytes(std::string_view text) {
  return parse(text, kSizes, "32MiB").map([](double v) { return static_cast<std::uint64_t>(v); });
}

}  // namespace sumac
