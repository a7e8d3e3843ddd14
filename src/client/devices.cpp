#include "client/devices.hpp"

#include <sharp/api/sharp_coll.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "topo/named_port.hpp"

namespace sumac::client {
namespace {

constexpr std::string_view kAny = "any";

struct Origin {
  std::string_view list;
  std::string_view who;
};

Origin first_of(const DeviceRequests& requests) {
  for (const auto& origin :
       {Origin{requests.variable, "SHARP_COLL_IB_DEV_LIST"},
        Origin{requests.program, "ib_dev_list (the program's, or HCOLL_MAIN_IB)"},
        Origin{requests.host, "ib_dev of this host's sharpd"}, Origin{requests.network, "SUMAC_NET_DEVICE"}})
    if (!origin.list.empty()) return origin;
  return {};
}

/// Returns "mlx5_0:1 (enp1s0), eth0:1", for a user who named a device that does not exist.
std::string those_there_are(std::span<const net::HostPort> ports) {
  std::string text;
  for (const auto& port : ports) {
    if (!text.empty()) text += ", ";
    text += port.adapter.empty() ? fmt::format("{}:1", port.interface)
                                 : fmt::format("{}:{} ({})", port.adapter, port.port, port.interface);
  }
  return text.empty() ? "none" : text;
}

const net::HostPort* find(std::span<const net::HostPort> ports, const topo::NamedPort& word) {
  for (const auto& port : ports)
    if (port.adapter == word.device && port.port == word.number) return &port;
  for (const auto& port : ports)
    if (port.interface == word.device && word.number == 1) return &port;
  return nullptr;
}

/// Published command lines name the adapters of their authors' hosts. A host that has adapters, or a lab's interfaces
/// of such names, can obey a list, so there a wrong name is an error.
bool is_of_other_hosts(const Origin& origin, const DeviceRequests& requests, const topo::NamedPort& word,
                       std::span<const net::HostPort> ports) {
  constexpr std::string_view kAdapters = "mlx";
  return origin.list.data() == requests.program.data() && word.device.starts_with(kAdapters) &&
         std::ranges::none_of(ports, [&](const net::HostPort& port) {
           return !port.adapter.empty() || port.interface.starts_with(kAdapters);
         });
}

tl::unexpected<Failure> not_found(const Origin& origin, const topo::NamedPort& word,
                                  std::span<const net::HostPort> ports) {
  const auto count = std::ranges::count_if(
      ports, [&](const auto& port) { return port.adapter == word.device || port.interface == word.device; });
  if (count == 1)
    return failure(SHARP_COLL_EDEV, "{}={}: {} has no port {}, it has one port", origin.who, origin.list, word.device,
                   word.number);
  if (count > 1)
    return failure(SHARP_COLL_EDEV, "{}={}: {} has no port {}, it has {} ports", origin.who, origin.list, word.device,
                   word.number, count);
  return failure(SHARP_COLL_EDEV,
                 "{}={}: this host has no device {}; there are {}; SHARP_COLL_IB_DEV_LIST=any leaves it to the system",
                 origin.who, origin.list, word.device, those_there_are(ports));
}

}  // namespace

std::string DeviceList::names() const {
  std::string text;
  for (const auto& port : ports) text += (text.empty() ? "" : ",") + port.name;
  return text;
}

bool names_devices(const DeviceRequests& requests) {
  const auto list = first_of(requests).list;
  return !list.empty() && list != kAny;
}

Outcome<DeviceList> find_devices(const DeviceRequests& requests, std::span<const net::HostPort> ports) {
  DeviceList list;
  if (!names_devices(requests)) return list;
  const Origin origin = first_of(requests);
  list.origin = fmt::format("{}={}", origin.who, origin.list);
  std::vector<std::string> written;
  for (auto rest = std::optional(origin.list); rest;) {
    const auto comma = rest->find(',');
    const auto text = trimmed(rest->substr(0, comma));
    rest = comma == std::string_view::npos ? std::nullopt : std::optional(rest->substr(comma + 1));
    const auto word = topo::parse_named_port(text);
    if (!word)
      return failure(SHARP_COLL_EDEV, "{}: '{}' is no device: write NAME or NAME:PORT, several with commas between",
                     list.origin, text);
    const auto* port = find(ports, *word);
    if (port == nullptr && is_of_other_hosts(origin, requests, *word, ports)) return DeviceList{list.origin, {}};
    if (port == nullptr) return not_found(origin, *word, ports);
    const auto twice = std::ranges::find(list.ports, port->interface, &DevicePort::interface);
    if (twice != list.ports.end()) {
      const auto& before = written[static_cast<std::size_t>(twice - list.ports.begin())];
      return failure(SHARP_COLL_EDEV, "{}: {} is named twice{}", list.origin, text,
                     before == text ? "" : fmt::format(", first as {}", before));
    }
    if (list.ports.size() == kDevicesInListMax)
      return failure(SHARP_COLL_EDEV, "{}: more than {} devices", list.origin, kDevicesInListMax);
    const bool is_adapter = !port->adapter.empty();
    list.ports.push_back(
        {port->interface, is_adapter ? fmt::format("{}:{}", port->adapter, port->port) : port->interface, is_adapter});
    written.emplace_back(text);
  }
  return list;
}

std::vector<int> choose_ports(std::span<const std::vector<bool>> leads, std::uint32_t channel) {
  std::vector<int> chosen;
  std::map<std::vector<bool>, std::uint32_t> trees_before;  // Counts the trees to which the same ports lead.
  for (const auto& ports : leads) {
    std::vector<int> candidates;
    for (std::size_t port = 0; port < ports.size(); ++port)
      if (ports[port]) candidates.push_back(static_cast<int>(port));
    const auto before = trees_before[ports]++;
    chosen.push_back(candidates.empty() ? -1 : candidates[(std::size_t{channel} + before) % candidates.size()]);
  }
  return chosen;
}

Outcome<PortWays> ways_to(const DeviceList& devices, std::string_view address) {
  PortWays ways{std::vector<bool>(devices.ports.size(), true), false};
  constexpr std::string_view kTcp = "tcp:";
  if (devices.empty() || !address.starts_with(kTcp)) return ways;
  const auto to = net::parse_address(address.substr(kTcp.size()));
  if (!to) return failure(SHARP_COLL_ETREE_INFO, "{}", to.error().context);
  const auto own = net::is_own_address(*to);
  if (!own) return failure(SHARP_COLL_EDEV, "{}", own.error().context);
  ways.by_none = *own;
  for (std::size_t i = 0; !*own && i < ways.leads.size(); ++i) {
    const auto answer = net::leads_to(devices.ports[i].interface, *to);
    if (!answer) return failure(SHARP_COLL_EDEV, "{}: {}", devices.origin, answer.error().context);
    ways.leads[i] = *answer;
  }
  return ways;
}

std::string port_towards(std::string_view address) {
  constexpr std::string_view kTcp = "tcp:";
  const auto to = net::parse_address(address.substr(std::min(kTcp.size(), address.size())));
  const auto ports = net::host_ports();
  if (!to || !ports) return std::string(kAny);
  if (net::is_own_address(*to).value_or(false)) return "none, as the tree's node is on this host";
  for (const auto& port : *ports)
    if (net::leads_to(port.interface, *to).value_or(false)) return port.interface;
  return std::string(kAny);
}

}  // namespace sumac::client
