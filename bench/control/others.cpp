#include "bench/control/others.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <vector>

namespace sumac::bench {
namespace {

struct Ran {
  int status = 0;
  std::vector<std::string> lines;
};

Result<Ran> run(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) return fail_errno(command);
  std::string text;
  char part[4096];
  while (const auto got = std::fread(part, 1, sizeof part, pipe)) text.append(part, got);
  const int status = ::pclose(pipe);
  Ran ran{WIFEXITED(status) ? WEXITSTATUS(status) : 128, {}};
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) ran.lines.push_back(line);
  if (ran.lines.empty()) return fail(Errc::invalid, "{} printed nothing (status {})", command, ran.status);
  return ran;
}

}  // namespace

Result<> run_case(const std::string& program, Report& report) {
  auto ran = run("'" + program + "'");
  if (!ran) return tl::unexpected(ran.error());
  for (std::size_t i = 0; i + 1 < ran->lines.size(); ++i) fmt::print("{}\n", ran->lines[i]);
  const auto row = nlohmann::json::parse(ran->lines.back(), nullptr, false);
  if (row.is_discarded() || !row.contains("case"))
    return fail(Errc::invalid, "{}: its last line is no case: {}", program, ran->lines.back());
  report.add(row["case"], row["unit"], row["sumac"], row["limit"], row["trials"]);
  return {};
}

Result<> golden_lines(const std::string& program, Report& report) {
  auto ran = run("'" + program + "' --gtest_brief=1");
  if (!ran) return tl::unexpected(ran.error());
  // A difference is reported with the path of its file.
  auto differ = std::ranges::count_if(ran->lines, [](const auto& line) { return line.ends_with(".golden"); });
  if (ran->status != 0) differ = std::max<std::ptrdiff_t>(differ, 1);
  constexpr std::size_t kFiles = 8;  // The number of files in tests/golden/lines_test.cpp.
  report.add("golden-log-lines", "violations", static_cast<double>(differ), 0, kFiles);
  if (differ == 0) return {};
  std::string all;
  for (const auto& line : ran->lines) all += line + "\n";
  return fail(Errc::internal, "{}", all);
}

}  // namespace sumac::bench
