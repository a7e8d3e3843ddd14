#include "bench/control/cases.hpp"

#include <algorithm>
#include <random>

#include "bench/control/site.hpp"

namespace sumac::bench {
namespace {

bool settled(const SimJob& job) { return job.state == SimJob::State::held || job.state == SimJob::State::over; }

}  // namespace

Result<> begin_latency(const std::string& am, const Scale& scale, Report& report) {
  auto site = Site::make(am, scale.hosts);
  if (!site) return tl::unexpected(site.error());
  auto& fleet = (*site)->fleet;
  std::vector<double> times;
  for (std::size_t i = 0; i < scale.begins; ++i) {
    auto& job = fleet.begin(i * 37 % scale.hosts, 32, 0, 0);
    if (!fleet.run_until([&] { return settled(job); }, kPatience) || job.state != SimJob::State::held)
      return fail(Errc::refused, "job {}: {}", job.id, job.refused);
    times.push_back(ms(job.granted_at - job.asked_at));
    fleet.end(job);
    if (!fleet.run_until([&] { return job.state == SimJob::State::over; }, kPatience))
      return fail(Errc::timeout, "job {} does not end", job.id);
    fleet.forget_over();
  }
  report.add("job-begin-median-ms", "ms", median(times), 50, times.size());
  return (*site)->verdict();
}

Result<> throughput(const std::string& am, const Scale& scale, Report& report) {
  auto site = Site::make(am, scale.hosts);
  if (!site) return tl::unexpected(site.error());
  auto& fleet = (*site)->fleet;
  constexpr std::size_t kAtOnce = 32;
  std::size_t done = 0, begun = 0;
  const Time start = monotonic_now();
  const bool ran = fleet.run_until(
      [&] {
        std::size_t open = 0;
        for (auto& [id, job] : fleet.jobs()) {
          if (job.state == SimJob::State::held) fleet.end(job);
          if (job.state == SimJob::State::over)
            ++done;
          else
            ++open;
          if (!job.refused.empty()) fleet.violated(job.refused);
        }
        fleet.forget_over();
        const bool more = monotonic_now() - start < scale.load;
        for (; more && open < kAtOnce; ++open, ++begun) fleet.begin(begun * 37 % scale.hosts, 32, 8, 8);
        return !more && open == 0;
      },
      scale.load + kPatience);
  if (!ran) return fail(Errc::timeout, "jobs do not end");
  report.add("jobs-per-second", "1/s", static_cast<double>(done) / (ms(monotonic_now() - start) / 1000), 200, done,
             Report::Holds::at_least);
  return (*site)->verdict();
}

Result<> memory(const std::string& am, const Scale& scale, Report& report) {
  auto none = Site::make(am, 1);
  if (!none) return tl::unexpected(none.error());
  const auto before = (*none)->am.resident_bytes();
  none->reset();
  auto site = Site::make(am, scale.hosts_many);
  if (!site) return tl::unexpected(site.error());
  const auto after = (*site)->am.resident_bytes();
  report.add("bytes-per-host", "B",
             static_cast<double>(after - std::min(before, after)) / static_cast<double>(scale.hosts_many), 100'000,
             scale.hosts_many);
  return (*site)->verdict();
}

// The manager is killed at any point of a run in which jobs begin and end all the time. Its restart counts as complete
// when all daemons are connected again, it knows exactly the running jobs, and it grants again.
Result<> restarts(const std::string& am, const Scale& scale, Report& report) {
  auto site = Site::make(am, 60);
  if (!site) return tl::unexpected(site.error());
  auto& manager = (*site)->am;
  auto& fleet = (*site)->fleet;
  std::mt19937_64 dice(scale.seed);
  double worst = 0;
  std::vector<double> times;
  for (std::size_t kill = 0; kill < scale.kills; ++kill) {
    // The manager is killed after a random number of the cluster's messages.
    const auto until = fleet.messages() + dice() % 120;
    fleet.run_until(
        [&] {
          const auto live = fleet.jobs().size() - fleet.in_state(SimJob::State::over).size();
          for (auto& [id, job] : fleet.jobs())
            if (job.state == SimJob::State::held && live >= scale.jobs && dice() % scale.jobs == 0) fleet.end(job);
          for (auto count = live; count < scale.jobs + 5; ++count) fleet.begin(dice() % 60, 1 + dice() % 32, 9, 9);
          return fleet.messages() >= until;
        },
        kPatience);
    manager.kill();
    const Time killed = monotonic_now();
    if (auto started = manager.start(); !started) return started;
    auto& probe = fleet.begin(dice() % 60, 4, 1, 1);
    const bool back = fleet.run_until(
        [&] {
          return fleet.all_connected() && settled(probe) && fleet.in_state(SimJob::State::asked).empty() &&
                 fleet.in_state(SimJob::State::ending).empty();
        },
        kPatience);
    const double took = ms(monotonic_now() - killed);
    if (!back) return fail(Errc::timeout, "kill {}: not whole again: {}", kill, manager.log_tail());
    if (probe.state != SimJob::State::held && probe.refused.find("are free") == std::string::npos)
      fleet.violated(fmt::format("kill {}: a new job is refused: {}", kill, probe.refused));
    times.push_back(took);
    worst = std::max(worst, took);
    // The running jobs, the jobs that the manager knows, and those that the nodes hold are the same.
    auto status = manager.status();
    if (!status) return tl::unexpected(status.error());
    std::set<std::uint64_t> known;
    for (const auto& job : (*status)["jobs"]) known.insert(job["id"].get<std::uint64_t>());
    const auto held = fleet.in_state(SimJob::State::held);
    if (known != held)
      fleet.violated(fmt::format("kill {}: {} jobs run, the manager knows {}", kill, held.size(), known.size()));
    if (!fleet.run_until([&] { return fleet.at_nodes() == held; }, kPatience))
      fleet.violated(
          fmt::format("kill {}: {} jobs run, the nodes hold {}", kill, held.size(), fleet.at_nodes().size()));
    if (auto kept = (*site)->verdict(); !kept) return kept;
    fleet.forget_over();
  }
  report.add("restart-ms", "ms", worst, 5000, times.size());
  fmt::print("{:24} {:>12.3f} ms, median; {} jobs side by side\n", "", median(times), scale.jobs);
  return {};
}

// Sharpds are killed, at random points between two renewals, under jobs that continue on other hosts.
Result<> releases(const std::string& am, const Scale& scale, Report& report) {
  auto site = Site::make(am, 60);
  if (!site) return tl::unexpected(site.error());
  auto& fleet = (*site)->fleet;
  std::mt19937_64 dice(scale.seed);
  double worst = 0;
  std::size_t count = 0;
  const std::size_t at_once = std::min<std::size_t>(40, scale.releases);
  while (count < scale.releases) {
    for (std::size_t host = 0; host < 60; ++host)
      if (std::ranges::none_of(fleet.jobs(), [&](const auto& one) { return one.second.host == host; }))
        fleet.begin(host, 4, 8, 8);
    if (!fleet.run_until([&] { return fleet.in_state(SimJob::State::held).size() == 60; }, kPatience))
      return fail(Errc::timeout, "60 jobs do not begin");
    std::vector<std::pair<Time, std::size_t>> kills;
    for (std::size_t i = 0; i < at_once; ++i) kills.emplace_back(monotonic_now() + Millis(dice() % 3000), i);
    std::map<std::uint64_t, Time> dead;  // Keyed by job: the time at which its sharpd died.
    const bool all = fleet.run_until(
        [&] {
          const Time now = monotonic_now();
          for (auto& [when, host] : kills) {
            if (when > now) continue;
            for (auto& [id, job] : fleet.jobs())
              if (job.host == host && job.state == SimJob::State::held) dead[id] = now;
            fleet.kill_host(host);
            when = kNever;
          }
          std::erase_if(dead, [&](const auto& one) {
            if (fleet.at_a_node(one.first)) return false;
            worst = std::max(worst, ms(now - one.second));
            ++count;
            return true;
          });
          return dead.empty() && std::ranges::all_of(kills, [](const auto& kill) { return kill.first == kNever; });
        },
        kPatience);
    if (!all) return fail(Errc::timeout, "{} jobs of dead sharpds are still held", dead.size());
    if (auto kept = (*site)->verdict(); !kept) return kept;
    if (fleet.in_state(SimJob::State::held).size() != 60 - at_once)
      return fail(Errc::internal, "a job of a living sharpd was released");
    fleet.forget_over();
  }
  report.add("release-ms", "ms", worst, 10'000, count);
  return {};
}

}  // namespace sumac::bench
