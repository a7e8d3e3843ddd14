#pragma once
// An option is declared once, in a constexpr table. The table parses it, prints it, documents it, and suggests its name
// for a mistyped one:
//
//   inline constexpr Option<NodeConfig> kNodeOptions[] = {
//       option<&NodeConfig::ost_count>("SUMAC_NODE_OST_COUNT", "512", "OSTs held at once.").between(1, 65535),
//       option<&NodeConfig::payload_max>("SUMAC_NODE_PAYLOAD_MAX", "1KiB", "Payload of one LLT message."),
//       option<&NodeConfig::log_level>("SUMAC_NODE_LOG_LEVEL", "warn", "Verbosity.").alias("log_level"),
//   };
//   Result<NodeConfig> config = load<NodeConfig>(kNodeOptions, arguments, environment(), file.source());
//
// The first source that knows the name (or an alias) wins; an option in no source gets its default. An empty value
// counts as unset, because people write `VARIABLE= program` to clear a variable.
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/option_values.hpp"
#include "base/result.hpp"

namespace sumac {

inline constexpr std::size_t kAliasesMax = 3;

template <class Config>
struct Option {
  std::string_view name;
  std::string_view default_text;
  std::string_view doc;
  std::array<std::string_view, kAliasesMax> aliases{};
  bool is_hidden = false;     ///< Accepted and known, but shown only on request.
  bool is_updatable = false;  ///< A running daemon applies a new value on SIGHUP.
  detail::Limits limits{};
  Result<> (*parse)(Config&, std::string_view text, const detail::Limits&) = nullptr;
  std::string (*print)(const Config&, bool bare) = nullptr;
  std::string (*legal)(const detail::Limits&) = nullptr;

  constexpr Option alias(std::string_view other) const {
    Option copy = *this;
    for (auto& slot : copy.aliases) {
      if (!slot.empty()) continue;
      slot = other;
      return copy;
    }
    throw "more aliases than kAliasesMax";  // Tables are constexpr, so this stops the compilation.
  }
  constexpr Option hidden() const {
    Option copy = *this;
    copy.is_hidden = true;
    return copy;
  }
  constexpr Option updatable() const {
    Option copy = *this;
    copy.is_updatable = true;
    return copy;
  }
  /// Both ends are legal. They count in the member's unit: elements, bytes, milliseconds of a Millis.
  constexpr Option between(std::int64_t low, std::int64_t high) const {
    Option copy = *this;
    copy.limits.low = low;
    copy.limits.high = high;
    return copy;
  }
  constexpr Option or_zero() const {
    Option copy = *this;
    copy.limits.or_zero = true;
    return copy;
  }
  /// True if the default is a bare number: the value is then printed as one, whatever its unit ("10000", not "10s").
  constexpr bool prints_bare() const {
    for (const char c : default_text)
      if (c < '0' || c > '9') return false;
    return !default_text.empty();
  }
};

namespace detail {
template <class M>
struct MemberOf;
template <class C, class T>
struct MemberOf<T C::*> {
  using Config = C;
  using Value = T;
};
Result<> check_limits(std::optional<std::int64_t> magnitude, const Limits& limits);
}  // namespace detail

namespace detail {
template <class Config, class Value, class Access>
constexpr Option<Config> make_option(std::string_view name, std::string_view default_text, std::string_view doc) {
  Option<Config> result{name, default_text, doc};
  result.parse = [](Config& config, std::string_view text, const Limits& limits) -> Result<> {
    auto value = parse_value<Value>(text);
    if (!value) return tl::unexpected(value.error());
    if (auto inside = check_limits(magnitude(*value), limits); !inside) return inside;
    Access::in(config) = *std::move(value);
    return {};
  };
  result.print = [](const Config& config, bool bare) { return print_value(Access::in(config), bare); };
  result.legal = [](const Limits& limits) { return legal_text<Value>(limits); };
  return result;
}

template <auto Member>
struct Whole {
  static auto& in(auto& config) { return config.*Member; }
};
template <auto Member, std::size_t Index>
struct Element {
  static auto& in(auto& config) { return (config.*Member)[Index]; }
};
}  // namespace detail

template <auto Member>
constexpr auto option(std::string_view name, std::string_view default_text, std::string_view doc) {
  using Of = detail::MemberOf<decltype(Member)>;
  return detail::make_option<typename Of::Config, typename Of::Value, detail::Whole<Member>>(name, default_text, doc);
}

/// Declares an option for one element of a std::array.
template <auto Member, std::size_t Index>
constexpr auto option_at(std::string_view name, std::string_view default_text, std::string_view doc) {
  using Of = detail::MemberOf<decltype(Member)>;
  return detail::make_option<typename Of::Config, typename Of::Value::value_type, detail::Element<Member, Index>>(
      name, default_text, doc);
}

/// A source of values. `what` names it in errors: "environment", "/etc/sharp/sharp_am.cfg".
struct Source {
  std::string what;
  std::function<std::optional<std::string>(std::string_view name)> lookup;
};

/// The environment of the process. It is read at each look-up and never kept, because clients change it between two
/// calls of sharp_coll_init. Only upper-case names are looked up, so that a file's key that is also an alias
/// ("log_level") is not found in a user's shell.
Source environment();

/// The contents of a `key value` file: one pair per line; the value is the rest of the line; # begins a comment.
class KeyValues {
 public:
  struct Pair {
    std::string key, value;
    int line = 0;
  };
  static Result<KeyValues> parse(std::string_view text, std::string what);
  static Result<KeyValues> read_file(const std::string& path);

  const std::vector<Pair>& pairs() const noexcept { return pairs_; }
  std::vector<std::string> keys() const;
  Source source() const;  ///< The returned source holds a copy of the pairs.

 private:
  std::string what_;
  std::vector<Pair> pairs_;
};

namespace detail {
struct Found {
  std::string value, key, what;
};
/// `names` holds the option's name and its aliases. The sources are the outer loop, so that an earlier source wins
/// whatever name it uses.
std::optional<Found> find(std::span<const std::string_view> names, std::span<const Source> sources);
std::string bad_value(const Found& found, const Error& why, std::string_view legal);

template <class Config>
std::vector<std::string_view> names_of(const Option<Config>& option) {
  std::vector<std::string_view> names{option.name};
  for (const auto alias : option.aliases)
    if (!alias.empty()) names.push_back(alias);
  return names;
}
}  // namespace detail

/// The same for a list of sources that is made at run time.
template <class Config>
Result<Config> load_from(std::type_identity_t<std::span<const Option<Config>>> table, std::span<const Source> sources) {
  Config config{};
  for (const auto& option : table) {
    auto found = detail::find(detail::names_of(option), sources);
    if (!found) found = detail::Found{std::string(option.default_text), std::string(option.name), "default"};
    if (auto parsed = option.parse(config, found->value, option.limits); !parsed)
      return fail(Errc::invalid, "{}", detail::bad_value(*found, parsed.error(), option.legal(option.limits)));
  }
  return config;
}

template <class Config, class... Sources>
Result<Config> load(std::type_identity_t<std::span<const Option<Config>>> table, Sources&&... sources) {
  const std::array<Source, sizeof...(Sources)> list{Source(std::forward<Sources>(sources))...};
  return load_from<Config>(table, list);
}

struct DumpStyle {
  bool doc = false;     ///< Writes a comment before each option, with its meaning and its legal values.
  bool hidden = false;  ///< Includes hidden options.
  std::string_view between = "=";
};

/// Returns "NAME=value" lines in the order of the table, for --show-config and sharp_coll_dump_config. Loading them
/// gives the same configuration.
template <class Config>
std::string dump(std::type_identity_t<std::span<const Option<Config>>> table, const Config& config,
                 DumpStyle style = {}) {
  std::string text;
  for (const auto& option : table) {
    if (option.is_hidden && !style.hidden) continue;
    if (style.doc) {
      text += fmt::format("\n# {}\n# Legal: {}. Default: {}\n", option.doc, option.legal(option.limits),
                          option.default_text.empty() ? "none" : option.default_text);
      if (option.is_updatable) text += "# May change at run time: SIGHUP.\n";
      for (const auto alias : option.aliases)
        if (!alias.empty()) text += fmt::format("# Also: {}\n", alias);
    }
    text += fmt::format("{}{}{}\n", option.name, style.between, option.print(config, option.prints_bare()));
  }
  return text;
}

/// Returns the rows of a Markdown table with the head `| name | default | legal | meaning |`, for the page of options (docs/reference.md).
template <class Config>
std::string document(std::type_identity_t<std::span<const Option<Config>>> table, bool hidden = false) {
  std::string text = "| name | default | legal | meaning |\n|---|---|---|---|\n";
  for (const auto& option : table) {
    if (option.is_hidden && !hidden) continue;
    std::string name = fmt::format("`{}`", option.name);
    for (const auto alias : option.aliases)
      if (!alias.empty()) name += fmt::format(", `{}`", alias);
    const std::string value = option.default_text.empty() ? "" : fmt::format("`{}`", option.default_text);
    text += fmt::format("| {} | {} | {} | {}{} |\n", name, value, option.legal(option.limits), option.doc,
                        option.is_updatable ? " *SIGHUP*" : "");
  }
  return text;
}

/// Appends all names of a table to `names`, aliases and hidden ones included.
template <class Config>
void append_names(std::type_identity_t<std::span<const Option<Config>>> table, std::vector<std::string>& names) {
  for (const auto& option : table)
    for (const auto name : detail::names_of(option)) names.emplace_back(name);
}

struct UnknownName {
  std::string name;
  std::string nearest;  ///< Empty if no known name is near.
};

/// Returns those of `names` that are not known, each with the known name that was probably meant.
std::vector<UnknownName> unknown_names(std::span<const std::string> names, std::span<const std::string> known);

/// Returns the environment's names that begin with SUMAC_, SHARP_COLL_ or HCOLL_: the names that must be known to us.
std::vector<std::string> our_environment_names();

/// Returns a sentence such as "unknown variable SUMAC_NOD_OST_COUNT: did you mean SUMAC_NODE_OST_COUNT?"
std::string to_string(const UnknownName& unknown);

}  // namespace sumac
