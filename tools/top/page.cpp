#include "tools/top/page.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace sumac::tools::top {
namespace {

std::string printable(std::string_view text) {
  std::string out(text);
  std::ranges::replace_if(
      out, [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

/// Takes `name="value"` with its escapes off the front. Returns false if there is none.
bool take_label(std::string_view& rest, Sample& sample) {
  const auto equals = rest.find("=\"");
  if (equals == std::string_view::npos) return false;
  const auto name = rest.substr(0, equals);
  rest.remove_prefix(equals + 2);
  std::string value;
  for (; !rest.empty() && rest.front() != '"'; rest.remove_prefix(1)) {
    if (rest.front() == '\\' && rest.size() > 1) {
      rest.remove_prefix(1);
      value += rest.front() == 'n' ? '\n' : rest.front();
    } else {
      value += rest.front();
    }
  }
  if (rest.empty()) return false;
  rest.remove_prefix(1);
  sample.labels.emplace(printable(name), printable(value));
  return true;
}

void take_line(std::string_view line, Samples& page) {
  const auto name_end = line.find_first_of("{ ");
  if (line.empty() || line.front() == '#' || name_end == std::string_view::npos) return;
  const std::string name(line.substr(0, name_end));
  Sample sample;
  auto rest = line.substr(name_end);
  if (rest.front() == '{') {
    do {
      rest.remove_prefix(1);
      if (!take_label(rest, sample)) return;
    } while (!rest.empty() && rest.front() == ',');
    if (rest.empty() || rest.front() != '}') return;
    rest.remove_prefix(1);
  }
  const std::string number(rest);
  char* end = nullptr;
  sample.value = std::strtod(number.c_str(), &end);
  if (end == number.c_str() || std::isnan(sample.value)) return;
  page[name].push_back(std::move(sample));
}

std::map<double, double> buckets(const Samples& page, std::string_view histogram, std::string_view tree) {
  std::map<double, double> all;
  const auto found = page.find(std::string(histogram) + "_bucket");
  if (found == page.end()) return all;
  for (const auto& one : found->second)
    if (one.label("tree") == tree) all[std::strtod(one.label("le").c_str(), nullptr)] = one.value;
  return all;
}

}  // namespace

Samples parse(std::string_view text) {
  Samples page;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    take_line(text.substr(0, end), page);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return page;
}

double sum(const Samples& page, std::string_view name, std::string_view tree) {
  double all = 0;
  const auto found = page.find(name);
  if (found == page.end()) return all;
  for (const auto& one : found->second)
    if (tree.empty() || one.label("tree") == tree) all += one.value;
  return all;
}

double quantile(const Samples& before, const Samples& now, std::string_view histogram, std::string_view tree,
                double share) {
  auto counts = buckets(now, histogram, tree);
  const auto old = buckets(before, histogram, tree);
  // A smaller count than before means that the daemon was started anew: then everything is new.
  const auto is_less = [&](const auto& one) { return counts[one.first] < one.second; };
  if (!std::ranges::any_of(old, is_less))
    for (const auto& [bound, count] : old) counts[bound] -= count;
  if (counts.empty() || counts.rbegin()->second <= 0) return 0;
  const double wanted = share * counts.rbegin()->second;
  for (const auto& [bound, count] : counts)
    if (count >= wanted) return bound;
  return counts.rbegin()->first;
}

}  // namespace sumac::tools::top
