#pragma once
// The start of every case of control-bench: a manager that runs and a cluster connected to it.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/control/fleet.hpp"
#include "bench/control/manager_process.hpp"

namespace sumac::bench {

inline constexpr std::size_t kNodes = 4;  // A root and three leaves.
inline constexpr Duration kPatience = Seconds(300);

inline double ms(Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

/// A manager that runs and the cluster connected to it.
struct Site {
  ManagerProcess am;
  Fleet fleet;

  static Result<std::unique_ptr<Site>> make(const std::string& program, std::size_t hosts,
                                            std::vector<std::string> options = {}) {
    auto am = ManagerProcess::make(program, fabric_text(hosts, kNodes), std::move(options));
    if (!am) return tl::unexpected(am.error());
    if (auto started = am->start(); !started) return tl::unexpected(started.error());
    const auto endpoint = am->endpoint();
    auto site = std::unique_ptr<Site>(new Site{*std::move(am), Fleet(endpoint, hosts, kNodes)});
    if (!site->fleet.run_until([&] { return site->fleet.all_connected(); }, kPatience))
      return fail(Errc::timeout, "{} hosts have not all registered: {}", hosts, site->am.log_tail());
    return site;
  }
  Result<> verdict() const {
    if (fleet.violations().empty()) return {};
    return fail(Errc::internal, "{} violations, the first: {}", fleet.violations().size(), fleet.violations().front());
  }
};

}  // namespace sumac::bench
