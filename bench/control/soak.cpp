// For an hour jobs come and go while sharpds die: at the end the manager must be as large as after its first minutes,
// and hold nothing when all is over.
#include <random>

#include "bench/control/cases.hpp"
#include "bench/control/site.hpp"

namespace sumac::bench {
namespace {

constexpr std::size_t kJobsAtOnce = 40;
constexpr std::int64_t kJobLivesMs = 2000;  ///< The longest life of a job.
constexpr std::size_t kParts = 20;          ///< The number of times that memory is checked and a line is printed.

struct Soak {
  Site& site;
  std::mt19937_64 dice;
  std::map<std::uint64_t, Time> end_at{};
  std::size_t begun = 0, ended = 0, deaths = 0;
  Time next_death{};

  void churn(Time now) {
    auto& fleet = site.fleet;
    std::size_t open = 0;
    for (auto& [id, job] : fleet.jobs()) {
      if (job.state == SimJob::State::held) {
        const auto [at, is_new] = end_at.try_emplace(id, now + Millis(dice() % kJobLivesMs));
        if (at->second <= now) fleet.end(job);
      }
      if (job.state == SimJob::State::over) {
        ++ended;
        end_at.erase(id);
        if (!job.refused.empty()) fleet.violated(job.refused);
      } else {
        ++open;
      }
    }
    fleet.forget_over();
    for (; open < kJobsAtOnce; ++open, ++begun) fleet.begin(dice() % hosts(), 1 + dice() % 32, 8, 8);
    if (next_death <= now) {
      next_death = now + Millis(200 + dice() % 600);
      fleet.kill_host(dice() % hosts());
      ++deaths;
    }
  }
  std::size_t hosts() const { return host_count; }
  std::size_t host_count = 0;
};

}  // namespace

Result<> soak(const std::string& am, const Scale& scale, Report& report) {
  auto site = Site::make(am, scale.hosts, {"--log-level", "2"});
  if (!site) return tl::unexpected(site.error());
  auto& fleet = (*site)->fleet;
  Soak churn{.site = **site, .dice = std::mt19937_64(scale.seed), .host_count = scale.hosts};
  std::vector<std::uint64_t> resident;
  for (std::size_t part = 0; part < kParts; ++part) {
    const Time until = monotonic_now() + scale.soak / kParts;
    if (!fleet.run_until(
            [&] {
              const Time now = monotonic_now();
              churn.churn(now);
              return now >= until;
            },
            scale.soak + kPatience))
      return fail(Errc::timeout, "part {} does not end", part);
    if (auto kept = (*site)->verdict(); !kept) return kept;
    resident.push_back((*site)->am.resident_bytes());
    fmt::print("soak {:3} %: {} jobs begun, {} over, {} sharpds killed, manager {:.1f} MiB\n",
               (part + 1) * 100 / kParts, churn.begun, churn.ended, churn.deaths,
               static_cast<double>(resident.back()) / (1 << 20));
    std::fflush(stdout);
  }
  // Jobs of killed sharpds are over for the fleet at once, and at the manager when their leases end.
  for (auto& [id, job] : fleet.jobs())
    if (job.state == SimJob::State::held) fleet.end(job);
  const bool empty = fleet.run_until(
      [&] {
        for (auto& [id, job] : fleet.jobs())
          if (job.state == SimJob::State::held) fleet.end(job);
        fleet.forget_over();
        return fleet.jobs().empty() && fleet.at_nodes().empty();
      },
      kPatience);
  if (!empty) return fail(Errc::timeout, "{} jobs are left at the nodes", fleet.at_nodes().size());
  // The manager hears of the last releases a little later than the nodes have done them.
  Result<nlohmann::json> status;
  const auto holds_nothing = [&] {
    status = (*site)->am.status();
    return !status || ((*status)["jobs"].empty() && (*status)["osts_granted"] == 0 && (*status)["groups_granted"] == 0);
  };
  if (!fleet.run_until(holds_nothing, kPatience))
    fleet.violated(fmt::format("the manager still holds {} jobs, {} OSTs and {} groups", (*status)["jobs"].size(),
                               (*status)["osts_granted"].dump(), (*status)["groups_granted"].dump()));
  if (!status) return tl::unexpected(status.error());
  // The first quarter fills its caches and arenas; if the rest adds to that, it is a leak.
  const auto warm = *std::max_element(resident.begin(), resident.begin() + kParts / 4);
  const auto late = *std::max_element(resident.end() - kParts / 4, resident.end());
  report.add("soak-growth-bytes", "B", static_cast<double>(late - std::min(warm, late)),
             static_cast<double>(scale.growth), churn.begun);
  if (auto kept = (*site)->verdict(); !kept) return kept;
  if (late > warm + scale.growth)
    return fail(Errc::internal, "the manager grew from {} to {} bytes over {} jobs", warm, late, churn.begun);
  return {};
}

}  // namespace sumac::bench
