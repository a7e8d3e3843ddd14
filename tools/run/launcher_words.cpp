#include "tools/run/launcher_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace sumac::tools {
namespace {

using namespace std::string_view_literals;

/// Options that take one value, without their dashes. Open MPI 4.1 and 5 (`mpirun --help full`, `prterun --help`).
constexpr std::string_view kOpenMpi[] = {"n",
                                         "np",
                                         "c",
                                         "N",
                                         "H",
                                         "host",
                                         "hostfile",
                                         "machinefile",
                                         "default-hostfile",
                                         "add-host",
                                         "add-hostfile",
                                         "am",
                                         "tune",
                                         "app",
                                         "bind-to",
                                         "map-by",
                                         "rank-by",
                                         "cf",
                                         "cartofile",
                                         "cpu-list",
                                         "cpu-set",
                                         "cpus-per-proc",
                                         "cpus-per-rank",
                                         "debugger",
                                         "display",
                                         "dvm",
                                         "dvm-uri",
                                         "hnp",
                                         "keepalive",
                                         "launch-agent",
                                         "max-restarts",
                                         "max-vm-size",
                                         "namespace",
                                         "npernode",
                                         "npersocket",
                                         "ompi-server",
                                         "output",
                                         "output-filename",
                                         "path",
                                         "personality",
                                         "pid",
                                         "ppr",
                                         "prefix",
                                         "preload-files",
                                         "pset",
                                         "rankfile",
                                         "report-events",
                                         "report-pid",
                                         "report-uri",
                                         "rf",
                                         "rtos",
                                         "runtime-options",
                                         "spawn-timeout",
                                         "stdin",
                                         "stream-buffering",
                                         "timeout",
                                         "tmpdir",
                                         "uri",
                                         "wd",
                                         "wdir",
                                         "with-ft",
                                         "x",
                                         "xml-file",
                                         "xterm"};
constexpr std::string_view kOpenMpiTwo[] = {"mca",     "gmca",     "omca",    "gomca",
                                            "prtemca", "gprtemca", "pmixmca", "gpmixmca"};

/// hydra of MPICH 4 and 5, and of Intel MPI 2021 (`mpiexec.hydra --help`).
constexpr std::string_view kHydra[] = {"n",
                                       "np",
                                       "f",
                                       "hosts",
                                       "host",
                                       "hosts-group",
                                       "hostfile",
                                       "machine",
                                       "machinefile",
                                       "ppn",
                                       "perhost",
                                       "genvlist",
                                       "envlist",
                                       "wdir",
                                       "wd",
                                       "dir",
                                       "path",
                                       "arch",
                                       "soft",
                                       "configfile",
                                       "launcher",
                                       "launcher-exec",
                                       "bootstrap",
                                       "bootstrap-exec",
                                       "rmk",
                                       "topolib",
                                       "bind-to",
                                       "binding",
                                       "map-by",
                                       "membind",
                                       "cpu-bind",
                                       "demux",
                                       "iface",
                                       "prepend-pattern",
                                       "outfile-pattern",
                                       "errfile-pattern",
                                       "nameserver",
                                       "localhost",
                                       "usize",
                                       "order-nodes",
                                       "gpus-per-proc",
                                       "gtool",
                                       "gtoolfile",
                                       "tune",
                                       "s",
                                       "tmpdir",
                                       "branch-count",
                                       "ckpoint-interval",
                                       "ckpoint-prefix",
                                       "ckpoint-num",
                                       "ckpointlib"};
constexpr std::string_view kHydraTwo[] = {"genv", "env"};

/// srun's long options take a value, but for these.
constexpr std::string_view kSlurmFlags[] = {"contiguous",
                                            "disable-status",
                                            "exact",
                                            "exclusive",
                                            "help",
                                            "hold",
                                            "ignore-pbs",
                                            "immediate",
                                            "interactive",
                                            "kill-on-bad-exit",
                                            "label",
                                            "multi-prog",
                                            "nice",
                                            "no-allocate",
                                            "no-kill",
                                            "no-requeue",
                                            "overcommit",
                                            "overlap",
                                            "oversubscribe",
                                            "preserve-env",
                                            "propagate",
                                            "pty",
                                            "quiet",
                                            "quit-on-interrupt",
                                            "reboot",
                                            "requeue",
                                            "resv-ports",
                                            "send-libs",
                                            "spread-job",
                                            "test-only",
                                            "unbuffered",
                                            "usage",
                                            "use-min-nodes",
                                            "verbose",
                                            "version",
                                            "whole",
                                            "x11"};
/// srun's short options that take a value, attached or as the next word.
constexpr std::string_view kSlurmShort = "ABCDFGJLMNPRSTUWabcdegijmnopqrtwx";

bool one_of(std::span<const std::string_view> list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

struct Option {
  std::string_view name;                ///< Without dashes, without a value.
  std::optional<std::string> attached;  ///< The value in the same word.
  std::size_t values = 0;               ///< The number of next words that are its values.
  bool known = true;
};

/// Splits `--name=value`.
Option option_of(std::string_view word) {
  auto name = word.substr(word.starts_with("--") ? 2 : 1);
  const auto equals = name.find('=');
  if (equals == std::string_view::npos) return {name, std::nullopt};
  return {name.substr(0, equals), std::string(name.substr(equals + 1))};
}

Option slurm_option(std::string_view word) {
  if (word.starts_with("--")) {
    auto option = option_of(word);
    option.values = option.attached || one_of(kSlurmFlags, option.name) ? 0 : 1;
    return option;
  }
  Option option{word.substr(1, 1), std::nullopt};
  if (kSlurmShort.find(word[1]) == std::string_view::npos) return option;
  if (word.size() > 2)
    option.attached = std::string(word.substr(2));
  else
    option.values = 1;
  return option;
}

Option option_of(LauncherFamily family, std::string_view word) {
  if (family == LauncherFamily::slurm) return slurm_option(word);
  auto option = option_of(word);
  const bool hydra = family == LauncherFamily::hydra;
  const bool one = hydra ? one_of(kHydra, option.name) : one_of(kOpenMpi, option.name);
  const bool two = hydra ? one_of(kHydraTwo, option.name) : one_of(kOpenMpiTwo, option.name);
  if (one) option.values = option.attached ? 0 : 1;
  if (two) option.values = option.attached ? 1 : 2;
  option.known = one || two || option.attached;
  return option;
}

/// Flags without a value are not listed: an option that is in no table counts as one. Those that a person meets are
/// here, so that the explanation names only what is really unknown.
bool is_flag(LauncherFamily family, std::string_view name) {
  constexpr std::string_view kFlags[] = {"allow-run-as-root",
                                         "oversubscribe",
                                         "nooversubscribe",
                                         "nolocal",
                                         "pernode",
                                         "bynode",
                                         "byslot",
                                         "bycore",
                                         "q",
                                         "quiet",
                                         "v",
                                         "verbose",
                                         "V",
                                         "version",
                                         "h",
                                         "help",
                                         "d",
                                         "debug",
                                         "debug-daemons",
                                         "debug-devel",
                                         "display-map",
                                         "display-allocation",
                                         "display-topo",
                                         "display-devel-map",
                                         "display-devel-allocation",
                                         "do-not-launch",
                                         "do-not-resolve",
                                         "enable-recovery",
                                         "disable-recovery",
                                         "continuous",
                                         "forward-signals",
                                         "get-stack-traces",
                                         "index-argv-by-rank",
                                         "leave-session-attached",
                                         "merge-stderr-to-stdout",
                                         "noprefix",
                                         "novm",
                                         "output-proctable",
                                         "preload-binary",
                                         "s",
                                         "report-bindings",
                                         "report-child-jobs-separately",
                                         "report-state-on-timeout",
                                         "set-cwd-to-session-dir",
                                         "show-progress",
                                         "tag-output",
                                         "timestamp-output",
                                         "use-hwthread-cpus",
                                         "use-regexp",
                                         "xml",
                                         "bind-to-core",
                                         "bind-to-socket",
                                         "tv",
                                         "fwd-mpirun-port",
                                         "do-not-aggregate-help"};
  constexpr std::string_view kHydraFlags[] = {"genvall",
                                              "genvnone",
                                              "envall",
                                              "envnone",
                                              "enable-x",
                                              "disable-x",
                                              "verbose",
                                              "v",
                                              "info",
                                              "version",
                                              "V",
                                              "help",
                                              "h",
                                              "print-all-exitcodes",
                                              "profile",
                                              "prepend-rank",
                                              "l",
                                              "disable-auto-cleanup",
                                              "enable-auto-cleanup",
                                              "disable-hostname-propagation",
                                              "enable-hostname-propagation",
                                              "pmi-port",
                                              "skip-launch-node",
                                              "nolocal",
                                              "rr",
                                              "grr",
                                              "print-rank-map",
                                              "prepend-timestamp",
                                              "prot",
                                              "silent-abort",
                                              "ordered-output",
                                              "aps",
                                              "mps",
                                              "gdb",
                                              "cleanup",
                                              "noconf"};
  if (family == LauncherFamily::slurm) return true;
  return family == LauncherFamily::hydra ? one_of(kHydraFlags, name) : one_of(kFlags, name);
}

class Reader {
 public:
  Reader(LauncherFamily family, std::span<const std::string> words, std::size_t offset)
      : family_(family), words_(words), offset_(offset) {}

  /// Reads "ALL,NAME=VALUE,NAME": without ALL only the listed variables reach the program.
  void use_export(std::string_view value, std::size_t word, const std::string& who) {
    bool all = false;
    for (std::string_view rest = value; !rest.empty();) {
      const auto comma = rest.find(',');
      const auto item = rest.substr(0, comma);
      rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
      if (item == "ALL")
        all = true;
      else if (item != "NONE" && item != "NIL")
        add_pair(item, word);
    }
    if (!all) found_.withheld = who;
  }

  LauncherWords read() {
    // One part of an MPMD command: options, a program, its arguments.
    while (at_ < words_.size()) {
      while (at_ < words_.size() && words_[at_].size() > 1 && words_[at_][0] == '-') read_option();
      const auto end = static_cast<std::size_t>(std::distance(
          words_.begin(), std::find(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end(), ":")));
      if (end > at_)
        found_.programs.push_back(
            {offset_ + at_,
             {words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.begin() + static_cast<std::ptrdiff_t>(end)}});
      at_ = end + 1;
    }
    // On this host hydra's processes inherit the environment all the same (MPICH 4.0 and 5.0, Intel MPI 2021.18).
    if (family_ == LauncherFamily::hydra && !found_.hosts_named) found_.withheld.clear();
    return std::move(found_);
  }

 private:
  /// Reads the option at `at_` with its values.
  void read_option() {
    const std::string& word = words_[at_];
    if (word == "--") {
      ++at_;
      return;
    }
    const auto option = option_of(family_, word);
    if (!option.known && !is_flag(family_, option.name) && found_.unknown_option.empty()) found_.unknown_option = word;
    const std::size_t values = std::min(option.values, words_.size() - at_ - 1);
    use(option, values);
    at_ += 1 + values;
  }

  /// The last value of the option: attached, or in the last of its words.
  void use(const Option& option, std::size_t values) {
    const std::size_t last = at_ + values;
    const bool has_value = option.attached.has_value() || values > 0;
    const std::string value = values > 0 ? words_[last] : option.attached.value_or("");
    const auto& name = option.name;
    if (one_of({{"host"sv, "H"sv, "hostfile"sv, "machinefile"sv, "default-hostfile"sv, "hosts"sv, "f"sv,
                 "hosts-group"sv, "machine"sv, "nodelist"sv, "w"sv, "nodefile"sv, "add-host"sv, "add-hostfile"sv}},
               name) &&
        has_value)
      found_.hosts_named = true;
    if (one_of({{"wdir"sv, "wd"sv, "dir"sv, "chdir"sv, "D"sv}}, name) && has_value) found_.directory = value;
    if (one_of({{"app"sv, "configfile"sv, "multi-prog"sv}}, name)) found_.file = words_[at_];
    if (family_ == LauncherFamily::hydra)
      use_hydra(option, values, value, last);
    else if (family_ == LauncherFamily::slurm)
      use_slurm(option, value, last);
    else if (name == "x" && has_value)
      add_pair(value, last);
  }

  void use_hydra(const Option& option, std::size_t values, const std::string& value, std::size_t last) {
    if (one_of(kHydraTwo, option.name) && (values == 2 || (values == 1 && option.attached)))
      found_.settings.push_back({values == 2 ? words_[at_ + 1] : *option.attached, value, offset_ + last});
    if (one_of({{"genvnone"sv, "envnone"sv, "genvlist"sv, "envlist"sv}}, option.name)) found_.withheld = words_[at_];
  }

  void use_slurm(const Option& option, const std::string& value, std::size_t last) {
    if (option.name != "export") return;
    found_.exports_named = true;
    use_export(value, value.find(',') == std::string::npos ? last : kNoWord, words_[at_]);
  }

  void add_pair(std::string_view text, std::size_t word) {
    const auto equals = text.find('=');
    Setting setting{std::string(text.substr(0, equals)), std::nullopt, word == kNoWord ? kNoWord : offset_ + word};
    if (equals != std::string_view::npos) setting.value = std::string(text.substr(equals + 1));
    found_.settings.push_back(std::move(setting));
  }

  LauncherFamily family_;
  std::span<const std::string> words_;
  std::size_t offset_;
  std::size_t at_ = 0;
  LauncherWords found_;
};

}  // namespace

std::optional<LauncherFamily> launcher_by_name(std::string_view name) {
  constexpr std::string_view kOpen[] = {"orterun",  "prterun",        "prun",           "oshrun",
                                        "shmemrun", "mpirun.openmpi", "mpiexec.openmpi"};
  constexpr std::string_view kHydraNames[] = {"hydra",         "mpiexec.hydra", "mpirun.hydra",
                                              "mpiexec.mpich", "mpirun.mpich",  "mpiexec.gforker"};
  if (one_of(kOpen, name)) return LauncherFamily::open_mpi;
  if (one_of(kHydraNames, name)) return LauncherFamily::hydra;
  if (name == "srun") return LauncherFamily::slurm;
  for (const auto general : {"mpirun"sv, "mpiexec"sv})
    if (name == general || (name.starts_with(general) && (name[general.size()] == '.' || name[general.size()] == '-')))
      return LauncherFamily::unknown;
  return std::nullopt;
}

LauncherFamily launcher_by_version(std::string_view text) {
  const auto says = [&](std::string_view words) { return text.find(words) != std::string_view::npos; };
  if (says("Open MPI") || says("OpenRTE") || says("PRTE") || says("PRRTE")) return LauncherFamily::open_mpi;
  if (says("HYDRA") || says("Intel(R) MPI")) return LauncherFamily::hydra;
  if (says("slurm")) return LauncherFamily::slurm;
  return LauncherFamily::unknown;
}

void add_slurm_export(LauncherWords& words, std::string_view value) {
  if (words.exports_named || value.empty()) return;
  Reader reader(LauncherFamily::slurm, {}, 0);
  reader.use_export(value, kNoWord, fmt::format("SLURM_EXPORT_ENV={}", value));
  auto read = reader.read();
  words.withheld = read.withheld;
  words.settings.insert(words.settings.begin(), read.settings.begin(), read.settings.end());
}

LauncherWords read_launcher_words(LauncherFamily family, std::span<const std::string> words, std::size_t offset) {
  return Reader(family, words, offset).read();
}

}  // namespace sumac::tools
