// `sumac run PROGRAM ...` needs neither root nor a running daemon, on this machine or on the hosts that are named. An
// MPI program's collectives use shared memory, which needs no daemon; for the tree, and for clients of libsharp_coll, a
// manager, a node and a sharpd are started for this job alone.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/tell.hpp"
#include "launch/daemon.hpp"
#include "tools/commands.hpp"
#include "tools/local_daemons.hpp"
#include "tools/run/children.hpp"
#include "tools/run/choose.hpp"
#include "tools/run/environment.hpp"
#include "tools/run/program.hpp"
#include "tools/run/several.hpp"
#include "tools/run/signals.hpp"
#include "tools/run/task.hpp"

namespace sumac::tools {

namespace {

constexpr const char* kUsage =
    "usage: sumac run [--tree] [--keep-logs] [--transport tcp|ucx] [--hosts LIST | --hostfile FILE] PROGRAM "
    "[ARGUMENTS...]\n\n"
    "Runs PROGRAM with Sumac's MPI libraries and libsharp_coll.so in reach, without root. What an MPI launcher starts\n"
    "does its collectives through shared memory. With the tree, for a program that is linked with libsharp_coll.so, "
    "and\n"
    "for any other program, sharp_am, one sharp_an and sharpd are started for this job alone and taken down when it "
    "ends,\n"
    "also after Ctrl-C. The exit status is the program's.\n\n"
    "  sumac run mpirun -n 4 ./program                # shared memory\n"
    "  sumac run mpiexec.hydra -n 4 python3 sum.py    # any MPI, any language\n"
    "  sumac run --tree mpirun -n 4 ./program         # barrier and allreduce through the tree\n"
    "  SHARP_COLL_LOG_LEVEL=3 sumac run ./client      # what was asked for and what was granted\n\n"
    "MPI launchers are mpirun, mpiexec, mpiexec.hydra, orterun, prterun, oshrun, shmemrun and srun, also behind env,\n"
    "nice, nohup, numactl, setsid, stdbuf, taskset, time and timeout. The program among their words decides: its ELF\n"
    "needs, those of its libraries, a Python interpreter's mpi4py, the last command of a shell script. For Open MPI\n"
    "4.1 of the distribution the component of Open MPI is chosen, for Open MPI 5, MPICH's ABI (Intel MPI and MVAPICH\n"
    "have it) and MPI 5's own the interposed library, through LD_PRELOAD; where the program can't be read the "
    "launcher\n"
    "decides.\n"
    "SUMAC_EXPLAIN=1 prints the choice and its reason, SUMAC_ENABLE=0 loads nothing. Our variables among the words\n"
    "(-x NAME=VALUE, -genv NAME VALUE, -env NAME VALUE, --export=NAME=VALUE, env NAME=VALUE) count as set.\n\n"
    "  --tree        use the tree; so does HCOLL_ENABLE_SHARP from 1 to 4\n"
    "  --keep-logs   leave the daemons' logs and say where\n"
    "  --transport   how data travels to and from the node; else SUMAC_TRANSPORT says, else tcp\n\n"
    "On several hosts, where Sumac is installed at the same place, it starts manager here, a sharpd on each and a node "
    "on the "
    "first:\n\n"
    "  sumac run --hosts a:4,b:4 mpirun -n 8 ./program\n"
    "  salloc -N 4 sumac run --tree mpirun ./program      # the hosts of the Slurm allocation, by "
    "srun\n\n"
    "  --hosts LIST       a,b:SLOTS,n[01-16]          --hostfile FILE   a host a line, NAME [slots=N], as mpirun's\n"
    "  --launcher CMD     instead of `ssh -o BatchMode=yes`: CMD HOST WORDS... runs WORDS there; {host} in CMD is the "
    "name\n"
    "  --nodes N          aggregation nodes, on the first N hosts [1]\n"
    "  --address ADDR     where the hosts reach this machine, if it is not the way to the first of them\n"
    "  --allow-insecure   daemons talk in clear text between the hosts, not by mutual TLS with certificates of this "
    "run\n"
    "  --local            this machine only, also in a Slurm allocation\n\n"
    "Variables that it sets unless you did are printed first.\n";

std::string variable(const char* name) {
  const char* set = std::getenv(name);
  return set == nullptr ? "" : set;
}

constexpr int kGraceMs = 10'000;  ///< The time between a signal that is passed on and SIGKILL.

struct RunOptions {
  bool keep_logs = false;
  bool tree = false;
  std::string transport;
  bool local = false;
  bool task = false;  ///< A launcher started this process, once for each task: no daemons.
  std::optional<SeveralHosts> several;
};

/// Does the program's environment ask for the tree?
bool tree_by_environment() {
  const auto level = variable("HCOLL_ENABLE_SHARP");
  return !level.empty() && level != "0";
}

/// SUMAC_ENABLE=0 switches Sumac off for MPI programs; a client of libsharp_coll is not its concern.
bool is_off(const LookedAt& looked) {
  const bool mpi = is_mpi_command(looked) ||
                   std::ranges::any_of(looked.programs, [](const auto& each) { return each.mpi.has_value(); });
  return mpi && variable("SUMAC_ENABLE") == "0";
}

/// Our variables among the words of the command count as if they were set in our environment: they decide about the
/// tree, and the daemons see them too. Returns their names. The program's environment remains as it was, because a word
/// may be meant for a part of an MPMD command alone.
std::vector<std::string> take_settings(const LookedAt& looked) {
  std::vector<std::string> names;
  for (const auto& setting : looked.settings)
    if (setting.value && is_our_variable(setting.name)) {
      ::setenv(setting.name.c_str(), setting.value->c_str(), 1);
      names.push_back(setting.name);
    }
  return names;
}

/// The command that a person typed, the environment as it was then, and what was found out about them.
struct Asked {
  Arguments command;
  std::vector<std::string> environment;
  LookedAt looked;
  std::vector<std::string> settings;  ///< Names of our variables that words of the command set.
};

struct Daemons {
  // Ended in the reverse order, because sharpd releases the job while the manager still runs.
  std::vector<launch::Daemon> list;
  RunHosts hosts;
  ~Daemons() {
    hosts.end();
    while (!list.empty()) list.pop_back();
  }
};

Result<> start_daemons(Daemons& daemons, const std::string& directory, const std::string& transport, int interrupt_fd) {
  auto commands = local_daemon_commands({.fabric = directory + "/fabric.yaml",
                                         .manager_socket = directory + "/manager.sock",
                                         .sharpd_socket = directory + "/sharpd.sock",
                                         .transport = transport,
                                         .manager_options = manager_of_one_run()});
  if (!commands) return tl::unexpected(commands.error());
  if (auto written = write_local_fabric(directory + "/fabric.yaml", "run"); !written) return written;
  for (const auto& [name, command] : *commands) {
    auto daemon = launch::Daemon::start(
        {.name = name, .command = command, .log = directory + "/" + name + ".log", .interrupt_fd = interrupt_fd});
    if (!daemon) return tl::unexpected(daemon.error());
    daemons.list.push_back(*std::move(daemon));
  }
  return {};
}

/// Returns the program's exit status, or nothing yet. Prints daemons that ended before it; the program reports the
/// consequences itself.
std::optional<int> reap(pid_t program, Daemons& daemons) {
  for (auto& daemon : daemons.list)
    if (const auto words = daemon.obituary()) tell("sumac run: {}", *words);
  for (const auto& news : daemons.hosts.take_news()) tell("sumac run: {}", news);
  int status = 0;
  if (::waitpid(program, &status, WNOHANG) == program) return status;
  return std::nullopt;
}

/// Waits for the program; passes signals on to it, except those that it has received itself as a member of our process
/// group.
int attend(pid_t program, Daemons& daemons, GroupWitness& witness, int signal_fd) {
  int wait_ms = -1;
  for (;;) {
    if (const auto status = reap(program, daemons)) return *status;
    std::vector<pollfd> wait{{signal_fd, POLLIN, 0}};
    for (const int fd : daemons.hosts.descriptors()) wait.push_back({fd, POLLIN, 0});
    if (::poll(wait.data(), wait.size(), wait_ms) == 0) {
      tell("sumac run: the program did not end in {} s: killed", kGraceMs / 1000);
      ::kill(program, SIGKILL);
      wait_ms = -1;
    }
    signalfd_siginfo info{};
    while (::read(signal_fd, &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGCHLD) continue;
      const int number = static_cast<int>(info.ssi_signo);
      const bool to_all = witness.heard(number);
      if (!to_all || ::getpgid(program) != ::getpgrp()) ::kill(program, number);
      wait_ms = kGraceMs;
    }
  }
}

void print_choice(const Choice& choice) {
  for (const auto& warning : choice.warnings) tell("sumac run: {}", warning);
  const auto explain = variable("SUMAC_EXPLAIN");
  if (!choice.reason.empty() && !explain.empty() && explain != "0") tell("sumac run: {}", choice.reason);
}

/// Gives the launcher the words that its processes need, on this host and on others.
Arguments launcher_command(Arguments command, const LookedAt& looked, const Choice& choice, const RunOptions& options,
                           const RunEnvironment& environment) {
  const auto& launcher = *looked.launcher;
  // A value among the launcher's words replaces that of the environment, so what we add to it is added there too.
  const auto replace = [&](const Setting& setting, const std::string& value) {
    auto& word = command[setting.word];
    word.replace(word.size() - setting.value->size(), std::string::npos, value);
  };
  for (const auto& setting : looked.settings) {
    if (!setting.value || setting.word == kNoWord || choice.library.empty()) continue;
    if (setting.name == "LD_PRELOAD") replace(setting, preload_before(choice.library, *setting.value));
    if (setting.name == "ASAN_OPTIONS" && needs_address_sanitizer(looked))
      replace(setting, asan_options_with_ours(*setting.value));
  }
  const bool preload = !choice.library.empty();
  if (launcher.family == LauncherFamily::hydra)
    return options.several && !looked.hosts_named ? hydra_on(*options.several, std::move(command), launcher.word)
                                                  : command;
  if (launcher.family == LauncherFamily::slurm) return command;
  if (options.several)
    return mpirun_on(*options.several, std::move(command), launcher.word, environment.variables, preload);
  // Open MPI takes only its own variables to other hosts.
  if (preload && looked.hosts_named)
    return mpirun_with_preload(std::move(command), launcher.word, needs_address_sanitizer(looked));
  return command;
}

Result<int> run_program(const Asked& asked, const RunOptions& options) {
  const auto& [typed, inherited, looked, settings] = asked;
  // Checked before anything is started, so that this line is the only one to read.
  if (auto there = check_program(typed[0]); !there) return tl::unexpected(there.error());
  auto signals = make_signal_fd();
  if (!signals) return tl::unexpected(signals.error());
  auto interrupts = make_interrupt_fd();
  if (!interrupts) return tl::unexpected(interrupts.error());
  std::optional<RunDirectory> directory;  // For daemons alone: nobody else needs a socket or writes a log.
  if (options.several || (!options.task && (options.tree || needs_daemons(looked)))) {
    auto made = RunDirectory::make();
    if (!made) return tl::unexpected(made.error());
    directory.emplace(*std::move(made));
    if (options.keep_logs) directory->keep();
  }
  Daemons daemons;
  std::string socket;
  if (options.several) {
    if (auto started =
            start_several(*options.several, daemons.list, daemons.hosts, directory->path(), interrupts->get());
        !started)
      return tl::unexpected(started.error());
    socket = directory_on_hosts(directory->path()) + "/sharpd.sock";
  } else if (directory) {
    if (auto started = start_daemons(daemons, directory->path(), options.transport, interrupts->get()); !started)
      return tl::unexpected(started.error());
    socket = directory->path() + "/sharpd.sock";
  }
  const std::string libraries = std::filesystem::path(bin_directory()).parent_path().string() + "/lib";
  const auto installed = what_is_installed(libraries, inherited);
  const auto choice = choose(looked, installed, is_off(looked));
  print_choice(choice);
  const bool component = choice.way == Choice::Way::component;
  auto environment = make_run_environment({.socket = socket,
                                           .libraries = libraries,
                                           .component = component,
                                           .preload = choice.library,
                                           .address_sanitizer = needs_address_sanitizer(looked),
                                           .tree = options.tree,
                                           .one_host = !options.several || options.several->hosts.size() == 1},
                                          inherited, settings);
  if (options.transport == "ucx" && !options.several)
    environment.set_unless_there("SUMAC_NET_DEVICE", device_of_environment(), "UCX uses this network device alone");
  for (const auto& remark : environment.remarks) tell("sumac run: {}", remark);
  auto witness = GroupWitness::start();
  if (!witness) return tl::unexpected(witness.error());
  auto program =
      start_program(is_mpi_command(looked) ? launcher_command(typed, looked, choice, options, environment) : typed,
                    environment.variables);
  if (!program) return tl::unexpected(program.error());
  const int status = attend(*program, daemons, *witness, signals->get());
  if (options.keep_logs && directory) tell("sumac run: logs are in {}", directory->path());
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

namespace {

/// Combines the options about hosts with the batch system's list. `said` has the values of the options below.
Result<> choose_hosts(RunOptions& options, const std::map<std::string, std::string>& said, bool needs_daemons) {
  const auto get = [&](const char* name) { return said.contains(name) ? said.at(name) : std::string(); };
  if (said.contains("--hosts") && said.contains("--hostfile"))
    return fail(Errc::invalid, "--hosts and --hostfile: give one of them");
  if (options.local && (said.contains("--hosts") || said.contains("--hostfile")))
    return fail(Errc::invalid, "--local and a list of hosts contradict each other");
  if (said.contains("--hosts") || said.contains("--hostfile")) {
    auto hosts = said.contains("--hosts") ? parse_host_list(get("--hosts")) : read_hostfile(get("--hostfile"));
    if (!hosts) return tl::unexpected(hosts.error());
    options.several = SeveralHosts{.hosts = *std::move(hosts), .launcher = kSsh};
    options.tree = true;  // Only the tree needs daemons on them.
  } else if (!options.local && (needs_daemons || options.tree)) {
    auto slurm = slurm_allocation();
    if (!slurm) return tl::unexpected(slurm.error());
    if (*slurm && (*slurm)->hosts.size() > 1) options.several = *std::move(*slurm);
  }
  for (const char* name : {"--launcher", "--nodes", "--address"})
    if (said.contains(name) && !options.several)
      return fail(Errc::invalid, "{} is for several hosts: give --hosts or --hostfile too", name);
  if (!options.several) return {};
  auto& several = *options.several;
  if (said.contains("--launcher")) {
    several.launcher = get("--launcher");
    several.own_launcher = true;
    if (several.launcher.find_first_not_of(' ') == std::string::npos) return fail(Errc::invalid, "--launcher is empty");
  }
  if (said.contains("--nodes")) {
    const auto text = get("--nodes");
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), several.nodes);
    if (error != std::errc{} || end != text.data() + text.size() || several.nodes == 0 ||
        several.nodes > several.hosts.size())
      return fail(Errc::invalid, "--nodes {}: a number from 1 to {}, that of the hosts", text, several.hosts.size());
  }
  several.address = get("--address");
  several.allow_insecure = said.contains("--allow-insecure");
  several.transport = options.transport;
  several.keep_logs = options.keep_logs;
  return {};
}

}  // namespace

int run_command(const Arguments& arguments) {
  auto at = arguments.begin();
  RunOptions options;
  std::map<std::string, std::string> said;
  for (; at != arguments.end() && at->starts_with("-"); ++at) {
    if (*at == "--help" || *at == "-h") {
      fmt::print("{}", kUsage);
      return 0;
    }
    if (*at == "--") {
      ++at;
      break;
    }
    const auto& word = *at;
    if (word == "--keep-logs") {
      options.keep_logs = true;
    } else if (word == "--tree") {
      options.tree = true;
    } else if (word == "--local") {
      options.local = true;
    } else if (word == "--allow-insecure") {
      said[word] = "1";
    } else if (word == "--hosts" || word == "--hostfile" || word == "--launcher" || word == "--nodes" ||
               word == "--address") {
      if (at + 1 == arguments.end()) return complain(fmt::format("run: {} needs a value", word), 2);
      said[word] = *++at;
    } else if (word == "--transport") {
      if (++at == arguments.end() || (*at != "tcp" && *at != "ucx"))
        return complain("run: --transport is tcp or ucx", 2);
      options.transport = *at;
      options.tree = true;  // Only the tree has a transport.
    } else {
      return complain(fmt::format("run: no option {}: see `sumac run --help`", word), 2);
    }
  }
  if (at == arguments.end()) return complain("run: which program? `sumac run mpirun -n 4 ./program`", 2);
  Asked asked{.command = {at, arguments.end()}, .environment = own_environment()};
  asked.looked = look_at(asked.command, asked.environment);
  asked.settings = take_settings(asked.looked);
  if (options.transport.empty()) options.transport = transport_of_environment();
  options.tree = (options.tree || tree_by_environment()) && !is_off(asked.looked);
  if (const auto task = task_of(asked.environment); task && !is_mpi_command(asked.looked)) {
    options.task = true;
    const bool tree = std::exchange(options.tree, false) || !said.empty() ||
                      std::ranges::any_of(asked.looked.programs, &Program::is_sharp_client);
    if (tree && task->index == 0)
      tell(
          "sumac run: {} has started it as one of {} tasks, so it starts no daemons and there is no tree: write "
          "`sumac run` before the launcher",
          task->launcher, task->count);
  } else if (auto chosen = choose_hosts(options, said, needs_daemons(asked.looked)); !chosen) {
    return complain("run: " + chosen.error().context, 2);
  }
  auto status = run_program(asked, options);
  if (status) return *status;
  switch (status.error().code) {  // The numbers are those of a shell.
    case Errc::not_found: return complain("run: " + status.error().context, 127);
    case Errc::interrupted: return complain("run: " + status.error().context, 128 + SIGINT);
    default: return complain("run: " + status.error().context);
  }
}

}  // namespace sumac::tools
