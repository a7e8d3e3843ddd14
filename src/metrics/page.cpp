#include "metrics/page.hpp"

#include <fmt/format.h>

#include "base/utf8.hpp"

namespace sumac::metrics {
namespace {

/// The bounds that are shown: 2^10 ns is shorter than any system call's round trip, 2^33 ns longer than any healthy
/// operation. Finer and coarser buckets add up in the first one and in +Inf.
constexpr std::size_t kFirstBound = 10, kLastBound = 33;

/// Prometheus rejects a whole page for one malformed character of UTF-8.
void append_escaped(std::string& out, std::string_view text, bool quotes) {
  while (!text.empty()) {
    const auto length = utf8_length(text);
    if (length == 0) {
      out += "\xef\xbf\xbd";  // U+FFFD, the replacement character
    } else if (text[0] == '\\') {
      out += "\\\\";
    } else if (text[0] == '\n') {
      out += "\\n";
    } else if (quotes && text[0] == '"') {
      out += "\\\"";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

}  // namespace

Page& Page::begin(std::string_view name, std::string_view help, std::string_view type) {
  name_ = name;
  text_ += "# HELP ";
  text_ += name;
  text_ += ' ';
  append_escaped(text_, help, false);
  text_ += "\n# TYPE ";
  text_ += name;
  text_ += ' ';
  text_ += type;
  text_ += '\n';
  return *this;
}

void Page::line(std::string_view suffix, Labels labels, std::string_view bound, std::string_view number) {
  text_ += name_;
  text_ += suffix;
  char before = '{';
  const auto add = [&](std::string_view label, std::string_view value) {
    text_ += before;
    before = ',';
    text_ += label;
    text_ += "=\"";
    append_escaped(text_, value, true);
    text_ += '"';
  };
  for (const auto& [label, value] : labels) add(label, value);
  if (!bound.empty()) add("le", bound);
  if (before == ',') text_ += '}';
  text_ += ' ';
  text_ += number;
  text_ += '\n';
}

Page& Page::value(std::uint64_t number, Labels labels) {
  line("", labels, "", fmt::format("{}", number));
  return *this;
}

Page& Page::seconds(double number, Labels labels) {
  line("", labels, "", fmt::format("{:.6f}", number));
  return *this;
}

Page& Page::value(const Log2Histogram& times, Labels labels) {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i <= kLastBound; ++i) {
    below += times.counts[i];
    if (i < kFirstBound) continue;
    const auto seconds = static_cast<double>(std::uint64_t{1} << i) / 1e9;
    line("_bucket", labels, fmt::format("{}", seconds), fmt::format("{}", below));
  }
  const auto count = fmt::format("{}", times.count());
  line("_bucket", labels, "+Inf", count);
  line("_sum", labels, "", fmt::format("{}", static_cast<double>(times.sum_ns) / 1e9));
  line("_count", labels, "", count);
  return *this;
}

void add_build_info(Page& page, std::string_view program, std::string_view name, std::string_view version) {
  page.gauge("sumac_build_info", "Always 1; the labels name the program, its name in the fabric and its version.")
      .value(1, {{"program", program}, {"name", name}, {"version", version}});
}

}  // namespace sumac::metrics
