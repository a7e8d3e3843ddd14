// `sumac tune` measures which algorithm of src/shm serves which sizes on this machine, and writes the differences from
// the built-in choice to the tuning file that the component reads.
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdlib>

#include "machine/cpu_share.hpp"
#include "machine/discover.hpp"
#include "machine/fingerprint.hpp"
#include "shm/algorithms.hpp"
#include "team/tuning_file.hpp"
#include "tools/commands.hpp"
#include "tools/tune/measure.hpp"

namespace sumac::tools {
namespace {

constexpr char kHelp[] =
    "usage: sumac tune [--dry-run] [--file PATH] [--ranks N]\n"
    "\n"
    "Measures which algorithm serves which sizes inside this host (some minutes; leave the machine alone meanwhile), "
    "says what\n"
    "that changes against the built-in choice and how much it gains, and writes the selection file. Most people need "
    "no such\n"
    "file. It is used by every MPI program with Sumac's component on a machine of this kind, and by no other.\n"
    "  --dry-run    measure and say, write nothing\n"
    "  --ranks N    only teams of N ranks on this host\n"
    "  --file PATH  write there ($SUMAC_TUNING_FILE, or ~/.config/sumac/tuning.json); programs find it by "
    "SUMAC_TUNING_FILE\n";

std::atomic<bool> stop{false};
void stop_now(int) { stop.store(true); }

struct Settings {
  bool dry_run = false;
  int ranks = 0;  ///< 0: the teams that pay on this machine.
  std::string path;
};

std::string size_text(std::size_t bytes) {
  if (bytes >= (1u << 20) && bytes % (1u << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= (1u << 10) && bytes % (1u << 10) == 0) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

std::string team_text(const TunedTeam& team) {
  return fmt::format("{} ranks{}", team.ranks, team.crowded ? ", more than cores" : "");
}

class ProgressLine {
 public:
  ProgressLine(std::string what, bool is_tty) : what_(std::move(what)), is_tty_(is_tty) {
    if (!is_tty_) fmt::print("measuring {}\n", what_);
    std::fflush(stdout);
  }
  void operator()(double share) {
    if (!is_tty_) return;
    fmt::print("\rmeasuring {:<28} {:3.0f} %", what_, share * 100);
    std::fflush(stdout);
  }
  void end() const {
    if (is_tty_) fmt::print("\r{:<60}\r", "");
  }

 private:
  std::string what_;
  bool is_tty_;
};

/// Prints the results for one collective, and adds its choices for the file.
void report(const TunedTeam& team, coll::Kind kind, const Curves& curves, std::vector<team::TunedChoice>& choices,
            std::size_t& changes, std::size_t& cliffs) {
  const auto chosen = choose(curves, shm::Tuning::kRowsMax);
  const auto name = std::string(coll::to_string(kind));
  for (const auto& change : changes_of(curves, chosen)) {
    changes += 1;
    fmt::print("  {}, {}..{}: {} instead of {}, {:.2f} x faster\n", name, size_text(change.first_bytes),
               size_text(change.last_bytes), change.to, change.from, change.faster);
  }
  for (const auto& cliff : cliffs_of(curves, chosen)) {
    cliffs += 1;
    fmt::print("  {}: uneven: {} takes {:.2f} x the time of {}\n", name, size_text(cliff.larger), cliff.ratio,
               size_text(cliff.smaller));
  }
  for (const auto& step : steps_of(curves, chosen))
    choices.push_back({name, static_cast<std::uint32_t>(team.ranks), team.crowded, step.from_bytes, step.algorithm});
}

int tune(const Settings& settings) {
  const auto machine = machine::discover();
  if (!machine) return complain(fmt::format("tune: {}", machine.error().context));
  const auto share = machine::own_cpu_share();
  const double cpus = machine::together({&share, 1});
  auto teams = tuned_teams(static_cast<int>(cpus));
  if (settings.ranks > 0) teams = {{settings.ranks, settings.ranks > static_cast<int>(cpus)}};
  team::TuningFile file{machine::fingerprint(*machine), {}};
  fmt::print("{}; {:.3g} cores to be had\n", file.machine, cpus);
  double load = 0;
  if (getloadavg(&load, 1) == 1 && load > 0.5 * cpus)
    fmt::print("This machine is busy (load {:.1f}): what follows is noisy. Measure again when it is not.\n", load);
  std::size_t changes = 0, cliffs = 0;
  for (const auto& team : teams) {
    ProgressLine line(team_text(team), isatty(STDOUT_FILENO) == 1);
    const auto times = measure_team(team, cpus, line, stop);
    line.end();
    if (!times && times.error().code == Errc::interrupted)
      return complain("tune: interrupted, nothing was written", 130);
    if (!times) return complain(fmt::format("tune: {}: {}", team_text(team), times.error().context));
    if (times->round_trip_ns > 0)
      fmt::print("{} (cache line to and fro {:.0f} ns)\n", team_text(team), times->round_trip_ns);
    else
      fmt::print("{}\n", team_text(team));
    for (const auto& [kind, curves] : times->collectives) report(team, kind, curves, file.choices, changes, cliffs);
  }
  if (changes == 0) fmt::print("The built-in choice is as good as any here.\n");
  if (cliffs == 0) fmt::print("No jumps: time against size is even within 20 %.\n");
  if (settings.dry_run) return fmt::print("Nothing was written (--dry-run); it would go to {}\n", settings.path), 0;
  if (stop.load()) return complain("tune: interrupted, nothing was written", 130);
  if (const auto saved = team::save_tuning(settings.path, file); !saved)
    return complain(fmt::format("tune: {}", saved.error().context));
  fmt::print("{} choices written to {}\n", file.choices.size(), settings.path);
  return 0;
}

}  // namespace

int tune_command(const Arguments& arguments) {
  Settings settings;
  const char* set = std::getenv("SUMAC_TUNING_FILE");
  settings.path = team::tuning_path(set != nullptr ? set : "");
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--help" || arguments[i] == "-h") return fmt::print(kHelp), 0;
    if (arguments[i] == "--dry-run") {
      settings.dry_run = true;
    } else if (arguments[i] == "--file" && i + 1 < arguments.size()) {
      settings.path = arguments[++i];
    } else if (arguments[i] == "--ranks" && i + 1 < arguments.size()) {
      const std::string& text = arguments[++i];
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), settings.ranks);
      if (error != std::errc{} || end != text.data() + text.size() || settings.ranks < 2 ||
          settings.ranks > kTunedRanksMax)
        return complain(fmt::format("tune: --ranks {}: expected a number from 2 to {}", text, kTunedRanksMax), 2);
    } else {
      return complain(fmt::format("tune: unexpected argument '{}': see `sumac tune --help`", arguments[i]), 2);
    }
  }
  if (settings.path.empty() && !settings.dry_run)
    return complain("tune: no place for the file (no HOME, or SUMAC_TUNING_FILE is none): give --file PATH", 2);
  // The second Ctrl-C kills it at once; the ranks end with us in any case.
  struct sigaction action {};
  action.sa_handler = stop_now;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return tune(settings);
}

}  // namespace sumac::tools
