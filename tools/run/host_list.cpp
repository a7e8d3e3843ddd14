#include "tools/run/host_list.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace sumac::tools {
namespace {

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

/// The name goes to a shell on the other side and into a YAML file, so only the characters of host names are allowed.
bool is_host_name(std::string_view name) {
  return !name.empty() && name[0] != '-' && name.size() < 64 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
  });
}

tl::unexpected<Error> too_many() { return fail(Errc::invalid, "more than {} hosts", kHostsMax); }

/// Returns all names of "n[001-003,7]-ib[0-1]": expands the first bracket, then each result again.
Result<> expand(std::string_view item, std::vector<std::string>& out) {
  const auto open = item.find('['), close = item.find(']');
  if (open == std::string_view::npos && close == std::string_view::npos) {
    if (!is_host_name(item)) return fail(Errc::invalid, "'{}' is no host's name", item);
    if (out.size() >= kHostsMax) return too_many();
    out.emplace_back(item);
    return {};
  }
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return fail(Errc::invalid, "'{}': unbalanced brackets", item);
  const auto head = item.substr(0, open), tail = item.substr(close + 1);
  auto inside = item.substr(open + 1, close - open - 1);
  while (true) {
    const auto comma = inside.find(',');
    const auto range = inside.substr(0, comma);
    const auto dash = range.find('-');
    const auto low_text = range.substr(0, dash);
    const auto low = number(low_text);
    const auto high = dash == std::string_view::npos ? low : number(range.substr(dash + 1));
    if (!low || !high || *high < *low || low_text.size() > 9)
      return fail(Errc::invalid, "'{}': [{}] is no range", item, range);
    if (*high - *low >= kHostsMax) return too_many();
    for (auto at = *low; at <= *high; ++at)
      if (auto more = expand(fmt::format("{}{:0{}}{}", head, at, low_text.size(), tail), out); !more) return more;
    if (comma == std::string_view::npos) return {};
    inside = inside.substr(comma + 1);
  }
}

Result<std::optional<unsigned>> slots_of(std::string_view text) {
  const auto value = number(text);
  if (!value || *value == 0 || *value > 65536) return fail(Errc::invalid, "'{}' is no number of slots", text);
  return std::optional<unsigned>(*value);
}

}  // namespace

Result<std::vector<HostEntry>> parse_host_list(std::string_view text) {
  std::vector<HostEntry> hosts;
  std::map<std::string, std::size_t, std::less<>> seen;
  for (std::size_t begin = 0; begin <= text.size();) {
    // A comma in brackets belongs to the range.
    std::size_t end = begin;
    for (int depth = 0; end < text.size() && (text[end] != ',' || depth > 0); ++end)
      depth += text[end] == '[' ? 1 : (text[end] == ']' ? -1 : 0);
    auto item = text.substr(begin, end - begin);
    begin = end + 1;
    unsigned slots = 0;
    if (const auto colon = item.rfind(':'); colon != std::string_view::npos) {
      auto said = slots_of(item.substr(colon + 1));
      if (!said) return within(fmt::format("host list: {}", item), said.error());
      slots = **said;
      item = item.substr(0, colon);
    }
    std::vector<std::string> names;
    if (auto expanded = expand(item, names); !expanded) return within("host list", expanded.error());
    for (auto& name : names) {
      if (!seen.emplace(name, hosts.size()).second)
        return fail(Errc::invalid, "host list: {} is named twice: name it once, with :SLOTS for several ranks", name);
      if (hosts.size() >= kHostsMax) return within("host list", too_many().value());
      hosts.push_back({std::move(name), slots});
    }
  }
  return hosts;
}

Result<std::vector<HostEntry>> parse_hostfile(std::string_view text, const std::string& what) {
  std::vector<HostEntry> hosts;
  std::map<std::string, std::size_t, std::less<>> seen;
  std::size_t number_of_line = 0;
  while (!text.empty()) {
    const auto newline = text.find('\n');
    auto line = text.substr(0, newline);
    text = newline == std::string_view::npos ? std::string_view{} : text.substr(newline + 1);
    ++number_of_line;
    line = line.substr(0, line.find('#'));
    HostEntry entry;
    while (true) {
      const auto begin = line.find_first_not_of(" \t\r");
      if (begin == std::string_view::npos) break;
      line = line.substr(begin);
      const auto word = line.substr(0, line.find_first_of(" \t\r"));
      line = line.substr(word.size());
      const auto wrong = [&](const Error& error) { return within(fmt::format("{}:{}", what, number_of_line), error); };
      if (entry.name.empty()) {
        if (!is_host_name(word)) return wrong({Errc::invalid, fmt::format("'{}' is no host's name", word)});
        entry.name = word;
      } else if (word.starts_with("slots=")) {
        auto said = slots_of(word.substr(6));
        if (!said) return wrong(said.error());
        entry.slots = **said;
      } else if (!word.starts_with("max_slots=") && !word.starts_with("max-slots=")) {
        return wrong({Errc::invalid, fmt::format("'{}' is not understood: NAME [slots=N]", word)});
      }
    }
    if (entry.name.empty()) continue;
    if (const auto [first, is_new] = seen.emplace(entry.name, number_of_line); !is_new)
      return fail(Errc::invalid, "{}:{}: host {} stands in line {} already", what, number_of_line, entry.name,
                  first->second);
    if (hosts.size() >= kHostsMax) return within(what, too_many().value());
    hosts.push_back(std::move(entry));
  }
  if (hosts.empty()) return fail(Errc::invalid, "{}: no host in it", what);
  return hosts;
}

}  // namespace sumac::tools
