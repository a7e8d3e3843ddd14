// Judges the daemons that this host reaches, their ports and versions, and the MPI.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "tools/doctor/judge.hpp"

namespace sumac::tools::doctor {
namespace {

/// The host of "10.77.0.1:6126" or "tcp:[fd00::2]:7000".
std::string host_of(std::string_view address) {
  if (address.starts_with("tcp:")) address.remove_prefix(4);
  address = address.substr(0, address.rfind(':'));
  if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
  return std::string(address);
}

std::string port_of(std::string_view address) { return std::string(address.substr(address.rfind(':') + 1)); }

/// The commands that make a daemon run on its host, for both ways to install Sumac.
std::string start_of(std::string_view daemon) {
  return fmt::format("`systemctl enable --now {0}` (packages), otherwise `sharp_daemons_setup.sh -s -d {0}`", daemon);
}

/// One manager has several names and addresses, but one port.
bool may_be_same_manager(const std::string& a, const std::string& b) {
  return a == b || (!a.starts_with("unix:") && !b.starts_with("unix:") && port_of(a) == port_of(b));
}

}  // namespace

Finding judge_rdma(const Facts& facts) {
  const auto& software = facts.software;
  if (!software.rdma_device) return {"RDMA", Health::well, "no device: TCP is used", ""};
  if (!software.ucx_backend)
    return {"RDMA", Health::note, "a device, but no ucx backend beside this program",
            "`apt-get install libucx0`, and Sumac's ucx backend"};
  return {"RDMA", Health::well, "a device; give sharp_an --transport ucx to use it", ""};
}

Finding judge_ucx(const Facts& facts) {
  const auto& ucx = facts.ucx;
  if (!ucx.error.empty()) return {"UCX", Health::well, ucx.error, ""};
  std::string found = ucx.version + ":";
  for (const auto& each : ucx.transports)
    found +=
        fmt::format("{} {} ({})", &each == ucx.transports.data() ? "" : ",", each.name, fmt::join(each.devices, ", "));
  // rc_verbs, ud_mlx5, dc_mlx5 and so on.
  const bool has_rdma = std::ranges::any_of(ucx.transports, [](const auto& each) {
    return each.name.starts_with("rc") || each.name.starts_with("ud") || each.name.starts_with("dc");
  });
  if (facts.software.rdma_device && !has_rdma)
    return {"UCX", Health::note, found + "; none of an RDMA device, though there is one",
            "`ibv_devinfo` shows whether a port is active; `ulimit -l unlimited` lets UCX pin memory"};
  return {"UCX", Health::well, found, ""};
}

Finding judge_mpi(const Facts& facts) {
  const auto& version = facts.software.mpi;
  if (version.empty())
    return {"MPI", Health::bad, "no mpirun in PATH", "`apt-get install openmpi-bin`, or put your Open MPI into PATH"};
  const auto& built_for = facts.software.component_for;
  const bool is_open_mpi = version.find("Open MPI") != std::string::npos;
  const auto release = version.substr(version.rfind(' ') + 1);
  const bool is_41 = is_open_mpi && release.starts_with("4.1");
  const bool is_for_41 = built_for.empty() || built_for.starts_with("4.1");
  // A component for 4.1 serves that whole series, one for 5.0 the very release.
  if (!facts.software.component && !is_41)
    return {"MPI", Health::note, version + "; no component for it is beside this program",
            "put `sumac run` before the launcher, which gives this MPI a library"};
  if (facts.software.component && !(is_for_41 ? is_41 : is_open_mpi && release == built_for))
    return {
        "MPI", Health::note, version,
        fmt::format("the component is for Open MPI {}: put `sumac run` before the launcher, which gives other MPIs a "
                    "library",
                    is_for_41 ? "4.1" : built_for)};
  if (!facts.software.component)
    return {"MPI", Health::bad, version + ", but no component beside this program",
            "`apt-get install sumac-openmpi`, or build with libopenmpi-dev installed"};
  return {"MPI", Health::well, version + ", component found", ""};
}

Finding judge_sharpd(const Facts& facts) {
  const auto& sharpd = facts.sharpd;
  const auto& elsewhere = facts.manager.elsewhere;
  if (sharpd.state == "answers" && std::ranges::find(elsewhere, sharpd.host) != elsewhere.end())
    return {"sharpd", Health::bad,
            fmt::format("answers at {}, but the fabric has no host {}", sharpd.socket, sharpd.host),
            "add the host to sharp_am's fabric file and `kill -HUP` it, or start sharpd with `--host NAME`"};
  if (sharpd.state == "answers")
    return {"sharpd", Health::well,
            sharpd.host.empty() ? "answers at " + sharpd.socket
                                : fmt::format("answers at {} for host {}", sharpd.socket, sharpd.host),
            ""};
  if (sharpd.state == "absent")
    return {"sharpd", facts.cluster ? Health::bad : Health::note, sharpd.why,
            fmt::format("on a cluster {}; for one machine put `sumac run` before the program", start_of("sharpd"))};
  return {"sharpd", Health::bad, fmt::format("{} is there, but sharpd does not answer: {}", sharpd.socket, sharpd.why),
          "its log says more (of a service: /var/log/sharpd.log); a process that was stopped goes on after `kill -CONT "
          "PID`"};
}

Finding judge_manager(const Facts& facts) {
  const auto& manager = facts.manager;
  if (manager.state == "answers")
    return {"sharp_am", Health::well,
            fmt::format("version {} at {}, up {} s", manager.version, manager.endpoint, manager.uptime_ms / 1000), ""};
  if (manager.state == "wrong")
    return {"sharp_am", Health::bad, manager.why,
            "mend what the line names: --manager or SUMAC_HOSTD_MANAGER, --tls-dir or the SUMAC_TLS_ variables"};
  const auto text = fmt::format("no answer at {}: {}", manager.endpoint, manager.why);
  if (manager.state == "denied")
    return {"sharp_am", Health::bad, text,
            "another user listens there: end that process, or name the manager with --manager"};
  const auto health = facts.cluster ? Health::bad : Health::note;
  if (manager.state == "untrusted")
    return {
        "sharp_am", health, text,
        "`--tls-dir DIR` (or SUMAC_TLS_DIR=DIR): the directory with ca.crt and admin-NAME.crt, from the `sumac pki` "
        "directory that sharp_am's files come from"};
  return {"sharp_am", health, text,
          fmt::format("{}on its host {}, or say where it is with --manager",
                      facts.cluster ? "" : "needed on a cluster only: ", start_of("sharp_am"))};
}

Findings judge_ports(const Facts& facts) {
  Findings all;
  for (const auto& port : facts.ports) {
    if (port.state == "open") continue;
    const auto what = fmt::format("{} at {}", port.daemon, port.address);
    const auto on = fmt::format("on {}", host_of(port.address));
    if (port.state == "refused")
      all.push_back(
          {"daemon ports", Health::bad, what + " is refused: the host is reached, nobody listens there",
           fmt::format("start the daemon {}, or give it the address that is used: `ss -ltn` there lists them", on)});
    else if (port.state == "filtered")
      all.push_back({"daemon ports", Health::bad, what + " does not answer: a firewall drops it, or the host is off",
                     fmt::format("open the port {}: `nft add rule inet filter input tcp dport {} accept`, or the like "
                                 "of your firewall",
                                 on, in_command(port_of(port.address), "PORT"))});
    else if (port.state == "unresolved")
      all.push_back({"daemon ports", Health::bad, what + ": its name does not resolve here",
                     fmt::format("a line `ADDRESS {}` in /etc/hosts, or the same in DNS",
                                 in_command(host_of(port.address), "NAME"))});
    else
      all.push_back({"daemon ports", Health::bad, what + " can't be reached from here: no route, or a router refuses",
                     fmt::format("`ip route get {}` shows the route that is missing",
                                 in_command(host_of(port.address), "ADDRESS"))});
  }
  if (all.empty() && !facts.ports.empty())
    all.push_back({"daemon ports", Health::well,
                   facts.ports.size() == 1 ? facts.ports[0].daemon + " is open"
                                           : fmt::format("{} of {} open", facts.ports.size(), facts.ports.size()),
                   ""});
  return all;
}

Findings judge_nodes(const Facts& facts) {
  Findings all;
  // Each `sumac run` has daemons of its own: nodes of two managers may have one name.
  std::map<std::pair<std::string, std::string>, Strings> here;
  for (const auto& daemon : facts.daemons)
    if (daemon.program == "sharp_an" && !daemon.name.empty())
      here[{daemon.name, daemon.manager}].push_back(fmt::format("{}", daemon.pid));
  for (const auto& [who, pids] : here) {
    const auto& [name, manager] = who;
    if (pids.size() > 1)
      all.push_back({"node names", Health::bad,
                     fmt::format("{} processes here are node {} (pids {})", pids.size(), name, fmt::join(pids, ", ")),
                     "end all but one, or start it with `--name NODE`, a node of its own in the fabric file"});
    const auto known = std::ranges::find(facts.manager.nodes, name, &KnownNode::name);
    if (!may_be_same_manager(manager, facts.manager.endpoint) || known == facts.manager.nodes.end() ||
        !known->registered || known->address.empty())
      continue;
    const auto address = host_of(known->address);
    const bool is_ours =
        address.starts_with("127.") || std::ranges::any_of(facts.interfaces, [&](const Interface& each) {
          return std::ranges::any_of(each.addresses,
                                     [&](const std::string& own) { return own.substr(0, own.find('/')) == address; });
        });
    if (!is_ours)
      all.push_back(
          {"node names", Health::bad,
           fmt::format("node {} runs here (pid {}), but the manager knows it at {}: two processes have that name", name,
                       pids[0], address),
           "start this one with `--name NODE`, a node of its own in the fabric file, or end one of the two"});
  }
  Strings missing;
  for (const auto& node : facts.manager.nodes)
    if (!node.registered) missing.push_back(node.name);
  if (!missing.empty()) {
    const auto more = missing.size() > 5 ? fmt::format(" and {} more", missing.size() - 5) : std::string();
    missing.resize(std::min<std::size_t>(missing.size(), 5));
    all.push_back({"node names", Health::bad,
                   fmt::format("not registered at the manager: {}{}", fmt::join(missing, ", "), more),
                   "start `sharp_an --name NODE` on its host; if it runs, its log says why it was refused"});
  }
  for (const auto& node : facts.manager.nodes)
    if (!node.silent.empty())
      all.push_back(
          {"node names", Health::bad, fmt::format("node {} is silent: {}", node.name, node.silent),
           "new jobs go without it: see whether its process is stopped, its machine off, or its link broken"});
  if (all.empty() && !facts.manager.nodes.empty())
    all.push_back({"node names", Health::well, fmt::format("{} registered", facts.manager.nodes.size()), ""});
  return all;
}

Findings judge_versions(const Facts& facts) {
  Findings all;
  const auto differs = [&](const std::string& version) { return !version.empty() && version != facts.sumac; };
  const auto note = [&](const std::string& text) {
    all.push_back({"versions", Health::note, fmt::format("{}, this `sumac` {}", text, facts.sumac),
                   "install one version everywhere and start the daemons again (docs/upgrade.md)"});
  };
  const auto& manager = facts.manager;
  if (differs(manager.version)) note(fmt::format("sharp_am is {}", manager.version));
  std::map<std::string, Strings> nodes;
  for (const auto& node : manager.nodes)
    if (differs(node.version)) nodes[node.version].push_back(node.name);
  for (const auto& [version, names] : nodes) {
    const Strings some(names.begin(), names.begin() + std::min<std::ptrdiff_t>(5, std::ssize(names)));
    note(fmt::format("sharp_an is {} at {} nodes ({}{})", version, names.size(), fmt::join(some, ", "),
                     some.size() < names.size() ? ", ..." : ""));
  }
  for (const auto& each : manager.sharpds)
    if (differs(each.version))
      note(fmt::format("sharpd is {} on {} hosts ({}{})", each.version, each.hosts, fmt::join(each.some, ", "),
                       static_cast<std::int64_t>(each.some.size()) < each.hosts ? ", ..." : ""));
  if (all.empty())
    all.push_back({"versions", Health::well,
                   manager.version.empty() ? facts.sumac : fmt::format("{}, as the daemons", facts.sumac), ""});
  return all;
}

}  // namespace sumac::tools::doctor
