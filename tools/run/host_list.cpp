#include "tools/run/host_list.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

namespace sumac::tools {
namespace {

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

constexpr std::size_t kNameMax = 253, kLabelMax = 63;  ///< The limits of the domain name system.

bool is_letter_of_names(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

/// The name goes to a shell on the other side, so only the characters of host names are allowed.
Result<> check_host_name(std::string_view name) {
  if (name.empty() || name[0] == '-' || !std::ranges::all_of(name, is_letter_of_names))
    return fail(Errc::invalid, "'{}' is no host's name", name);
  if (name.size() > kNameMax)
    return fail(Errc::invalid, "'{}' is no host's name: it has {} letters, and the longest name has {}", name,
                name.size(), kNameMax);
  for (std::string_view rest = name; !rest.empty();) {
    const auto label = rest.substr(0, rest.find('.'));
    if (label.size() > kLabelMax)
      return fail(Errc::invalid, "'{}' is no host's name: {} letters without a dot, and the most are {}", name,
                  label.size(), kLabelMax);
    rest.remove_prefix(std::min(rest.size(), label.size() + 1));
  }
  return {};
}

/// Returns the length of "[fe80::1%eth0]" at the beginning of the text; 0 if it begins with no IPv6 address. A range of
/// numbers in brackets has no colon.
std::size_t address_length(std::string_view text) {
  const auto close = text.find(']');
  if (!text.starts_with('[') || close == std::string_view::npos) return 0;
  return text.substr(0, close).find(':') == std::string_view::npos ? 0 : close + 1;
}

Result<std::string> address_in(std::string_view brackets) {
  const auto inside = brackets.substr(1, brackets.size() - 2);
  const auto percent = inside.find('%');
  const auto scope = percent == std::string_view::npos ? std::string_view("-") : inside.substr(percent + 1);
  in6_addr address{};
  if (inet_pton(AF_INET6, std::string(inside.substr(0, percent)).c_str(), &address) != 1 || scope.empty() ||
      !std::ranges::all_of(scope, is_letter_of_names))
    return fail(Errc::invalid, "'{}' is no IPv6 address: write [fd00::1]", brackets);
  return std::string(inside);
}

tl::unexpected<Error> too_many() { return fail(Errc::invalid, "more than {} hosts", kHostsMax); }

/// Returns all names of "n[001-003,7]-ib[0-1]": expands the first bracket, then each result again.
Result<> expand(std::string_view item, std::vector<std::string>& out) {
  const auto open = item.find('['), close = item.find(']');
  if (open == std::string_view::npos && close == std::string_view::npos) {
    if (auto name = check_host_name(item); !name) return name;
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
    const auto address = address_length(item);
    if (const auto colon = item.substr(address).rfind(':'); colon != std::string_view::npos) {
      auto said = slots_of(item.substr(address + colon + 1));
      if (!said) return within(fmt::format("host list: {}", item), said.error());
      slots = **said;
      item = item.substr(0, address + colon);
    }
    std::vector<std::string> names;
    if (address != 0 && address == item.size()) {
      auto inside = address_in(item);
      if (!inside) return within("host list", inside.error());
      names.push_back(*std::move(inside));
    } else if (auto expanded = expand(item, names); !expanded) {
      return within("host list", expanded.error());
    }
    for (auto& name : names) {
      if (!seen.emplace(name, hosts.size()).second)
        return fail(Errc::invalid, "host list: {} is named twice: name it once, with :SLOTS for several ranks", name);
      if (hosts.size() >= kHostsMax) return within("host list", too_many().value());
      hosts.push_back({std::move(name), slots});
    }
  }
  return hosts;
}

std::vector<std::string> fabric_names(const std::vector<HostEntry>& hosts) {
  // The host's node has a longer name, and a fabric's names have at most 63 letters.
  constexpr std::size_t kShort = 50;
  const auto fits = [](std::string_view name) {
    return name.size() <= kShort && std::ranges::all_of(name, is_letter_of_names);
  };
  std::set<std::string, std::less<>> taken;
  for (const auto& host : hosts)
    if (fits(host.name)) taken.insert(host.name);
  std::vector<std::string> names;
  for (const auto& host : hosts) {
    auto name = host.name;
    if (!fits(name)) {
      name = host.name.substr(0, host.name.find('.'));
      if (!fits(name) || taken.contains(name)) name = fmt::format("host-{}", names.size() + 1);
      while (!taken.insert(name).second) name += "-";
    }
    names.push_back(std::move(name));
  }
  return names;
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
        const bool is_address = address_length(word) == word.size();
        auto name = is_address ? address_in(word) : Result<std::string>(word);
        if (!is_address)
          if (auto legal = check_host_name(word); !legal) return wrong(legal.error());
        if (!name) return wrong(name.error());
        entry.name = *std::move(name);
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
