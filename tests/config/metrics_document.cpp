#include <fmt/core.h>

#include <map>
#include <sstream>

#include "hostd/metrics.hpp"
#include "manager/metrics.hpp"
#include "metrics/process.hpp"
#include "node/metrics.hpp"
#include "tests/config/document.hpp"

namespace sumac::tests {
namespace {

/// The rows of the metrics that stand in a page of metrics, from its lines "# HELP name words" and "# TYPE name kind".
std::string rows(const metrics::Page& page, bool with_build_info) {
  std::istringstream lines(page.text());
  std::string out, name, words;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream parts(line);
    std::string hash, what, rest;
    parts >> hash >> what >> name >> std::ws;
    if (hash != "#") continue;
    std::getline(parts, rest);
    if (what == "HELP") words = rest;
    if (what == "TYPE" && (with_build_info || name != "sumac_build_info"))
      out += fmt::format("| `{}` | {} | {} |\n", name, rest, words);
  }
  return out;
}

}  // namespace

std::string metrics_markdown() {
  metrics::Page every;
  metrics::add_build_info(every, "", "", "");
  metrics::add_process(every, std::nullopt);
  std::string out = "# Metrics, by daemon\n\nMade from the code; [metrics.md](metrics.md) says how they are served.\n";
  const auto section = [&out](const char* title, const metrics::Page& page, bool with_build_info = false) {
    out += fmt::format("\n## {}\n\n| metric | type | meaning |\n|---|---|---|\n{}", title, rows(page, with_build_info));
  };
  section("Every daemon", every, true);
  section("sharp_an", node::metrics_page("", false, {}));
  const manager::Sharpds sharpds;
  const std::map<std::uint32_t, manager::UserUsage> users;
  manager::Facts facts;
  facts.sharpds = &sharpds;
  facts.users = &users;
  section("sharp_am", manager::metrics_page(facts, {}));
  section("sharpd", hostd::metrics_page("", {}));
  return out;
}

}  // namespace sumac::tests
