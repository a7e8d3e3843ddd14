// control-bench: the control plane under load and with deaths.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/control/cases.hpp"
#include "bench/control/others.hpp"
#include "bench/control/play.hpp"

int main(int argc, char** argv) {
  using namespace sumac::bench;
  CLI::App app{"Plays the nodes and sharpds of a cluster against a real sharp_am on loopback, and measures."};
  std::string am, before, out, golden;
  std::vector<std::string> only, also;
  bool quick = false;
  Scale scale;
  app.add_option("--am", am, "The sharp_am to start")->required();
  app.add_option("--before", before, "Another sharp_am: each case that times the manager runs with it too");
  app.add_option("--out", out, "Where the figures go, as JSON");
  app.add_option("--only", only, "Some of: begin, throughput, restart, release, comms, memory, page; and soak");
  app.add_option("--also", also, "Programs that print a case of their own as last line");
  app.add_option("--golden", golden, "The test of the log lines");
  app.add_option("--seed", scale.seed, "Of the kill points");
  app.add_option("--kills", scale.kills, "Restarts of the manager");
  std::uint32_t soak_seconds = 3600;
  app.add_option("--soak-seconds", soak_seconds, "How long the soak takes")->check(CLI::Range(1, 1'000'000));
  app.add_flag("--quick", quick, "A few trials of everything: does it hold together?");
  Play play;
  bool plays = false;
  app.add_flag("--play", plays, "Only play a cluster for a manager with a page, until standard input ends");
  app.add_option("--hosts", play.hosts, "Of --play");
  app.add_option("--leaves", play.leaves, "Of --play: leaf switches");
  app.add_option("--spines", play.spines, "Of --play: switches above them");
  app.add_option("--trees", play.trees, "Of --play");
  app.add_option("--jobs", play.jobs, "Of --play");
  app.add_option("--job-hosts", play.job_hosts, "Of --play: the most hosts of a job");
  app.add_option("--users", play.users, "Of --play: whose jobs they are, from uid 1001 on");
  app.add_option("--page-listen", play.page, "Of --play: where the page is");
  CLI11_PARSE(app, argc, argv);
  if (quick) {
    scale.hosts = 100;
    scale.hosts_many = 200;
    scale.begins = 5;
    scale.load = sumac::Millis(300);
    scale.kills = 5;
    scale.comms = 300;
    scale.growth = 16u << 20;  // So few jobs find the arenas cold, so only large leaks show.
    scale.releases = 10;
    scale.page_blocks = 1;
    scale.page_block = sumac::Millis(1500);
    soak_seconds = 2;
  }
  scale.soak = sumac::Seconds(soak_seconds);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);

  if (plays) {
    if (auto done = play_cluster(am, play); !done) {
      fmt::print(stderr, "control-bench: --play: {}\n", done.error().context);
      return 1;
    }
    return 0;
  }
  Report report, older;
  int code = 0;
  const auto run_with = [&](const std::string& manager, const char* name, auto function, Report& into) {
    if (auto done = function(manager, scale, into); !done) {
      fmt::print(stderr, "control-bench: {} with {}: {}\n", name, manager, done.error().context);
      code = 1;
    }
  };
  const auto run = [&](const char* name, auto function) {
    if (!only.empty() && std::ranges::find(only, name) == only.end()) return;
    run_with(am, name, function, report);
    if (!before.empty()) run_with(before, name, function, older);
  };
  run("begin", begin_latency);
  run("throughput", throughput);
  run("restart", restarts);
  run("release", releases);
  run("comms", communicators);
  run("memory", memory);
  run("page", page_clients);
  if (quick || std::ranges::find(only, "soak") != only.end()) run("soak", soak);
  report.compare(older);
  const auto other = [&](const std::string& program, auto function) {
    if (auto done = function(program, report); !done) {
      fmt::print(stderr, "control-bench: {}: {}\n", program, done.error().context);
      code = 1;
    }
  };
  for (const auto& program : also) other(program, run_case);
  if (!golden.empty()) other(golden, golden_lines);
  if (!out.empty())
    if (auto written = report.write(out); !written) {
      fmt::print(stderr, "control-bench: --out: {}\n", written.error().context);
      code = 1;
    }
  return code;
}
