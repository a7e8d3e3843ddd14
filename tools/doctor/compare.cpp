#include "tools/doctor/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

namespace sumac::tools::doctor {
namespace {

using Answers = std::vector<const HostAnswer*>;
/// Value -> the hosts that have it.
using Groups = std::map<std::string, Strings>;

/// "9000: h[1-2]; 1400: h3", the value of most hosts first.
std::string text_of_groups(const Groups& groups) {
  std::vector<const Groups::value_type*> order;
  for (const auto& group : groups) order.push_back(&group);
  std::ranges::stable_sort(order, std::greater{}, [](const auto* group) { return group->second.size(); });
  std::string text;
  for (const auto* group : order)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", group->first, fold_names(group->second));
  return text;
}

const std::string& most_common(const Groups& groups) {
  return std::ranges::max_element(groups, {}, [](const auto& group) { return group.second.size(); })->first;
}

/// The hosts that do not have the value of most hosts.
std::string odd_ones(const Groups& groups) {
  const auto& common = most_common(groups);
  Strings odd;
  for (const auto& [value, hosts] : groups)
    if (value != common) odd.insert(odd.end(), hosts.begin(), hosts.end());
  return fold_names(odd);
}

template <class ValueOf>
Groups group_by(const Answers& hosts, ValueOf value_of) {
  Groups groups;
  for (const auto* host : hosts)
    if (auto value = value_of(host->report->facts); !value.empty()) groups[std::move(value)].push_back(host->name);
  return groups;
}

std::string seconds_text(double seconds) {
  const double size = std::abs(seconds);
  if (size < 1e-3) return fmt::format("{:.0f} us", size * 1e6);
  if (size < 1) return fmt::format("{:.1f} ms", size * 1e3);
  if (size < 120) return fmt::format("{:.1f} s", size);
  if (size < 7200) return fmt::format("{:.0f} minutes", size / 60);
  if (size < 172800) return fmt::format("{:.1f} hours", size / 3600);
  return fmt::format("{:.0f} days", size / 86400);
}

void compare_clocks(const Answers& hosts, Findings& all) {
  std::vector<std::int64_t> offsets;
  for (const auto* host : hosts)
    if (host->clock) offsets.push_back(host->clock->offset_ns);
  if (offsets.size() < 2) return;
  // One clock that is wrong must not make the others look wrong.
  std::ranges::nth_element(offsets, offsets.begin() + static_cast<std::ptrdiff_t>(offsets.size() / 2));
  const auto middle = offsets[offsets.size() / 2];
  constexpr double kNote = 0.1, kBad = 300;  // munge and Kerberos refuse what is 5 minutes old.
  double worst = 0, error_max = 0;
  std::map<std::pair<Health, std::string>, Strings> wrong;
  for (const auto* host : hosts) {
    if (!host->clock) continue;
    const auto off = static_cast<double>(host->clock->offset_ns - middle) / 1e9;
    const auto error = static_cast<double>(host->clock->error_ns) / 1e9;
    worst = std::max(worst, std::abs(off));
    error_max = std::max(error_max, error);
    if (std::abs(off) - error <= kNote) continue;
    wrong[{std::abs(off) - error > kBad ? Health::bad : Health::note,
           fmt::format("{} {}", seconds_text(off), off > 0 ? "ahead" : "behind")}]
        .push_back(host->name);
  }
  for (const auto& [what, names] : wrong)
    all.push_back(
        {"clocks", what.first,
         fmt::format("the clock of {} is {} of the others (measured to {})", fold_names(names), what.second,
                     seconds_text(error_max)),
         "log times do not line up, and certificates may count as ended: `apt-get install chrony` there, then "
         "`chronyc makestep`"});
  if (wrong.empty())
    all.push_back(
        {"clocks", Health::well,
         fmt::format("within {} of each other (measured to {})", seconds_text(worst), seconds_text(error_max)), ""});
}

/// "10.77.0.1/16" -> "10.77.0.0/16"; empty for IPv6, whose link-local networks are the same everywhere.
std::string network_of(const std::string& address) {
  const auto slash = address.find('/');
  std::array<unsigned, 4> byte{};
  unsigned prefix = 0, at = 0;
  const char* begin = address.data();
  const char* const end = begin + std::min(slash, address.size());
  while (at < 4) {
    const auto read = std::from_chars(begin, end, byte[at]);
    if (read.ec != std::errc{} || byte[at] > 255) return {};
    ++at;
    begin = read.ptr;
    if (at < 4 && (begin == end || *begin++ != '.')) return {};
  }
  if (begin != end || slash == std::string::npos ||
      std::from_chars(address.data() + slash + 1, address.data() + address.size(), prefix).ec != std::errc{} ||
      prefix > 32)
    return {};
  std::uint32_t ip = byte[0] << 24 | byte[1] << 16 | byte[2] << 8 | byte[3];
  ip &= prefix == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix);
  return fmt::format("{}.{}.{}.{}/{}", ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255, prefix);
}

void compare_mtus(const Answers& hosts, Findings& all) {
  std::map<std::string, Groups> networks;
  for (const auto* host : hosts)
    for (const auto& interface : host->report->facts.interfaces)
      for (const auto& address : interface.addresses)
        if (const auto network = network_of(address); !network.empty())
          networks[network][fmt::format("{}", interface.mtu)].push_back(host->name);
  std::size_t equal = 0;
  for (const auto& [network, groups] : networks) {
    if (groups.size() == 1) {
      equal += groups.begin()->second.size() > 1;
      continue;
    }
    all.push_back(
        {"MTU", Health::note, fmt::format("in network {} it is {}", network, text_of_groups(groups)),
         fmt::format("large packets to the smaller side vanish: `ip link set dev DEVICE mtu {}` on {}, or the "
                     "smaller value on all",
                     most_common(groups), odd_ones(groups))});
  }
  if (equal > 0 && equal == networks.size())
    all.push_back({"MTU", Health::well, "the same on all hosts of each network", ""});
}

void compare_names(const Answers& hosts, Findings& all) {
  std::map<std::string, std::set<std::string>> addresses;  // Each host names its own addresses.
  for (const auto* host : hosts)
    for (const auto& interface : host->report->facts.interfaces)
      for (const auto& address : interface.addresses)
        addresses[host->name].insert(address.substr(0, address.find('/')));
  // (name, wrong address) -> the hosts where it is so
  std::map<std::pair<std::string, std::string>, Strings> wrong;
  std::size_t right = 0;
  for (const auto* host : hosts)
    for (const auto& name : host->report->facts.names) {
      const auto own = addresses.find(name.name);
      if (own == addresses.end() || name.name == host->report->facts.host) continue;
      for (const auto& address : name.addresses) {
        if (address.starts_with("127.") || address == "::1") continue;  // The host itself has found that.
        if (own->second.contains(address))
          ++right;
        else
          wrong[{name.name, address}].push_back(host->name);
      }
    }
  for (const auto& [what, where] : wrong)
    all.push_back(
        {"host names", Health::bad,
         fmt::format("{} is {} on {}, but {} has no such address ({})", what.first, what.second, fold_names(where),
                     what.first, fmt::join(addresses[what.first], ", ")),
         fmt::format("mend the line of {} in /etc/hosts of {}, or its entry in DNS", what.first, fold_names(where))});
  if (wrong.empty() && right > 0)
    all.push_back({"host names", Health::well, "each host's name leads to that host, from every other", ""});
  // One name for two machines.
  Groups calls;
  for (const auto* host : hosts) calls[host->report->facts.host].push_back(host->name);
  for (const auto& [name, who] : calls)
    if (who.size() > 1)
      all.push_back(
          {"host names", Health::bad, fmt::format("{} call themselves {}", fmt::join(who, " and "), name),
           "`hostnamectl set-hostname NAME`, a name of its own for each; or name each host once with --hosts"});
}

void compare_nodes(const Answers& hosts, Findings& all) {
  // A manager at a unix socket is another one on each host; one at a port is known by that port, whatever its name is.
  std::map<std::pair<std::string, std::string>, std::set<std::string>> nodes;
  for (const auto* host : hosts)
    for (const auto& daemon : host->report->facts.daemons)
      if (daemon.program == "sharp_an" && !daemon.name.empty() && !daemon.manager.starts_with("unix:"))
        nodes[{daemon.name, daemon.manager.substr(daemon.manager.rfind(':') + 1)}].insert(host->name);
  for (const auto& [node, where] : nodes)
    if (where.size() > 1)
      all.push_back({"node names", Health::bad,
                     fmt::format("node {} runs on {} hosts: {}", node.first, where.size(),
                                 fold_names(Strings(where.begin(), where.end()))),
                     "start each with `--name NODE`, a node of its own in the fabric file, or end all but one"});
}

std::string driver_of(const Facts& facts) {
  if (!facts.gpus.nvidia_module.empty()) return "NVIDIA " + facts.gpus.nvidia_module;
  return facts.gpus.amd_kfd ? "AMD" : "none";
}

void compare_versions(const Answers& hosts, Findings& all) {
  const auto note = [&](const std::string& what, const Groups& groups, const std::string& remedy) {
    if (groups.size() > 1)
      all.push_back({"versions", Health::note, fmt::format("{}: {}", what, text_of_groups(groups)), remedy});
  };
  const auto sumac = group_by(hosts, [](const Facts& f) { return f.sumac; });
  note("Sumac", sumac,
       fmt::format("install one version everywhere, for instance that of most hosts on {}",
                   sumac.empty() ? "" : odd_ones(sumac)));
  note("MPI", group_by(hosts, [](const Facts& f) { return f.software.mpi; }),
       "one MPI on all hosts: processes of two versions do not start together");
  note("GPU driver", group_by(hosts, driver_of), "one driver on all hosts that a job uses");
  std::set<std::string> names;
  for (const auto* host : hosts)
    for (const auto& library : host->report->facts.software.libraries) names.insert(library.name);
  // Files of different versions differ, which needs no finding of its own.
  for (const auto& name : sumac.size() == 1 ? names : std::set<std::string>()) {
    Groups files = group_by(hosts, [&](const Facts& f) {
      const auto at = std::ranges::find(f.software.libraries, name, &Library::name);
      return at == f.software.libraries.end() ? std::string("missing") : "file " + at->checksum.substr(0, 8);
    });
    note(name, files, files.size() > 1 ? fmt::format("install Sumac again on {}", odd_ones(files)) : "");
  }
  if (std::ranges::none_of(all, [](const Finding& each) { return each.subject == "versions"; }) && hosts.size() > 1)
    all.push_back(
        {"versions", Health::well, "Sumac, its libraries, MPI and GPU drivers are the same on all hosts", ""});
}

void compare_settings(const Answers& hosts, Findings& all) {
  std::set<std::string> names;
  for (const auto* host : hosts)
    for (const auto& setting : host->report->facts.settings)
      // A command must not set what only a host speaks of; another version may know more settings.
      if (std::ranges::find(kSettingNames, setting.name) != std::end(kSettingNames)) names.insert(setting.name);
  const auto before = all.size();
  for (const auto& name : names) {
    const auto groups = group_by(hosts, [&](const Facts& f) {
      const auto at = std::ranges::find(f.settings, name, &Setting::name);
      return at == f.settings.end() ? std::string("absent") : at->value;
    });
    // The values are those that a host reports: a command must not be made of just anything.
    const bool are_plain = std::ranges::all_of(groups, [](const auto& group) {
      return std::ranges::all_of(group.first,
                                 [](unsigned char c) { return std::isalnum(c) || std::strchr(" ._-", c); });
    });
    if (groups.size() > 1 && !are_plain)
      all.push_back({"settings", Health::bad, fmt::format("{} differs: {}", name, text_of_groups(groups)),
                     "no kernel has this value: find out which host reports it, and what answers there"});
    else if (groups.contains("absent") && groups.size() > 1)
      all.push_back({"settings", Health::note, fmt::format("{} differs: {}", name, text_of_groups(groups)),
                     "one kernel on all hosts: some have no such setting"});
    else if (groups.size() > 1)
      all.push_back({"settings", Health::note, fmt::format("{} differs: {}", name, text_of_groups(groups)),
                     fmt::format("`sysctl -w {}=\"{}\"` on {}, if that was not meant", name, most_common(groups),
                                 odd_ones(groups))});
  }
  if (all.size() == before && hosts.size() > 1 && !names.empty())
    all.push_back({"settings", Health::well, "the kernel's settings for TCP are the same on all hosts", ""});
}

}  // namespace

Findings compare(const std::vector<HostAnswer>& hosts) {
  Findings all;
  Answers answers;
  std::vector<std::pair<const HostAnswer*, Strings>> silent;  // Those of one reason are one finding.
  for (const auto& host : hosts) {
    if (host.report) {
      answers.push_back(&host);
      continue;
    }
    const auto same = std::ranges::find_if(silent, [&](const auto& one) { return one.first->why == host.why; });
    if (same == silent.end())
      silent.emplace_back(&host, Strings{host.name});
    else
      same->second.push_back(host.name);
  }
  for (const auto& [first, names] : silent)
    all.push_back(names.size() == 1 ? Finding{"host " + first->name, Health::bad, first->why, first->remedy}
                                    : Finding{"hosts", Health::bad,
                                              fmt::format("{}: {}", fold_names(names), first->why), first->remedy});
  compare_clocks(answers, all);
  compare_mtus(answers, all);
  compare_names(answers, all);
  compare_nodes(answers, all);
  compare_versions(answers, all);
  compare_settings(answers, all);
  return all;
}

Findings judge_fabric(const Result<topo::Fabric>& fabric, const std::string& file, const Strings& hosts) {
  if (!fabric)
    return {{"fabric file", Health::bad, fabric.error().context,
             fmt::format("mend the file; `sumac fabric show {}` checks it again", file)}};
  Findings all;
  Strings missing;
  for (const auto& name : hosts)
    if (std::ranges::find(fabric->hosts, name, &topo::Host::name) == fabric->hosts.end() &&
        std::ranges::find(fabric->nodes, name, &topo::Node::name) == fabric->nodes.end())
      missing.push_back(name);
  if (!missing.empty())
    all.push_back(
        {"fabric file", Health::bad, fmt::format("{} has no host {}", file, fold_names(missing)),
         fmt::format("add `{}: {{leaf: SWITCH}}` below `hosts:`, then `systemctl reload sharp_am`; or start sharpd "
                     "there with --host NAME, a name that the file has",
                     in_command(missing.front(), "NAME"))});
  else
    all.push_back({"fabric file", Health::well,
                   fmt::format("{}: {} hosts, {} nodes", file, fabric->hosts.size(), fabric->nodes.size()), ""});
  return all;
}

}  // namespace sumac::tools::doctor
