#include "net/host_ports.hpp"

#include <net/if.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>

namespace sumac::net {
namespace {

namespace fs = std::filesystem;

/// Returns the names in a folder; none if it does not exist, as on a machine without adapters.
std::vector<std::string> entries_of(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

std::optional<std::string> first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line) || line.empty()) return std::nullopt;
  return line;
}

std::optional<std::uint32_t> number_of(const std::string& text) {
  std::uint32_t number = 0;
  if (text.empty()) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

struct AdapterPort {
  std::string adapter;
  std::uint32_t port = 1;
};

/// Maps interfaces to adapter ports. An Ethernet adapter names the interface of each port; the interfaces of an
/// InfiniBand adapter count its ports from 0.
std::map<std::string, AdapterPort> adapters_by_interface(const fs::path& sysfs) {
  std::map<std::string, AdapterPort> found;
  const auto all = sysfs / "class" / "infiniband";
  for (const auto& adapter : entries_of(all)) {
    for (const auto& name : entries_of(all / adapter / "ports"))
      if (const auto port = number_of(name))
        if (const auto interface = first_line(all / adapter / "ports" / name / "gid_attrs" / "ndevs" / "0"))
          found.try_emplace(*interface, AdapterPort{adapter, *port});
    const auto net = all / adapter / "device" / "net";
    for (const auto& interface : entries_of(net)) {
      const auto counted = number_of(first_line(net / interface / "dev_port").value_or("0"));
      found.try_emplace(interface, AdapterPort{adapter, counted.value_or(0) + 1});
    }
  }
  return found;
}

}  // namespace

std::vector<HostPort> ports_of(std::span<const std::string> interfaces, const std::string& sysfs) {
  const auto adapters = adapters_by_interface(sysfs);
  std::vector<HostPort> ports;
  for (const auto& interface : interfaces) {
    const auto adapter = adapters.find(interface);
    if (adapter == adapters.end())
      ports.push_back({interface, "", 1});
    else
      ports.push_back({interface, adapter->second.adapter, adapter->second.port});
  }
  return ports;
}

Result<std::vector<HostPort>> host_ports() {
  const std::unique_ptr<struct if_nameindex, decltype(&if_freenameindex)> list(if_nameindex(), &if_freenameindex);
  if (!list) return fail_errno("list of interfaces");
  std::vector<std::string> interfaces;
  for (const auto* entry = list.get(); entry->if_index != 0; ++entry) interfaces.emplace_back(entry->if_name);
  return ports_of(interfaces, "/sys");
}

}  // namespace sumac::net
