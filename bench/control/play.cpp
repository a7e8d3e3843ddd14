#include "bench/control/play.hpp"

#include <poll.h>
#include <unistd.h>

#include "bench/control/site.hpp"

namespace sumac::bench {
namespace {

bool input_has_ended() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  char bytes[256];
  return ::poll(&input, 1, 0) > 0 && ::read(STDIN_FILENO, bytes, sizeof bytes) <= 0;
}

}  // namespace

Result<> play_cluster(const std::string& am, const Play& play) {
  // So many jobs get a small share each, and none waits for another.
  auto made = ManagerProcess::make(am, spine_text(play.hosts, play.leaves, play.spines, play.trees),
                                   {"--page-listen", play.page, "--log-level", "3"});
  if (!made) return tl::unexpected(made.error());
  if (auto started = made->start(); !started) return started;
  Fleet fleet(made->endpoint(), play.hosts, play.leaves + play.spines, play.trees);
  if (!fleet.run_until([&] { return fleet.all_connected() || input_has_ended(); }, kPatience))
    return fail(Errc::timeout, "{} hosts have not all registered: {}", play.hosts, made->log_tail());
  // The OSTs and groups of a job cross few nodes but the roots, which have 512 for all jobs.
  const auto each = static_cast<std::uint32_t>(std::max<std::size_t>(1, 400 / std::max<std::size_t>(play.jobs, 1)));
  for (std::size_t i = 0; i < play.jobs; ++i)
    fleet.begin(i * play.hosts / play.jobs, 1 + i * 7 % play.job_hosts, each, 1,
                1001 + static_cast<std::uint32_t>(i % play.users));
  const auto settled = [&] {
    return std::ranges::none_of(fleet.jobs(), [](const auto& one) { return one.second.state == SimJob::State::asked; });
  };
  if (!fleet.run_until(settled, kPatience)) return fail(Errc::timeout, "jobs do not begin: {}", made->log_tail());
  fmt::print(
      "{}\n",
      nlohmann::json{{"manager", made->endpoint()}, {"running", fleet.in_state(SimJob::State::held).size()}}.dump());
  std::fflush(stdout);
  while (!fleet.run_until(input_has_ended, Seconds(3600))) {
  }
  return {};
}

}  // namespace sumac::bench
