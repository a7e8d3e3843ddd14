// Judges interfaces, paths to other hosts, names, and the kernel's settings.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "tools/doctor/compare.hpp"
#include "tools/doctor/judge.hpp"

namespace sumac::tools::doctor {
namespace {

bool is_loopback(const std::string& address) { return address.starts_with("127.") || address == "::1"; }

/// The addresses of this host without loopback.
Strings own_addresses(const Facts& facts) {
  Strings all;
  for (const auto& interface : facts.interfaces)
    for (const auto& address : interface.addresses) all.push_back(address.substr(0, address.find('/')));
  return all;
}

bool is_word_of(const std::string& list, const std::string& word) {
  std::istringstream words(list);
  for (std::string each; words >> each;)
    if (each == word) return true;
  return false;
}

/// The numbers of a setting, such as the three of tcp_rmem.
std::vector<std::int64_t> numbers_of(const std::string& text) {
  std::vector<std::int64_t> numbers;
  std::istringstream words(text);
  for (std::int64_t each = 0; words >> each;) numbers.push_back(each);
  return numbers;
}

Finding judge_own_name(const Facts& facts) {
  const auto& own = facts.names.front();
  const auto health = facts.cluster ? Health::bad : Health::note;
  const auto addresses = own_addresses(facts);
  const auto first = addresses.empty() ? std::string("ADDRESS") : addresses.front();
  const auto line =
      fmt::format("a line `{} {}` in /etc/hosts, or the same in DNS", first, in_command(own.name, "NAME"));
  if (!own.error.empty())
    return {"host names", health, fmt::format("this host's own name {} does not resolve: {}", own.name, own.error),
            line};
  if (std::ranges::all_of(own.addresses, is_loopback))
    return {"host names", health,
            fmt::format("this host's own name {} is {}, which other hosts can't reach", own.name,
                        fmt::join(own.addresses, ", ")),
            addresses.empty() ? "enough for one machine; hosts of a cluster need an interface with an address"
                              : line + "; enough as it is for one machine"};
  for (const auto& address : own.addresses)
    if (!addresses.empty() && !is_loopback(address) && std::ranges::find(addresses, address) == addresses.end())
      return {"host names", Health::bad,
              fmt::format("this host's own name {} is {}, which is no address of this machine ({})", own.name, address,
                          fmt::join(addresses, ", ")),
              line};
  constexpr std::int64_t kSlowMs = 1000;
  if (own.took_ms >= kSlowMs)
    return {"host names", Health::note,
            fmt::format("this host's own name {} took {} ms to resolve", own.name, own.took_ms),
            line + ", so that no name service is asked"};
  return {"host names", Health::well, fmt::format("{} is {}", own.name, fmt::join(own.addresses, ", ")), ""};
}

}  // namespace

Finding judge_network(const Facts& facts) {
  if (facts.interfaces.empty())
    return {"network", facts.cluster ? Health::bad : Health::note, "loopback only",
            "enough for one machine; hosts of a cluster need an interface with an address: `ip -brief address`"};
  Strings texts;
  for (const auto& each : facts.interfaces) texts.push_back(fmt::format("{} (MTU {})", each.name, each.mtu));
  return {"network", Health::well, fmt::format("{}", fmt::join(texts, ", ")), ""};
}

Findings judge_paths(const Facts& facts) {
  Findings all;
  Strings well;
  for (const auto& path : facts.paths) {
    if (path.fits == 0) continue;  // The peer answers no probe: silence shows nothing.
    if (path.fits >= path.interface_mtu) {
      well.push_back(fmt::format("{} {}", path.peer, path.fits));
      continue;
    }
    const auto remedy = fmt::format(
        "the same MTU on all interfaces and switches of the network; here `ip link set dev {} mtu {}`, or "
        "`sysctl -w net.ipv4.tcp_mtu_probing=1`",
        in_command(path.interface, "DEVICE"), path.fits);
    if (path.reported)
      all.push_back({"path MTU", Health::note,
                     fmt::format("packets to {} ({}) may have {} bytes, {} has MTU {}; a router says so", path.peer,
                                 path.address, path.fits, path.interface, path.interface_mtu),
                     remedy});
    else
      all.push_back({"path MTU", Health::bad,
                     fmt::format("packets of more than {} bytes to {} ({}) vanish, {} has MTU {}", path.fits, path.peer,
                                 path.address, path.interface, path.interface_mtu),
                     remedy});
  }
  if (all.empty() && !well.empty())
    all.push_back({"path MTU", Health::well, fmt::format("whole packets reach {}", fmt::join(well, ", ")), ""});
  return all;
}

Findings judge_names(const Facts& facts) {
  Findings all;
  if (facts.names.empty()) return all;
  all.push_back(judge_own_name(facts));
  std::map<std::string, Strings> unresolved;  // A name service that is down is one fault, not one for each name.
  for (auto at = facts.names.begin() + 1; at != facts.names.end(); ++at) {
    if (!at->error.empty())
      unresolved[at->error].push_back(at->name);
    else if (std::ranges::any_of(at->addresses, is_loopback))
      all.push_back(
          {"host names", Health::bad,
           fmt::format("host {} is {} here, which is this machine itself", at->name, fmt::join(at->addresses, ", ")),
           fmt::format("mend the line of {} in /etc/hosts of this host", at->name)});
  }
  for (const auto& [error, names] : unresolved)
    all.push_back({"host names", Health::bad,
                   names.size() == 1 ? fmt::format("host {} does not resolve: {}", names[0], error)
                                     : fmt::format("hosts {} do not resolve: {}", fold_names(names), error),
                   fmt::format("a line `ADDRESS {}` in /etc/hosts of this host{}, or the same in DNS",
                               in_command(names[0], "NAME"), names.size() == 1 ? "" : " for each")});
  return all;
}

Findings judge_settings(const Facts& facts) {
  Findings all;
  const auto value = [&](const char* name) -> std::optional<std::string> {
    const auto at = std::ranges::find(facts.settings, name, &Setting::name);
    return at == facts.settings.end() ? std::nullopt : std::optional(at->value);
  };
  const auto note = [&](const char* name, const std::string& effect, const std::string& better) {
    all.push_back({"TCP settings", Health::note, fmt::format("{} = {}: {}", name, *value(name), effect),
                   fmt::format("`sysctl -w {}=\"{}\"`, and a file in /etc/sysctl.d to keep it", name, better)});
  };
  if (value("net.ipv4.tcp_window_scaling") == "0")
    note("net.ipv4.tcp_window_scaling", "at most 64 KiB are under way on a connection, so large messages crawl", "1");
  if (value("net.ipv4.tcp_sack") == "0")
    note("net.ipv4.tcp_sack", "a lost packet costs all that was sent after it", "1");
  if (value("net.ipv4.tcp_moderate_rcvbuf") == "0")
    note("net.ipv4.tcp_moderate_rcvbuf", "receive buffers do not grow with the path", "1");
  if (const auto mode = value("net.ipv4.ip_no_pmtu_disc"); mode == "1" || mode == "2")
    note("net.ipv4.ip_no_pmtu_disc", "the kernel does not find out which packets a path takes", "0");
  // 1 MiB is what 1 Gbit/s needs at 4 ms there and back; the kernel's own defaults are 4 and 6 MiB.
  constexpr std::int64_t kBufferMin = 1 << 20;
  for (const auto& [name, better] :
       {std::pair{"net.ipv4.tcp_rmem", "4096 131072 6291456"}, std::pair{"net.ipv4.tcp_wmem", "4096 16384 4194304"}})
    if (const auto text = value(name)) {
      const auto sizes = numbers_of(*text);
      if (sizes.size() == 3 && sizes[2] < kBufferMin)
        note(name,
             fmt::format("a connection may have {} KiB under way, which long or fast links outrun", sizes[2] >> 10),
             better);
    }
  // A node's listeners ask for a backlog of 1024, and all ranks of a job connect at once.
  constexpr std::int64_t kBacklogMin = 512;
  if (const auto text = value("net.core.somaxconn")) {
    const auto sizes = numbers_of(*text);
    if (!sizes.empty() && sizes[0] < kBacklogMin)
      note("net.core.somaxconn", "ranks of a large job that connect at once wait a second and more", "4096");
  }
  constexpr std::int64_t kPortsMin = 2000;
  if (const auto text = value("net.ipv4.ip_local_port_range")) {
    const auto range = numbers_of(*text);
    if (range.size() == 2 && range[1] - range[0] + 1 < kPortsMin)
      note("net.ipv4.ip_local_port_range",
           fmt::format("{} ports for all connections that begin here", range[1] - range[0] + 1), "32768 60999");
    else if (range.size() == 2 && range[0] <= 6126 && 6126 <= range[1])
      note("net.ipv4.ip_local_port_range", "the kernel may lend sharp_am's port 6126 to another program",
           "32768 60999");
  }
  const auto available = value("net.ipv4.tcp_available_congestion_control");
  const auto allowed = value("net.ipv4.tcp_allowed_congestion_control");
  const auto default_one = value("net.ipv4.tcp_congestion_control");
  if (available && allowed && default_one) {
    // Sumac's connections take cubic or reno; a user may take those that are allowed, and the default.
    const auto usable = [&](const char* name) {
      return is_word_of(*available, name) && (is_word_of(*allowed, name) || *default_one == name);
    };
    if (!usable("cubic") && !usable("reno"))
      all.push_back(
          {"TCP settings", Health::note,
           fmt::format("users may take neither cubic nor reno as congestion control, only {}", *allowed),
           "steady streams lose 3 to 4 %: `sysctl -w net.ipv4.tcp_allowed_congestion_control=\"reno cubic\"`"});
  }
  if (all.empty() && !facts.settings.empty())
    all.push_back({"TCP settings", Health::well, "nothing that slows Sumac down", ""});
  return all;
}

}  // namespace sumac::tools::doctor
