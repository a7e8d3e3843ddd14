// `sumac ps` and `sumac explain`: the jobs of this host, and who waits for whom in them. They read what the processes have left in
// their pages (src/recorder): no daemon, and no help of the processes, which may hang.
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <future>
#include <thread>

#include "base/clock.hpp"
#include "tools/commands.hpp"
#include "tools/look/judge.hpp"
#include "tools/look/others.hpp"

namespace sumac::tools {
namespace {

using look::Job;

/// A communicator that does not go on for so long is looked at as one that waits.
constexpr Millis kBetweenLooks{50};

/// A person asks again sooner than he waits longer.
constexpr Millis kExplainMax{800};

constexpr const char* kPsHelp =
    "usage: sumac ps\n"
    "\n"
    "Lists the running jobs with ranks on this host: their numbers, users, programs, ranks, ages, and what each does "
    "now.\n"
    "It needs no daemon. Everybody sees his own jobs, root those of all users.\n";

constexpr const char* kExplainHelp =
    "usage: sumac explain [JOB]\n"
    "\n"
    "Tells of a running job which collective waits for which rank, since when, and what each rank did last. It works "
    "while the\n"
    "job hangs. The ranks on this host need no daemon; of a job that uses a tree sharpd shows those on other hosts "
    "too, "
    "and for\n"
    "which host or node each node waits. The manager may be dead.\n"
    "\n"
    "  JOB    its number in `sumac ps`, or the first digits of it, or the pid of one of its ranks; none: the only job\n"
    "\n"
    "The clock is read for collectives that come at least a millisecond after the one before; in a tight loop now and "
    "then\n"
    "(\"at most\"). A rank that is \"running\" and in no collective computes, loops, or polls in another call of its "
    "MPI, as MPI_Recv.\n"
    "Exit status 0: printed. 1: there is no such job of yours here. 2: wrong usage.\n";

bool wants_help(const Arguments& words) { return words.size() == 1 && (words[0] == "--help" || words[0] == "-h"); }

look::Now now_here() {
  timespec real{};
  (void)::clock_gettime(CLOCK_REALTIME, &real);
  char host[65] = "";
  (void)::gethostname(host, sizeof host - 1);
  return {monotonic_now().time_since_epoch().count(), real.tv_sec * std::int64_t{1'000'000'000} + real.tv_nsec, host};
}

std::vector<Job> jobs_at_first(const recorder::Found& found) {
  std::vector<look::Rank> ranks;
  for (const auto& process : found.processes) ranks.push_back({process, {}});
  return look::jobs_of(std::move(ranks));
}

/// The second look: a job that goes on has begun further collectives.
std::vector<Job> jobs_after(recorder::Found found) {
  std::this_thread::sleep_for(found.processes.empty() ? Duration{} : Duration{kBetweenLooks});
  std::vector<look::Rank> ranks;
  for (auto& process : found.processes) {
    auto again = recorder::read_again(process);
    if (!again) continue;  // It has ended.
    auto before = look::begun_before(process.page, *again);
    process.page = *std::move(again);
    ranks.push_back({std::move(process), std::move(before)});
  }
  return look::jobs_of(std::move(ranks));
}

bool is_meant(const Job& job, const std::string& word) {
  if (std::to_string(job.id).starts_with(word)) return true;
  return std::any_of(job.ranks.begin(), job.ranks.end(),
                     [&](const look::Rank& rank) { return std::to_string(rank.process.pid) == word; });
}

}  // namespace

int ps_command(const Arguments& arguments) {
  if (wants_help(arguments)) {
    fmt::print("{}", kPsHelp);
    return 0;
  }
  if (!arguments.empty()) return complain(fmt::format("ps: no option {}: see `sumac ps --help`", arguments[0]), 2);
  const auto jobs = jobs_after(recorder::find_pages());
  if (jobs.empty())
    fmt::print("no running job{} on this host\n", ::geteuid() == 0 ? "" : " of yours");
  else
    fmt::print("{}", look::ps_text(jobs, now_here()));
  return 0;
}

int explain_command(const Arguments& arguments) {
  if (wants_help(arguments)) {
    fmt::print("{}", kExplainHelp);
    return 0;
  }
  if (arguments.size() > 1 || (!arguments.empty() && arguments[0].starts_with("-")))
    return complain(fmt::format("explain: one JOB, and no option {}: see `sumac explain --help`", arguments.back()), 2);
  const Time until = monotonic_now() + kExplainMax;
  const std::string word = arguments.empty() ? "" : arguments[0];
  const auto is_other = [&](const Job& job) { return !is_meant(job, word); };
  auto found = recorder::find_pages();
  auto meant = jobs_at_first(found);
  std::erase_if(meant, is_other);
  // Its ranks on this host may all be dead.
  if (std::uint64_t id = 0;
      meant.empty() && std::from_chars(word.data(), word.data() + word.size(), id).ec == std::errc{})
    meant.push_back({.id = id, .uid = ::geteuid()});
  if (meant.size() > 1) return complain(fmt::format("explain: {} jobs: name one of `sumac ps`", meant.size()), 2);
  Job job;
  bool is_known = false;
  if (!meant.empty()) {
    auto others = std::async(std::launch::async, look::ask_others, meant.front(), until);
    auto jobs = jobs_after(std::move(found));
    std::erase_if(jobs, is_other);
    job = jobs.empty() ? Job{.id = meant.front().id, .uid = meant.front().uid} : std::move(jobs.front());
    is_known = look::add_others(job, others.get(), now_here()) || !job.ranks.empty();
  }
  if (!is_known)
    return complain(
        fmt::format("explain: no job {} on this host that you may look into: `sumac ps` lists yours, and root sees all",
                    word.empty() ? "runs" : word));
  fmt::print("{}", look::explain_text(job, now_here()));
  return 0;
}

}  // namespace sumac::tools
