// sumac-seeds runs the protocol's machines in a world of seeded faults.
#include <fmt/core.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <thread>

#include "sim/campaign.hpp"
#include "sim/coverage.hpp"

namespace {

constexpr const char* kHelp =
    "usage: sumac-seeds [--recovery|--job|--hop] [--count N] [--first S] [--jobs J] [--mutants N] [--seed S [-v]] "
    "[--without "
    "G]\n"
    "  no option      1250 seeds, then the mutation check; SUMAC_SEED=S runs that seed alone\n"
    "  --recovery     groups that lose their tree; it must come first\n"
    "  --job          the same under a manager and sharpds that are killed as well; it must come first\n"
    "  --hop          groups whose small operations go as datagrams; it must come first\n"
    "  --count N      seeds to run (default 1250)\n"
    "  --first S      the first of them (default 1)\n"
    "  --jobs J       processes (default: one per core)\n"
    "  --mutants N    only the mutation check, with at most N seeds for each guard\n"
    "  --no-mutants   only the seeds\n"
    "  --seed S       one seed; -v prints its plan and, if it fails, the last 400 events; -vv all of them\n"
    "  --without G    with one guard switched off, by name\n";

std::optional<std::uint64_t> number(const char* text) {
  std::uint64_t value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  return error == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

int run_one(const sumac::sim::Suite& suite, std::uint64_t seed, int verbose) {
  using namespace sumac::sim;
  if (verbose != 0) fmt::print("{}", suite.describe(seed));
  const auto report = suite.run(seed, verbose);
  fmt::print("seed {}: {} operations, {} messages, {} groups, {:.1f} s of virtual time\n", seed, report.operations,
             report.messages, report.groups, report.virtual_seconds);
  if (report.failure.empty()) return 0;
  fmt::print("FAILED: {}\nlast events:\n{}repeat with: sumac-seeds {}--seed {} -v\n", report.failure,
             report.last_events, suite.option, seed);
  return 1;
}

int usage(const char* what, const char* value) {
  fmt::print(stderr, "sumac-seeds: {} {}: see --help\n", what, value);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  sumac::sim::CampaignOptions options;
  options.jobs = std::max(1u, std::thread::hardware_concurrency());
  std::optional<std::uint64_t> seed, mutants;
  int verbose = 0;
  bool campaign = true, check = sumac::sim::mutable_build();
  if (const char* from_environment = std::getenv("SUMAC_SEED")) {
    seed = number(from_environment);
    if (!seed) return usage("SUMAC_SEED is no number:", from_environment);
  }
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "-h" || arg == "--help") return std::fputs(kHelp, stdout), 0;
    if (arg == "-v" || arg == "-vv") {
      verbose = arg == "-v" ? 1 : 2;
      continue;
    }
    if (arg == "--recovery" || arg == "--job" || arg == "--hop") {
      options.suite = arg == "--job"   ? &sumac::sim::job_suite()
                      : arg == "--hop" ? &sumac::sim::hop_suite()
                                       : &sumac::sim::recovery_suite();
      continue;
    }
    if (arg == "--no-mutants") {
      check = false;
      continue;
    }
    if (i + 1 == argc) return usage("unknown or without a value:", argv[i]);
    const char* value = argv[++i];
    if (arg == "--without") {
      std::size_t condition = 0;
      while (condition < options.suite->condition_count && std::string_view(options.suite->name(condition)) != value)
        ++condition;
      if (condition == options.suite->condition_count || !sumac::sim::mutable_build())
        return usage("no such guard:", value);
      options.suite->switch_off(static_cast<int>(condition));
      continue;
    }
    const auto n = number(value);
    if (!n) return usage("not a number:", value);
    if (arg == "--count")
      options.count = *n;
    else if (arg == "--first")
      options.first = *n;
    else if (arg == "--jobs")
      options.jobs = static_cast<std::uint32_t>(*n);
    else if (arg == "--seed")
      seed = *n;
    else if (arg == "--mutants")
      mutants = *n, campaign = false;
    else
      return usage("unknown option", argv[i - 1]);
  }
  if (seed) return run_one(*options.suite, *seed, verbose);
  bool good = true;
  if (campaign) good = sumac::sim::run_campaign(options) == 0;
  if (check) good = sumac::sim::check_mutations(options, mutants.value_or(options.count)) == 0 && good;
  return good ? 0 : 1;
}
