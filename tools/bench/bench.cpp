// `sumac bench` measures collectives in the words of OSU's and Intel's benchmarks: with Sumac, or with and without in
// turns. It finds the launcher, the program for its MPI and the hosts, and starts `sumac run` or a lab.
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "fabricfile/fabricfile.hpp"
#include "tools/bench/commands.hpp"
#include "tools/bench/request.hpp"
#include "tools/commands.hpp"
#include "tools/lab/lab.hpp"
#include "tools/lab/session.hpp"
#include "tools/run/children.hpp"
#include "tools/run/environment.hpp"
#include "tools/run/program.hpp"
#include "tools/run/signals.hpp"

namespace sumac::tools {
namespace {

using bench::Places, bench::Request, bench::Side;

constexpr const char* kUsage =
    "usage: sumac bench [OPTIONS] BENCHMARK [ITS OPTIONS]\n"
    "       sumac bench --compare [OPTIONS] BENCHMARK [ITS OPTIONS]\n"
    "       sumac bench --list\n\n"
    "Measures collectives of the MPI whose launcher is in the PATH (Open MPI or MPICH), through Sumac, with the "
    "names,\n"
    "options and tables of OSU's benchmarks and of Intel's, so that scripts for those read it. -c (OSU) and -check\n"
    "(Intel) check every result. osu_latency, osu_bw, osu_bibw and mpi_overhead measure the messages between two "
    "ranks,\n"
    "which the MPI alone carries. `sumac bench BENCHMARK -h` prints the benchmark's options.\n\n"
    "  sumac bench osu_allreduce -m 8:1M                   # this host, a rank for each core\n"
    "  sumac bench -n 4 osu_iallreduce -f -c               # nonblocking: overlap, every result checked\n"
    "  sumac bench IMB-MPI1 Allreduce Bcast -npmin 2       # Intel's tables, with 2 ranks, 4 and so on\n"
    "  sumac bench --hosts a:4,b:4 osu_barrier             # several hosts, with a tree\n"
    "  sumac bench --lab fabric.yaml osu_allreduce         # an emulated fabric on this machine (root)\n"
    "  sumac bench --compare -n 4 osu_allreduce -m 8:64K   # with Sumac and without, in turns\n\n"
    "Options, before or behind the benchmark's name:\n"
    "  -n N               ranks [one for each core; with hosts or a lab, one for each slot; 2 for messages]\n"
    "  --mpirun \"WORDS\"   launcher, and options for it [mpirun]\n"
    "  --hosts LIST, --hostfile FILE, --launcher, --nodes, --address, --transport, --tree, --local,\n"
    "  --allow-insecure, --keep-logs    as `sumac run` has them\n"
    "  --lab FABRIC.yaml  bring up this lab, measure on its hosts, take it down\n"
    "  --list             the benchmarks\n\n"
    "  --compare          pairs of runs, one with Sumac beside one without, which goes first alternates. Prints both\n"
    "                     medians for each size, the ratio MPI / Sumac (above 1: Sumac is faster) and its 95 %\n"
    "                     interval; of nonblocking collectives the communication alone is compared\n"
    "  --pairs N          pairs of runs, 2 to 10000; below 6 there is no interval [10]\n"
    "  --json FILE        every number of every run, as JSON\n"
    "  --plot NAME        write the plot as NAME.png and NAME.svg [the benchmark's name]; --no-plot: none\n"
    "It needs python3, and for the plot matplotlib (Debian: python3-matplotlib).\n\n"
    "Exit status: the benchmark's (1: a result was wrong, an output could not be written, or Sumac stood aside in a\n"
    "comparison). 2: wrong usage. 127: no launcher.\n";

int wrong(const std::string& why) { return complain("bench: " + why, 2); }

std::string folder() {
  return (std::filesystem::path(bin_directory()).parent_path() / "lib" / "sumac" / "bench").string();
}

/// The cores that this process may use.
unsigned cores() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 1;
}

/// Runs a program of ours with our streams; returns its exit status.
Result<int> run_child(const std::vector<std::string>& command) {
  const auto child = start_program(command, own_environment());
  if (!child) return tl::unexpected(child.error());
  int status = 0;
  while (::waitpid(*child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Whose launcher it is, and the program for its MPI.
struct Mpi {
  LauncherFamily family = LauncherFamily::unknown;
  std::string program;
};

Result<Mpi> find_mpi(const Request& request) {
  const auto open_mpi = folder() + "/sumac-bench";
  auto command = request.launcher;
  command.push_back(open_mpi);
  const auto looked = look_at(command, own_environment());
  if (!looked.launcher)
    return fail(Errc::invalid, "--mpirun {}: no MPI launcher: give mpirun, mpiexec or srun", request.launcher[0]);
  if (looked.launcher->path.empty())
    return fail(Errc::not_found,
                "{} is not in the PATH: install Open MPI (Debian: openmpi-bin) or MPICH (mpich), or name another: "
                "--mpirun",
                request.launcher[0]);
  Mpi mpi{.family = looked.launcher->family, .program = open_mpi};
  if (mpi.family == LauncherFamily::hydra) mpi.program += "-mpich";
  if (!std::filesystem::exists(mpi.program))
    return fail(Errc::not_found,
                "{} is missing: install the package with the benchmark for {} (sumac-openmpi, sumac-mpi)", mpi.program,
                request.launcher[0]);
  return mpi;
}

/// Lets the benchmark read its own words before anything is started, and gives a benchmark of two ranks its ranks. Returns
/// an exit status if that is all: help, or a mistake, which is reported.
std::optional<int> read_by_benchmark(Request& request, const std::string& program) {
  std::vector<std::string> command{program, "--parse", std::to_string(request.ranks)};
  command.insert(command.end(), request.benchmark.begin(), request.benchmark.end());
  const auto status = run_child(command);
  constexpr int kHelpPrinted = 3, kWantsTwoRanks = 4;
  if (!status) return complain("bench: " + status.error().context, 127);
  if (*status == 0) return std::nullopt;
  if (*status == kWantsTwoRanks) {
    request.ranks = 2;
    if (!request.compare) return std::nullopt;
    return wrong(
        fmt::format("{}: the MPI alone carries messages between two ranks: leave --compare out", request.benchmark[0]));
  }
  return *status == kHelpPrinted ? 0 : *status;
}

void default_ranks(Request& request, Places& places) {
  const bool one_host = request.lab.empty() && !request.hosts_named && std::getenv("SLURM_JOB_ID") == nullptr;
  if (!one_host) return;
  if (request.ranks == 0) request.ranks = std::max(2U, cores());
  places.crowded = request.ranks > cores();
  // fprintf, because fmt::print() throws where stderr is closed.
  if (places.crowded)
    std::fprintf(stderr, "sumac bench: %u ranks share %u cores: the times are those of a crowded host\n", request.ranks,
                 cores());
}

/// The benchmark may be named with a folder (./sub/osu_bcast), in which the plot has no business.
std::string plot_name(const Request& request) {
  if (request.no_plot) return "";
  return request.plot.empty() ? std::filesystem::path(request.benchmark[0]).filename().string() : request.plot;
}

std::vector<std::string> with_sumac_in_front(const Places& places, std::vector<std::string> words) {
  words.insert(words.begin(), places.sumac);
  return words;
}

/// The command that the comparing script gets: both sides, as JSON, and where the results go.
std::vector<std::string> compare_command(const Request& request, const Places& places, const Mpi& mpi) {
  const nlohmann::json sides = {
      {"sumac", with_sumac_in_front(places, command_of(request, places, mpi.family, Side::with, true))},
      {"mpi", with_sumac_in_front(places, command_of(request, places, mpi.family, Side::without, true))}};
  std::string words;
  for (const auto& word : request.benchmark) words += (words.empty() ? "" : " ") + word;
  std::vector<std::string> command{"python3", "-B", folder() + "/compare"};
  // A value behind `=` is never taken for an option.
  const auto add = [&](const char* option, const std::string& value) {
    command.push_back(fmt::format("--{}={}", option, value));
  };
  // A word that is no UTF-8 names no benchmark; it is refused by the program that would measure.
  add("sides", sides.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  add("pairs", std::to_string(request.pairs));
  add("benchmark", words);
  if (!request.json.empty()) add("json", request.json);
  if (const auto plot = plot_name(request); !plot.empty()) add("plot", plot);
  if (!request.plot.empty()) command.emplace_back("--plot-is-asked-for");
  if (!request.lab.empty())
    add("where", "lab " + std::filesystem::path(request.lab).stem().string());
  else if (request.hosts_named)
    add("where", "several hosts");
  return command;
}

/// Waits for a child, and passes signals on to it unless the terminal has sent them to the whole group.
Result<int> attend(const std::vector<std::string>& command, int signal_fd) {
  auto witness = GroupWitness::start();
  if (!witness) return tl::unexpected(witness.error());
  const auto child = start_program(command, own_environment());
  if (!child) return tl::unexpected(child.error());
  int asked = 0;  // The signal that asked for the end.
  for (;;) {
    int status = 0;
    if (::waitpid(*child, &status, WNOHANG) == *child) {
      if (asked != 0) return 128 + asked;
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    pollfd wait{signal_fd, POLLIN, 0};
    ::poll(&wait, 1, -1);
    signalfd_siginfo info{};
    while (::read(signal_fd, &info, sizeof info) == sizeof info) {
      const int number = static_cast<int>(info.ssi_signo);
      if (number == SIGCHLD) continue;
      asked = number;
      if (!witness->heard(number)) ::kill(*child, number);
    }
  }
}

Result<int> in_lab(const Request& request, Places places, const Mpi& mpi) {
  auto signals = make_signal_fd();
  if (!signals) return tl::unexpected(signals.error());
  auto interrupts = make_interrupt_fd();
  if (!interrupts) return tl::unexpected(interrupts.error());
  auto lab = LabSession::start(places.sumac, request.lab, interrupts->get());
  if (!lab) return tl::unexpected(lab.error());
  places.lab = lab->name();
  if (const char* level = std::getenv("HCOLL_ENABLE_SHARP"); level != nullptr) places.lab_level = level;
  return attend(request.compare
                    ? compare_command(request, places, mpi)
                    : with_sumac_in_front(places, command_of(request, places, mpi.family, Side::with, false)),
                signals->get());
}

int replaced_by(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  return complain(fmt::format("bench: {}: {}: --compare needs python3: install it", command[0], std::strerror(errno)),
                  127);
}

/// Open MPI reports too few slots on a page of its own. Options of the launcher may permit more ranks than slots.
Result<> fits_into_lab(const Request& request) {
  const bool may_share = request.launcher.size() > 1 || std::getenv("OMPI_MCA_rmaps_base_oversubscribe") != nullptr;
  const auto fabric = load_fabric(request.lab);
  if (!fabric) return tl::unexpected(fabric.error());
  unsigned slots = 0;
  for (const auto& host : fabric->hosts) slots += host.compute ? host.slots : 0;
  if (request.ranks <= slots || may_share) return {};
  return fail(Errc::invalid, "-n {}: the lab of {} has {} slots: give at most {}, or more `slots` to its hosts",
              request.ranks, request.lab, slots, slots);
}

int measure(Request request) {
  const auto mpi = find_mpi(request);
  if (!mpi) return complain("bench: " + mpi.error().context, mpi.error().code == Errc::not_found ? 127 : 2);
  if (!request.lab.empty() && mpi->family != LauncherFamily::open_mpi)
    return wrong("--lab starts its ranks by Open MPI's mpirun: put that first in the PATH");
  if (!request.lab.empty() && !std::filesystem::exists(request.lab))
    return wrong(fmt::format("--lab {}: there is no such file; see `sumac lab help`", request.lab));
  if (!request.lab.empty())
    if (const auto fits = fits_into_lab(request); !fits) return wrong(fits.error().context);
  if (!request.lab.empty()) request.lab = std::filesystem::absolute(request.lab).string();
  Places places{.sumac = bin_directory() + "/sumac", .program = mpi->program};
  if (const auto done = read_by_benchmark(request, mpi->program)) return *done;
  default_ranks(request, places);
  if (!request.lab.empty()) {
    const auto status = in_lab(request, places, *mpi);
    return status ? *status
                  : complain("bench: " + status.error().context, status.error().code == Errc::interrupted ? 130 : 1);
  }
  if (request.compare) return replaced_by(compare_command(request, places, *mpi));
  auto words = command_of(request, places, mpi->family, Side::with, false);
  return run_command({words.begin() + 1, words.end()});
}

/// Every program has the same list, and the MPI of one may be missing here.
int list() {
  for (const char* name : {"/sumac-bench", "/sumac-bench-mpich"}) {
    if (!std::filesystem::exists(folder() + name)) continue;
    if (const auto status = run_child({folder() + name, "--list"}); status && *status == 0) return 0;
  }
  return complain(
      fmt::format("bench: no benchmark program in {}: install the package sumac-openmpi or sumac-mpi", folder()), 127);
}

}  // namespace

int bench_command(const Arguments& arguments) {
  const auto request = bench::parse_request(arguments);
  if (!request) return wrong(request.error().context);
  if (request->help) return fmt::print("{}", kUsage), 0;
  if (request->list) return list();
  return measure(*request);
}

}  // namespace sumac::tools
