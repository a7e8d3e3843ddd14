#pragma once
// The cases of control-bench. Each starts a manager and a fleet of its own; an Error is a violation, or a machine that
// cannot run the case.
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "bench/control/report.hpp"

namespace sumac::bench {

struct Scale {
  std::size_t hosts = 1000, hosts_many = 10'000;
  std::size_t begins = 300;
  Duration load = Seconds(5);
  std::size_t comms = 10'000;
  std::uint64_t growth = 1u << 20;  ///< The bytes that a daemon may grow by because of them: its caches and arenas.
  std::size_t kills = 200, jobs = 50, releases = 200;
  std::uint64_t seed = 1;
  Duration soak = Seconds(3600);
  std::size_t page_blocks = 8;         ///< With clients of the page, and as many without.
  Duration page_block = Millis(2500);  ///< Jobs begin and end for so long in each.
};

Result<> begin_latency(const std::string& am, const Scale& scale, Report& report);
Result<> throughput(const std::string& am, const Scale& scale, Report& report);
Result<> memory(const std::string& am, const Scale& scale, Report& report);
Result<> restarts(const std::string& am, const Scale& scale, Report& report);
/// Uses the real daemons and the real library: programs of the directory of `am`.
Result<> communicators(const std::string& am, const Scale& scale, Report& report);
/// Runs only on request, because it takes an hour.
Result<> soak(const std::string& am, const Scale& scale, Report& report);
/// Jobs begin while 20 clients ask what the page asks, as often, and while they do not, in turns.
Result<> page_clients(const std::string& am, const Scale& scale, Report& report);
Result<> releases(const std::string& am, const Scale& scale, Report& report);

}  // namespace sumac::bench
