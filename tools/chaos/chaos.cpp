// `sumac chaos`: runs jobs that check every result in a lab, disturbs the lab meanwhile, and counts how they end.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "lab/client.hpp"
#include "launch/log_file.hpp"
#include "tools/chaos/schedule.hpp"
#include "tools/commands.hpp"
#include "tools/lab/session.hpp"
#include "tools/run/signals.hpp"

extern char** environ;

namespace sumac::tools {

namespace {

using chaos::Kind, chaos::Step;

constexpr const char* kUsage =
    "usage: sumac chaos [--minutes M] [--seed S] FABRIC.yaml\n\n"
    "Brings up the lab of a fabric file and runs MPI jobs of many collectives on all of its hosts, one after another,\n"
    "each of which checks every result. Meanwhile nodes, sharpds and the manager are killed, stopped and started, "
    "links\n"
    "are cut and lose frames. Then it says how the jobs ended. It needs Open MPI, and root or user namespaces.\n\n"
    "  --minutes M   faults begin for so long [2]\n"
    "  --seed S      the same seed gives the same faults at the same times [drawn]\n\n"
    "HCOLL_ENABLE_SHARP may be set, as for any job; 1 is the default here: a job without a tree goes on without.\n"
    "Exit status: 0; 1 if a result was wrong, a job hung or the lab did not come up; 2 wrong usage.\n";

/// A job whose last fault was undone ends within this time, or it hangs.
constexpr Duration kJobPatience = Seconds{120};
/// One job's cells: small and medium sizes, none of which takes long. The number of ranks follows.
const std::vector<std::string> kBenchmark{"IMB-MPI1",  "Allreduce", "Bcast",  "Reduce",  "Barrier",
                                          "Allgather", "Alltoall",  "Gather", "Scatter", "-check",
                                          "-msglog",   "3:14",      "-time",  "0.2",     "-npmin"};

struct Request {
  double minutes = 2;
  std::uint64_t seed = 0;
  std::string fabric;
};

Result<Request> parse(const Arguments& arguments) {
  Request request;
  request.seed = static_cast<std::uint64_t>(monotonic_now().time_since_epoch().count()) % 1'000'000;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& word = arguments[i];
    if (word == "--minutes" || word == "--seed") {
      if (++i == arguments.size()) return fail(Errc::invalid, "{} needs a number: see `sumac chaos --help`", word);
      const auto& text = arguments[i];
      const auto* end = text.data() + text.size();
      if (word == "--seed") {
        const auto read = std::from_chars(text.data(), end, request.seed);
        if (read.ec != std::errc{} || read.ptr != end)
          return fail(Errc::invalid, "--seed {}: give a whole number", text);
        continue;
      }
      const auto read = std::from_chars(text.data(), end, request.minutes);
      if (read.ec != std::errc{} || read.ptr != end || !(request.minutes > 0 && request.minutes <= 24 * 60))
        return fail(Errc::invalid, "--minutes {}: give a number up to 1440", text);
    } else if (word.starts_with("-") || !request.fabric.empty()) {
      return fail(Errc::invalid, "'{}' is not understood: see `sumac chaos --help`", word);
    } else {
      request.fabric = word;
    }
  }
  if (request.fabric.empty()) return fail(Errc::invalid, "no fabric file is named: see `sumac chaos --help`");
  if (!std::filesystem::exists(request.fabric))
    return fail(Errc::invalid, "there is no file {}: name a fabric file", request.fabric);
  return request;
}

chaos::Targets targets_of(const nlohmann::json& status) {
  chaos::Targets targets;
  for (const auto& node : status["nodes"]) targets.nodes.push_back(node["name"]);
  for (const auto& host : status["hosts"])
    if (host["compute"].get<bool>()) targets.hosts.push_back(host["name"]);
  for (const auto& link : status["links"]) {
    std::string from = link["from"], to = link["to"];
    if (from < to) targets.links.emplace_back(std::move(from), std::move(to));
  }
  return targets;
}

Result<pid_t> spawn(const std::vector<std::string>& command, int out) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) ::posix_spawn_file_actions_adddup2(&actions, out, fd);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setpgroup(&attributes, 0);  // Ctrl-C is ours: we end them in order.
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> words;
  for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, words[0], &actions, &attributes, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return fail(Errc::io, "start {}: {}", command[0], std::strerror(error));
  return pid;
}

/// A program whose output is kept in memory.
struct Child {
  pid_t pid = -1;
  UniqueFd output;

  static Result<Child> start(const std::vector<std::string>& command) {
    Child child;
    child.output = UniqueFd{::memfd_create("output", MFD_CLOEXEC)};
    if (!child.output) return fail_errno("memfd_create");
    const auto pid = spawn(command, child.output.get());
    if (!pid) return tl::unexpected(pid.error());
    child.pid = *pid;
    return child;
  }
  /// Its exit status, once it has ended.
  std::optional<int> ended() const {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) != pid) return std::nullopt;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  /// It names the output while this process lives.
  std::string path() const { return fmt::format("/proc/self/fd/{}", output.get()); }
  std::string text() const { return launch::whole_log(path()); }
};

/// Returns what a rank says of why its job ended; it is empty if none said anything.
std::string reason_in(const std::string& text) {
  const auto at = text.find("SHArP error(");
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

struct Counts {
  std::map<Kind, unsigned> faults;
  unsigned right = 0, wrong = 0, hung = 0, ended = 0, unexplained = 0, not_done = 0;
};

class Run {
 public:
  Run(std::string lab, unsigned ranks, std::vector<Step> steps, int signals)
      : lab_(std::move(lab)), ranks_(ranks), steps_(std::move(steps)), signals_(signals) {}

  /// Returns false if it was interrupted. The first job is left alone: where that fails nothing can be tried.
  Result<bool> go(Duration length) {
    if (auto ok = start_job(); !ok) return tl::unexpected(ok.error());
    while (job_ && !interrupted_) {
      wait();
      reap();
    }
    if (!interrupted_ && counts_.right != 1)
      return fail(Errc::invalid, "a job that nothing disturbed failed: see above");
    began_ = monotonic_now();
    const auto end = began_ + length;
    while (!interrupted_) {
      const auto now = monotonic_now();
      if (!job_ && now >= end && next_ == steps_.size()) break;
      if (!job_)
        if (auto ok = start_job(); !ok) return tl::unexpected(ok.error());
      while (next_ < steps_.size() && began_ + steps_[next_].at <= now)
        if (auto ok = take(steps_[next_++]); !ok) return tl::unexpected(ok.error());
      wait();
      reap();
    }
    stop_children();
    return !interrupted_;
  }

  const Counts& counts() const { return counts_; }

 private:
  Result<> start_job() {
    const char* level = std::getenv("HCOLL_ENABLE_SHARP");
    std::vector<std::string> command{
        sumac_,
        "lab",
        "mpirun",
        "--name",
        lab_,
        "--mca",
        "pml",
        "ob1",
        "--mca",
        "btl",
        "tcp,self",
        "-x",
        fmt::format("HCOLL_ENABLE_SHARP={}", level != nullptr ? level : "1"),
        std::filesystem::path(bin_directory()).parent_path().string() + "/lib/sumac/bench/sumac-bench"};
    command.insert(command.end(), kBenchmark.begin(), kBenchmark.end());
    command.push_back(std::to_string(ranks_));
    auto child = Child::start(command);
    if (!child) return tl::unexpected(child.error());
    job_ = std::move(*child);
    job_began_ = monotonic_now();
    is_told_to_end_ = false;
    return {};
  }

  Result<> take(const Step& step) {
    std::vector<std::string> command{sumac_, "lab", step.words[0], "--name", lab_};
    command.insert(command.end(), step.words.begin() + 1, step.words.end());
    auto child = Child::start(command);
    if (!child) return tl::unexpected(child.error());
    doing_.push_back(std::move(*child));
    if (step.is_fault) ++counts_.faults[step.kind];
    last_step_ = monotonic_now();
    return {};
  }

  void wait() {
    auto until = std::max(job_began_, last_step_) + kJobPatience;
    if (next_ < steps_.size()) until = std::min(until, deadline_after(began_, steps_[next_].at));
    const auto left = std::chrono::ceil<Millis>(until - monotonic_now()).count();
    pollfd fd{signals_, POLLIN, 0};
    ::poll(&fd, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
    signalfd_siginfo info{};
    while (::read(signals_, &info, sizeof info) == sizeof info) interrupted_ |= info.ssi_signo != SIGCHLD;
  }

  void reap() {
    std::erase_if(doing_, [&](const Child& each) {
      const auto status = each.ended();
      if (status && *status != 0) {
        ++counts_.not_done;
        std::fputs(each.text().c_str(), stderr);
      }
      return status.has_value();
    });
    if (!job_) return;
    const auto status = job_->ended();
    if (status) {
      judge(*status);
      job_.reset();
    } else if (!is_told_to_end_ && monotonic_now() >= std::max(job_began_, last_step_) + kJobPatience) {
      is_told_to_end_ = true;
      ++counts_.hung;
      report("hung");
      explain();
      ::kill(job_->pid, SIGTERM);
    }
  }

  void judge(int status) {
    const auto text = job_->text();
    if (is_told_to_end_) return;
    if (text.find(": WRONG at rank ") != std::string::npos) {
      ++counts_.wrong;
      return report("wrong");
    }
    if (status == 0) {
      ++counts_.right;
      return;
    }
    ++counts_.ended;
    if (const auto reason = reason_in(text); !reason.empty()) {
      fmt::print("  a job ended: {}\n", reason);
    } else {
      ++counts_.unexplained;
      report("ended, and no line of ours says why");
    }
    std::fflush(stdout);
  }

  void report(const char* what) const {
    constexpr std::size_t kLines = 12;
    fmt::print("  a job {}; its last lines:\n    {}\n", what,
               fmt::join(launch::last_lines(job_->path(), kLines), "\n    "));
    std::fflush(stdout);
  }

  /// The ranks of a lab are seen from here too.
  void explain() const {
    if (const auto pid = spawn({sumac_, "explain"}, STDOUT_FILENO); pid) ::waitpid(*pid, nullptr, 0);
  }

  void stop_children() {
    if (job_) ::kill(job_->pid, SIGTERM);
    for (const auto& each : doing_) ::kill(each.pid, SIGTERM);
    if (job_) ::waitpid(job_->pid, nullptr, 0);
    for (const auto& each : doing_) ::waitpid(each.pid, nullptr, 0);
  }

  std::string sumac_ = bin_directory() + "/sumac", lab_;
  unsigned ranks_;
  std::vector<Step> steps_;
  int signals_;
  Time began_ = kNever, job_began_{}, last_step_{};
  std::size_t next_ = 0;
  std::optional<Child> job_;
  std::vector<Child> doing_;  ///< Steps under way.
  bool is_told_to_end_ = false, interrupted_ = false;
  Counts counts_;
};

int print_report(const Counts& counts, bool whole) {
  fmt::print("\nfaults:");
  for (const auto kind : chaos::kKinds) {
    const auto found = counts.faults.find(kind);
    fmt::print(" {} {}{}", chaos::to_text(kind), found == counts.faults.end() ? 0 : found->second,
               kind == chaos::kKinds.back() ? "\n" : ",");
  }
  fmt::print("jobs: {} right, {} ended by a fault ({} without a line of ours), {} wrong, {} hung\n", counts.right,
             counts.ended, counts.unexplained, counts.wrong, counts.hung);
  if (counts.not_done > 0) fmt::print("{} changes of the lab could not be made: see above\n", counts.not_done);
  if (!whole) return complain("chaos: interrupted", 130);
  return counts.wrong + counts.hung + counts.not_done == 0 ? 0 : 1;
}

}  // namespace

int chaos_command(const Arguments& arguments) {
  if (arguments.size() == 1 && (arguments[0] == "--help" || arguments[0] == "-h")) return fmt::print("{}", kUsage), 0;
  const auto request = parse(arguments);
  if (!request) return complain("chaos: " + request.error().context, 2);
  auto signals = make_signal_fd();
  if (!signals) return complain(signals.error().context);
  auto interrupts = make_interrupt_fd();
  if (!interrupts) return complain(interrupts.error().context);
  auto lab = LabSession::start(bin_directory() + "/sumac", std::filesystem::absolute(request->fabric).string(),
                               interrupts->get());
  if (!lab) return complain("chaos: " + lab.error().context, lab.error().code == Errc::interrupted ? 130 : 1);
  const auto status = lab::ask_status(lab->name());
  if (!status) return complain("chaos: " + status.error().context);
  const auto length =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::ratio<60>>(request->minutes));
  const auto facts = nlohmann::json::parse(*status);
  unsigned ranks = 0;
  for (const auto& host : facts["hosts"])
    if (host["compute"].get<bool>()) ranks += host["slots"].get<unsigned>();
  fmt::print("chaos: seed {}, {} minutes, {}\n", request->seed, request->minutes, request->fabric);
  std::fflush(stdout);
  Run run(lab->name(), ranks, chaos::schedule(request->seed, targets_of(facts), length), signals->get());
  const auto whole = run.go(length);
  if (!whole) return complain("chaos: " + whole.error().context);
  return print_report(run.counts(), *whole);
}

}  // namespace sumac::tools
