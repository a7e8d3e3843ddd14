// `sumac doctor`: the facts of this host or of several are collected, judged and printed.
#include <fmt/core.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "control/command_line.hpp"
#include "fabricfile/fabricfile.hpp"
#include "tools/commands.hpp"
#include "tools/doctor/collect.hpp"
#include "tools/doctor/compare.hpp"
#include "tools/doctor/hosts.hpp"
#include "tools/doctor/judge.hpp"
#include "tools/doctor/report.hpp"
#include "tools/doctor/view.hpp"
#include "tools/run/several.hpp"

namespace sumac::tools {
namespace {

using namespace doctor;

constexpr char kHelp[] =
    "usage: sumac doctor [--json] [--manager ADDR:PORT|unix:PATH] [--tls-dir DIR] [--fabric FILE]\n"
    "                    [--hosts LIST | --hostfile FILE] [--launcher CMD] [--timeout SECONDS]\n"
    "\n"
    "Looks at this machine, or with --hosts at several hosts side by side, and says what is wrong and how to mend it. "
    "It\n"
    "changes nothing. Ends with 1 if something is BAD; a `note` works, but slower or with less.\n"
    "On each host: processors, memory, open files, /dev/shm, single copy, clock, network, path MTU, host names, TCP "
    "settings,\n"
    "RDMA, GPUs, MPI, certificates, sharpd, sharp_am, daemon ports, node names, versions. Between hosts: clocks, MTU, "
    "names,\n"
    "versions, settings, node names.\n"
    "\n"
    "  --hosts LIST        hosts as for `sumac run`: a,b,n[01-16]; a host that does not answer is a finding\n"
    "  --hostfile FILE     the hosts in a file, one a line\n"
    "  --launcher CMD      instead of `ssh -o BatchMode=yes`: CMD HOST WORDS... runs WORDS there; {host} in CMD is the "
    "host\n"
    "  --timeout SECONDS   how long to wait for one host (30)\n"
    "  --fabric FILE       the fabric file of sharp_am: its hosts must have names here, and the hosts must be in it\n"
    "  --manager ADDR:PORT|unix:PATH  where sharp_am should be; else SUMAC_HOSTD_MANAGER says, else the sharpd that "
    "runs here,\n"
    "                      else what `sumac up` started, else unix:/run/sumac-am/am.sock\n"
    "  --tls-dir DIR       the certificates with which it asks sharp_am (ca.crt, admin-NAME.crt and .key); else "
    "SUMAC_TLS_DIR says.\n"
    "                      With --hosts: the directory on each host\n"
    "  --json              facts and findings for programs (docs/tools.md)\n";

struct Command {
  bool json = false;
  std::map<std::string, std::string> values;
  std::string get(const std::string& option) const {
    const auto at = values.find(option);
    return at == values.end() ? std::string() : at->second;
  }
};

Result<Command> parse(const Arguments& arguments) {
  Command command;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    auto word = arguments[i];
    std::optional<std::string> value;
    if (const auto equals = word.find('='); word.starts_with("--") && equals != std::string::npos) {
      value = word.substr(equals + 1);
      word.resize(equals);
    }
    if (word == "--json" && !value) {
      command.json = true;
    } else if (word == "--manager" || word == "--hosts" || word == "--hostfile" || word == "--launcher" ||
               word == "--fabric" || word == "--timeout" || word == "--tls-dir") {
      if (!value && i + 1 == arguments.size()) return fail(Errc::invalid, "{} needs a value", word);
      command.values[word] = value ? *value : arguments[++i];
      if (command.values[word].empty()) return fail(Errc::invalid, "{} needs a value", word);
    } else {
      return fail(Errc::invalid, "unexpected argument '{}': see `sumac doctor --help`", arguments[i]);
    }
  }
  return command;
}

Result<Strings> hosts_of(const Command& command) {
  const bool list = !command.get("--hosts").empty(), file = !command.get("--hostfile").empty();
  if (list && file) return fail(Errc::invalid, "--hosts and --hostfile: give one of them");
  for (const char* option : {"--launcher", "--timeout"})
    if (!list && !file && !command.get(option).empty())
      return fail(Errc::invalid, "{} is for several hosts: give --hosts or --hostfile too", option);
  if (!list && !file) return Strings();
  const auto entries = list ? parse_host_list(command.get("--hosts")) : read_hostfile(command.get("--hostfile"));
  if (!entries) return tl::unexpected(entries.error());
  Strings names;
  for (const auto& entry : *entries) names.push_back(entry.name);
  return names;
}

Result<Duration> limit_of(const Command& command) {
  const auto text = command.get("--timeout");
  if (text.empty()) return Seconds(30);
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || end != text.data() + text.size() || seconds < 1 || seconds > 3600)
    return fail(Errc::invalid, "--timeout {}: a number of seconds from 1 to 3600", text);
  return Seconds(seconds);
}

struct Fabric {
  std::string file;
  std::optional<Result<topo::Fabric>> read;
  Strings hosts() const {
    Strings names;
    if (read && *read)
      for (const auto& host : (*read)->hosts) names.push_back(host.name);
    return names;
  }
  /// The manager's address, where the file places it on a host.
  std::string manager() const {
    const char* set = std::getenv("SUMAC_HOSTD_MANAGER");
    if (!read || !*read || !(*read)->manager || (set != nullptr && *set != '\0')) return {};
    const auto& host = (*read)->manager->place.at_host;
    return host.empty() ? std::string() : fmt::format("{}:{}", host, (*read)->manager->port);
  }
};

/// The name under which a host is known: that of its sharpd, which --host may have chosen.
const std::string& known_as(const Facts& facts) { return facts.sharpd.host.empty() ? facts.host : facts.sharpd.host; }

bool is_bad(const Findings& findings) {
  for (const auto& each : findings)
    if (each.health == Health::bad) return true;
  return false;
}

int examine_here(const Command& command, const Fabric& fabric) {
  Wanted wanted{.cluster = fabric.read.has_value() || !command.get("--manager").empty(),
                .manager = command.get("--manager").empty() ? fabric.manager() : command.get("--manager"),
                .tls_dir = command.get("--tls-dir"),
                .names = fabric.hosts(),
                .peers = peers_of(fabric.hosts(), 0)};
  Report report{.facts = collect(wanted)};
  report.findings = judge(report.facts);
  if (fabric.read)
    for (auto& each : judge_fabric(*fabric.read, fabric.file, {known_as(report.facts)}))
      report.findings.push_back(std::move(each));
  fmt::print("{}", command.json ? text_of(to_json(report), 2) + "\n" : page_of_host(report.findings));
  return is_bad(report.findings) ? 1 : 0;
}

nlohmann::json to_json(const std::vector<HostAnswer>& hosts, const Findings& between) {
  auto list = nlohmann::json::array();
  for (const auto& host : hosts) {
    nlohmann::json one{{"name", host.name}};
    if (host.report)
      one["report"] = doctor::to_json(*host.report);
    else
      one["why"] = host.why;
    if (host.clock) one["clock"] = {{"offset_ns", host.clock->offset_ns}, {"error_ns", host.clock->error_ns}};
    list.push_back(std::move(one));
  }
  return {{"sumac_doctor", kForm},
          {"version", std::string(control::version_text())},
          {"hosts", std::move(list)},
          {"findings", doctor::to_json(between)}};
}

int examine_hosts(const Command& command, const Fabric& fabric, const Strings& hosts, Duration limit) {
  const auto launcher = command.get("--launcher"), tls_dir = command.get("--tls-dir");
  const auto answers =
      ask_hosts({.hosts = hosts,
                 .launcher = launcher.empty() ? kSsh : launcher,
                 .manager = command.get("--manager").empty() ? fabric.manager() : command.get("--manager"),
                 .tls_dir = tls_dir.empty() ? tls_dir : std::filesystem::absolute(tls_dir).string(),
                 .fabric_hosts = fabric.hosts(),
                 .limit = limit});
  auto between = compare(answers);
  if (fabric.read) {
    Strings names;
    for (const auto& host : answers) names.push_back(host.report ? known_as(host.report->facts) : host.name);
    for (auto& each : judge_fabric(*fabric.read, fabric.file, names)) between.push_back(std::move(each));
  }
  fmt::print("{}", command.json ? text_of(to_json(answers, between), 2) + "\n" : page_of_hosts(answers, between));
  bool bad = is_bad(between);
  for (const auto& host : answers) bad |= host.report && is_bad(host.report->findings);
  return bad ? 1 : 0;
}

}  // namespace

int doctor_command(const Arguments& arguments) {
  for (const auto& word : arguments)
    if (word == "--help" || word == "-h") return fmt::print("{}", kHelp), 0;
  const auto command = parse(arguments);
  if (!command) return complain("doctor: " + command.error().context, 2);
  const auto hosts = hosts_of(*command);
  if (!hosts) return complain("doctor: " + hosts.error().context, 2);
  const auto limit = limit_of(*command);
  if (!limit) return complain("doctor: " + limit.error().context, 2);
  Fabric fabric{.file = command->get("--fabric")};
  if (!fabric.file.empty()) fabric.read = load_fabric(fabric.file);
  return hosts->empty() ? examine_here(*command, fabric) : examine_hosts(*command, fabric, *hosts, *limit);
}

}  // namespace sumac::tools
