#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tools/doctor/compare.hpp"

namespace sumac::tools::doctor {
namespace {

struct Numbered {
  std::string head, digits, tail;
};

/// Splits a name at its last number: "n07-ib0" -> "n07-ib", "0", "". Names without a number have no digits.
Numbered split(const std::string& name) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  auto end = name.size();
  while (end > 0 && !is_digit(name[end - 1])) --end;
  auto begin = end;
  while (begin > 0 && is_digit(name[begin - 1]) && end - begin < 9) --begin;
  return {name.substr(0, begin), name.substr(begin, end - begin), name.substr(end)};
}

}  // namespace

std::string fold_names(const Strings& names) {
  // n1 and n01 are two hosts: a number belongs to those of its width where one of these begins with 0.
  std::set<std::string> padded;
  const auto key_of = [](const Numbered& part, std::size_t width) {
    return fmt::format("{}\n{}\n{}", part.head, width, part.tail);
  };
  for (const auto& name : names)
    if (const auto part = split(name); part.digits.size() > 1 && part.digits[0] == '0')
      padded.insert(key_of(part, part.digits.size()));
  std::map<std::string, std::vector<long>> groups;
  std::map<std::string, Numbered> parts;
  std::map<std::string, std::size_t> widths;
  std::string result;
  const auto add = [&](const std::string& text) { result += (result.empty() ? "" : ",") + text; };
  Strings order;
  for (const auto& name : names) {
    const auto part = split(name);
    const auto width = padded.contains(key_of(part, part.digits.size())) ? part.digits.size() : 1;
    const auto key = key_of(part, width);
    if (part.digits.empty()) {
      add(name);
      continue;
    }
    if (!groups.contains(key)) order.push_back(key), parts[key] = part, widths[key] = width;
    groups[key].push_back(std::stol(part.digits));
  }
  for (const auto& key : order) {
    auto& numbers = groups[key];
    const auto& part = parts[key];
    const auto width = widths[key];
    std::ranges::sort(numbers);
    numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
    const auto text = [&](long number) { return fmt::format("{:0{}}", number, width); };
    if (numbers.size() == 1) {
      add(part.head + text(numbers[0]) + part.tail);
      continue;
    }
    std::string inside;
    for (std::size_t i = 0; i < numbers.size();) {
      std::size_t last = i;
      while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
      inside += (inside.empty() ? "" : ",") + text(numbers[i]) + (last > i ? "-" + text(numbers[last]) : "");
      i = last + 1;
    }
    add(fmt::format("{}[{}]{}", part.head, inside, part.tail));
  }
  return result;
}

}  // namespace sumac::tools::doctor
