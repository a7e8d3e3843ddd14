#include "tools/doctor/ucx_info.hpp"

#include <algorithm>

namespace sumac::tools::doctor {
namespace {

constexpr std::size_t kTransportsMost = 64, kDevicesMost = 64;

/// Returns what follows a label such as "#      Transport: "; empty: the line has another one.
std::string_view behind(std::string_view line, std::string_view label) {
  const auto begin = line.find_first_not_of("# ");
  if (begin == line.npos || !line.substr(begin).starts_with(label)) return {};
  const auto rest = line.substr(begin + label.size());
  const auto value = rest.find_first_not_of(" =");
  return value == rest.npos ? std::string_view{} : rest.substr(value, rest.find_first_of(" \t", value) - value);
}

}  // namespace

Ucx parse_ucx_info(std::string_view text) {
  Ucx ucx;
  Transport* last = nullptr;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    // "# Version 1.13.1", "# UCT version=1.8.0 revision ...", "# Library version: 1.15.0"
    for (const auto* label : {"Version", "UCT version", "Library version:"})
      if (const auto version = behind(line, label); ucx.version.empty() && !version.empty()) ucx.version = version;
    if (const auto name = behind(line, "Transport:"); !name.empty()) {
      const auto known = std::ranges::find(ucx.transports, name, &Transport::name);
      if (known != ucx.transports.end())
        last = &*known;
      else
        last = ucx.transports.size() < kTransportsMost ? &ucx.transports.emplace_back(Transport{std::string(name), {}})
                                                       : nullptr;
    }
    if (const auto device = behind(line, "Device:");
        last != nullptr && !device.empty() && last->devices.size() < kDevicesMost)
      last->devices.emplace_back(device);
  }
  return ucx;
}

}  // namespace sumac::tools::doctor
