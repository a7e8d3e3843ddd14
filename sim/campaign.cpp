#include "sim/campaign.hpp"

#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

#include "proto/guard.hpp"
#include "proto/recovery_rule.hpp"
#include "sim/coverage.hpp"
#include "sim/hop_seed.hpp"
#include "sim/job_plan.hpp"
#include "sim/recovery_seed.hpp"

namespace sumac::sim {
namespace {

constexpr std::size_t kTextMax = 6000;
constexpr std::size_t kFailuresShown = 5;

/// A child process reports to its parent in shared memory, which stays if the child crashes.
struct Shared {
  std::uint64_t seeds = 0, failures = 0, operations = 0, messages = 0, groups = 0, refused = 0, verdicts = 0,
                returns = 0, datagrams = 0, running = 0, full = 0;
  double virtual_seconds = 0;
  char text[kTextMax] = {};
  Coverage coverage{};
};

template <class T>
T* share(std::size_t count) {
  void* memory = ::mmap(nullptr, sizeof(T) * count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("sumac-seeds: mmap");
    ::_exit(2);
  }
  T* first = static_cast<T*>(memory);
  for (std::size_t i = 0; i < count; ++i) new (first + i) T();
  return first;
}

pid_t fork_or_die() {
  std::fflush(stdout);
  const pid_t pid = ::fork();
  if (pid < 0) {
    std::perror("sumac-seeds: fork");
    ::_exit(2);
  }
  return pid;
}

void add_text(Shared& mine, const std::string& text) {
  const std::size_t have = std::strlen(mine.text);
  std::snprintf(mine.text + have, kTextMax - have, "%s", text.c_str());
}

void run_share(Shared& mine, const CampaignOptions& options, std::uint32_t job) {
  for (std::uint64_t i = job; i < options.count; i += options.jobs) {
    mine.running = options.first + i;
    const Report report = options.suite->run(mine.running, 0);
    ++mine.seeds;
    mine.operations += report.operations;
    mine.full += report.operations >= kOperationsMin;
    mine.messages += report.messages;
    mine.groups += report.groups;
    mine.refused += report.refused;
    mine.verdicts += report.verdicts;
    mine.returns += report.returns;
    mine.datagrams += report.datagrams;
    mine.virtual_seconds += report.virtual_seconds;
    if (report.failure.empty()) continue;
    if (++mine.failures <= kFailuresShown)
      add_text(mine, fmt::format("seed {} FAILED: {}\n  repeat with: sumac-seeds {}--seed {} -v\n", report.seed,
                                 report.failure.substr(0, 600), options.suite->option, report.seed));
  }
  mine.running = 0;
  mine.coverage = coverage_of_this_process();
}

}  // namespace

const Suite& tree_suite() {
  using namespace proto;
  static constexpr Suite kSuite{"",
                                run_seed,
                                [](std::uint64_t seed) { return make_plan(seed).describe(); },
                                "guards",
                                kGuardCount,
                                disable_guard,
                                [](std::size_t guard) { return to_string(static_cast<Guard>(guard)); },
                                [](std::size_t guard) { return describe(static_cast<Guard>(guard)); }};
  return kSuite;
}

const Suite& recovery_suite() {
  using namespace proto::recovery;
  constexpr auto kName = [](std::size_t rule) { return to_string(static_cast<Rule>(rule)); };
  static constexpr Suite kSuite{"--recovery ",
                                run_recovery_seed,
                                [](std::uint64_t seed) { return make_recovery_plan(seed).describe(); },
                                "rules of recovery",
                                kRuleCount,
                                break_rule,
                                kName,
                                kName};
  return kSuite;
}

const Suite& hop_suite() {
  static constexpr Suite kSuite{"--hop ",       run_hop_seed,   describe_hop_seed, "rules of the datagram way",
                                kHopConditions, break_hop_rule, name_of_hop_rule,  name_of_hop_rule};
  return kSuite;
}

const Suite& job_suite() {
  static const Suite kSuite = [] {
    Suite made = recovery_suite();
    made.option = "--job ";
    made.run = run_job_seed;
    made.describe = [](std::uint64_t seed) { return make_job_plan(seed).describe(); };
    return made;
  }();
  return kSuite;
}

std::uint64_t run_campaign(const CampaignOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  const std::uint32_t jobs = std::max(1u, options.jobs);
  CampaignOptions shared_options = options;
  shared_options.jobs = jobs;
  Shared* all = share<Shared>(jobs);
  std::vector<pid_t> children;
  for (std::uint32_t job = 0; job < jobs; ++job) {
    const pid_t pid = fork_or_die();
    if (pid == 0) {
      run_share(all[job], shared_options, job);
      ::_exit(0);
    }
    children.push_back(pid);
  }
  Shared total;
  for (std::uint32_t job = 0; job < jobs; ++job) {
    int status = 0;
    ::waitpid(children[job], &status, 0);
    Shared& part = all[job];
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      ++part.failures;
      add_text(part, fmt::format("seed {} CRASHED (signal {})\n  repeat with: sumac-seeds {}--seed {} -v\n",
                                 part.running, WTERMSIG(status), options.suite->option, part.running));
    }
    std::fputs(part.text, stdout);
    total.seeds += part.seeds;
    total.failures += part.failures;
    total.operations += part.operations;
    total.full += part.full;
    total.messages += part.messages;
    total.groups += part.groups;
    total.refused += part.refused;
    total.verdicts += part.verdicts;
    total.returns += part.returns;
    total.datagrams += part.datagrams;
    total.virtual_seconds += part.virtual_seconds;
    total.coverage.add(part.coverage);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  fmt::print("seeds {} to {}: {} run, {} failed, in {:.1f} s with {} process{}\n", options.first,
             options.first + options.count - 1, total.seeds, total.failures, seconds, jobs, jobs == 1 ? "" : "es");
  fmt::print(
      "  {} operations ({} seeds with {} or more), {} messages, {} groups ({} refused, {} with a verdict), {:.0f} s of "
      "virtual time\n",
      total.operations, total.full, kOperationsMin, total.messages, total.groups, total.refused, total.verdicts,
      total.virtual_seconds);
  if (total.returns != 0) fmt::print("  members went to another tree {} times\n", total.returns);
  if (total.datagrams != 0) fmt::print("  members sent {} numbers as datagrams\n", total.datagrams);
  if (options.suite == &tree_suite()) total.coverage.print();
  return total.failures;
}

namespace {

struct Mutant {
  std::uint64_t seed = 0, running = 0;
  bool failed = false;
  char why[200] = {};
};

void run_mutant(Mutant& mutant, std::size_t condition, const CampaignOptions& options, std::uint64_t count_max) {
  options.suite->switch_off(static_cast<int>(condition));
  const auto fails = [&](std::uint64_t seed) {
    mutant.running = seed;
    const Report report = options.suite->run(seed, 0);
    if (report.failure.empty()) return false;
    mutant.seed = seed;
    mutant.failed = true;
    std::snprintf(mutant.why, sizeof mutant.why, "%s", report.failure.c_str());
    return true;
  };
  if (const std::uint64_t known = noticed_at(options.suite->name(condition)); known != 0 && fails(known)) return;
  for (std::uint64_t seed = options.first; seed < options.first + count_max && !fails(seed); ++seed) {
  }
}

}  // namespace

std::uint32_t check_mutations(const CampaignOptions& options, std::uint64_t count_max) {
  const Suite& suite = *options.suite;
  const std::size_t count = suite.condition_count;
  Mutant* mutants = share<Mutant>(count);
  std::vector<pid_t> pids(count, 0);
  std::size_t next = 0, running = 0;
  const auto start_next = [&] {
    const pid_t pid = fork_or_die();
    if (pid == 0) {
      // A broken machine may fail an assertion with much output; the table reports it in one line.
      if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(2);
      run_mutant(mutants[next], next, options, count_max);
      ::_exit(0);
    }
    pids[next++] = pid;
    ++running;
  };
  while (running < std::max(1u, options.jobs) && next < count) start_next();
  while (running > 0) {
    int status = 0;
    const pid_t pid = ::wait(&status);
    if (pid < 0) break;
    const auto which = static_cast<std::size_t>(std::find(pids.begin(), pids.end(), pid) - pids.begin());
    if (which < count && WIFSIGNALED(status)) {
      Mutant& mutant = mutants[which];
      mutant.seed = mutant.running;
      mutant.failed = true;
      std::snprintf(mutant.why, sizeof mutant.why, "crashed (signal %d)", WTERMSIG(status));
    }
    --running;
    if (next < count) start_next();
  }
  std::uint32_t survivors = 0;
  fmt::print("mutation check: {} {}, each removed alone; a seed that fails without it\n", count, suite.conditions);
  for (std::size_t i = 0; i < count; ++i) {
    const Mutant& mutant = mutants[i];
    if (!mutant.failed) ++survivors;
    const std::string outcome = mutant.failed ? fmt::format("seed {:<4} {:.90}", mutant.seed, mutant.why)
                                              : fmt::format("NOT MISSED in {} seeds: {}", count_max, suite.sentence(i));
    fmt::print("  {:<22} {}\n", suite.name(i), outcome);
  }
  return survivors;
}

}  // namespace sumac::sim
