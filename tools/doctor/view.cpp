#include "tools/doctor/view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/utf8.hpp"

namespace sumac::tools::doctor {
namespace {

constexpr std::size_t kWidth = 80, kHealthWidth = 5, kSubjectWidth = 18;
constexpr std::size_t kIndent = kHealthWidth + kSubjectWidth + 2;

/// Counts characters, not bytes.
std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string row_of(const Finding& finding) {
  std::string text =
      fmt::format("{:<{}} {:<{}} ", word(finding.health), kHealthWidth, printable(finding.subject), kSubjectWidth);
  bool first = columns(text) == kIndent;
  if (!first) text += '\n';  // A subject that is wider than its column has a line of its own.
  for (const auto& line : wrapped(printable(finding.found), kWidth - kIndent)) {
    text += fmt::format("{:{}}{}\n", "", first ? 0 : kIndent, line);
    first = false;
  }
  if (finding.remedy.empty()) return text;
  bool begins = true;
  for (const auto& line : wrapped(printable(finding.remedy), kWidth - kIndent - 3)) {
    text += fmt::format("{:{}}{}{}\n", "", kIndent, begins ? "-> " : "   ", line);
    begins = false;
  }
  return text;
}

/// The worst of a host's findings on a subject; "-": it has none.
std::string_view cell(const HostAnswer& host, const std::string& subject) {
  if (!host.report) return "?";
  std::string_view result = "-";
  auto worst = Health::well;
  for (const auto& each : host.report->findings)
    if (each.subject == subject && (result == "-" || each.health > worst)) worst = each.health, result = word(worst);
  return result;
}

Strings subjects_of(const std::vector<HostAnswer>& hosts) {
  Strings subjects;
  for (const auto& host : hosts)
    if (host.report)
      for (const auto& each : host.report->findings)
        if (std::ranges::find(subjects, each.subject) == subjects.end()) subjects.push_back(each.subject);
  return subjects;
}

std::string columns_of_hosts(const std::vector<HostAnswer>& hosts) {
  std::string text = fmt::format("{:{}}", "", kSubjectWidth);
  for (const auto& host : hosts) text += fmt::format("  {:>4}", host.name);
  text += '\n';
  for (const auto& subject : subjects_of(hosts)) {
    text += fmt::format("{:<{}}", subject, kSubjectWidth);
    for (const auto& host : hosts)
      text += fmt::format("  {:>{}}", cell(host, subject), std::max<std::size_t>(4, host.name.size()));
    text += '\n';
  }
  return text;
}

std::string rows_of_hosts(const std::vector<HostAnswer>& hosts) {
  std::string text, alike;
  for (const auto& subject : subjects_of(hosts)) {
    std::map<std::string_view, Strings> by_cell;
    for (const auto& host : hosts)
      if (host.report) by_cell[cell(host, subject)].push_back(host.name);
    if (by_cell.size() == 1 && by_cell.begin()->first == "ok") {
      alike += (alike.empty() ? "" : ", ") + subject;
      continue;
    }
    for (const auto& [state, names] : by_cell)
      for (bool first = true;
           const auto& line : wrapped(fmt::format("{} hosts: {}", names.size(), fold_names(names)), kWidth - kIndent)) {
        text += fmt::format("{:<{}} {:<{}} {}\n", first ? state : "", kHealthWidth, first ? subject : "", kSubjectWidth,
                            line);
        first = false;
      }
  }
  const auto count = std::ranges::count_if(hosts, [](const HostAnswer& host) { return host.report.has_value(); });
  return text + row_of({fmt::format("all {} hosts", count), Health::well, alike.empty() ? "nothing" : alike, ""});
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const auto begin = text.find_first_not_of(' ');
    if (begin == text.npos) break;
    text.remove_prefix(begin);
    auto end = std::min(text.find(' '), text.size());
    // A command stays on one line, so that it can be copied.
    if (const auto quote = text.substr(0, end).find('`'); quote != text.npos)
      if (const auto close = text.find('`', quote + 1); close != text.npos) {
        const auto behind = std::min(text.find(' ', close), text.size());
        if (columns(text.substr(0, behind)) <= width) end = std::max(end, behind);
      }
    const auto part = text.substr(0, end);
    if (!line.empty() && columns(line) + 1 + columns(part) > width) lines.push_back(std::exchange(line, {}));
    line += (line.empty() ? "" : " ") + std::string(part);
    text.remove_prefix(end);
  }
  if (!line.empty() || lines.empty()) lines.push_back(line);
  return lines;
}

std::string page_of_host(const Findings& findings) {
  std::string text;
  for (const auto& each : findings) text += row_of(each);
  return text;
}

std::string page_of_hosts(const std::vector<HostAnswer>& hosts, const Findings& between) {
  std::size_t width = kSubjectWidth;
  for (const auto& host : hosts) width += 2 + std::max<std::size_t>(4, host.name.size());
  std::string text = width <= kWidth ? columns_of_hosts(hosts) : rows_of_hosts(hosts);
  text += "\nbetween the hosts:\n" + page_of_host(between);
  // A finding that several hosts have is printed once.
  std::map<std::tuple<std::string_view, Health, std::string_view, std::string_view>, std::size_t> known;
  std::vector<std::pair<const Finding*, Strings>> found;
  for (const auto& host : hosts) {
    if (!host.report) continue;
    for (const auto& each : host.report->findings) {
      if (each.health == Health::well) continue;
      const auto [at, is_new] = known.try_emplace({each.subject, each.health, each.found, each.remedy}, found.size());
      if (is_new) found.emplace_back(&each, Strings());
      found[at->second].second.push_back(host.name);
    }
  }
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.second < b.second; });
  const Strings* last = nullptr;
  for (const auto& [finding, names] : found) {
    if (last == nullptr || *last != names) text += fmt::format("\non {}:\n", fold_names(names));
    last = &names;
    text += row_of(*finding);
  }
  return text;
}

}  // namespace sumac::tools::doctor
