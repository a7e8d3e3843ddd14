// `sumac doctor-host`: the doctor of one host of several, which `sumac doctor --hosts` starts by a launcher. It talks
// over its standard input and output (tools/run/talk.hpp): settings, then the clock some times, then the report.
#include <fmt/core.h>

#include <ctime>

#include "tools/commands.hpp"
#include "tools/doctor/collect.hpp"
#include "tools/doctor/judge.hpp"
#include "tools/doctor/report.hpp"
#include "tools/run/talk.hpp"

namespace sumac::tools {
namespace {

constexpr int kNoSignals = -1;

doctor::Strings lines_of(const std::string& text) {
  doctor::Strings lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

int doctor_host_command(const Arguments& arguments) {
  if (!arguments.empty()) return complain("doctor-host: it takes no words; `sumac doctor --hosts` starts it", 2);
  Talk talk;
  const auto settings = talk.read(kNoSignals);
  if (!settings) return complain("doctor-host: " + settings.error().context);
  bool lives = say("ready");
  for (;;) {
    const auto order = talk.read(kNoSignals);
    if (!lives || !order) return complain("doctor-host: the doctor that asked is gone");
    if (order->contains("collect")) break;
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    lives = say(fmt::format("time {}", now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec));
  }
  doctor::Report report;
  report.facts = doctor::collect({.cluster = get(*settings, "cluster") == "1",
                                  .manager = get(*settings, "manager"),
                                  .tls_dir = get(*settings, "tls-dir"),
                                  .names = lines_of(get(*settings, "names")),
                                  .peers = lines_of(get(*settings, "peers"))});
  report.findings = doctor::judge(report.facts);
  return say("report " + doctor::text_of(doctor::to_json(report))) ? 0 : 1;
}

}  // namespace sumac::tools
