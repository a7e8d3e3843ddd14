// Collects network interfaces, and how this host resolves names.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>

#include "base/write_all.hpp"
#include "tools/doctor/collect.hpp"
#include "tools/doctor/in_child.hpp"

namespace sumac::tools::doctor {
namespace {

/// A name service that is down makes getaddrinfo() wait for 5 s and more.
constexpr Duration kResolveWithin = Seconds(6);
constexpr std::size_t kChildrenMax = 16, kNamesMax = 512;

std::string ip_of(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN]{};
  if (address->sa_family == AF_INET)
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  if (address->sa_family == AF_INET6)
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text, sizeof text);
  return text;
}

int prefix_of(const sockaddr* mask) {
  if (mask == nullptr) return 0;
  if (mask->sa_family == AF_INET) return std::popcount(reinterpret_cast<const sockaddr_in*>(mask)->sin_addr.s_addr);
  int bits = 0;
  for (const auto byte : reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr.s6_addr) bits += std::popcount(byte);
  return bits;
}

/// Returns a line "ADDRESS ADDRESS ...", or "!REASON".
std::string look_up(const std::string& name) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int error = ::getaddrinfo(name.c_str(), nullptr, &hints, &found); error != 0)
    return std::string("!") + ::gai_strerror(error);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  std::string line;
  for (const auto* at = found; at != nullptr; at = at->ai_next) line += (line.empty() ? "" : " ") + ip_of(at->ai_addr);
  return line;
}

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find(by, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

void collect_interfaces(Facts& facts) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  std::map<std::string, Interface> found;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    const bool has_address =
        at->ifa_addr != nullptr && (at->ifa_addr->sa_family == AF_INET || at->ifa_addr->sa_family == AF_INET6);
    if (!has_address || (at->ifa_flags & IFF_UP) == 0 || (at->ifa_flags & IFF_LOOPBACK) != 0) continue;
    auto& interface = found[at->ifa_name];
    interface.name = at->ifa_name;
    interface.addresses.push_back(ip_of(at->ifa_addr) + "/" + std::to_string(prefix_of(at->ifa_netmask)));
    std::ifstream("/sys/class/net/" + interface.name + "/mtu") >> interface.mtu;
  }
  for (auto& [name, interface] : found) facts.interfaces.push_back(std::move(interface));
}

void collect_names(Facts& facts, const Strings& names) {
  facts.names.push_back({.name = facts.host});
  for (const auto& name : names)
    if (facts.names.size() < kNamesMax && std::ranges::find(facts.names, name, &Name::name) == facts.names.end())
      facts.names.push_back({.name = name});
  const auto children = std::min(kChildrenMax, facts.names.size());
  std::vector<std::function<void(int)>> tasks;
  for (std::size_t first = 0; first < children; ++first)
    tasks.emplace_back([&, first](int fd) {
      for (auto i = first; i < facts.names.size(); i += children) {
        const auto began = monotonic_now();
        const auto found = look_up(facts.names[i].name);
        const auto took = std::chrono::duration_cast<Millis>(monotonic_now() - began).count();
        if (!write_all(fd, std::to_string(took) + " " + found + "\n")) return;
      }
    });
  const auto answers = in_children(tasks, kResolveWithin);
  for (std::size_t first = 0; first < children; ++first) {
    const auto lines = split(answers[first].text, '\n');
    for (std::size_t line = 0, i = first; i < facts.names.size(); ++line, i += children) {
      auto& name = facts.names[i];
      if (line >= lines.size()) {
        name.took_ms = std::chrono::duration_cast<Millis>(kResolveWithin).count();
        name.error = "no answer within 6 s";
        continue;
      }
      const auto space = lines[line].find(' ');
      name.took_ms = std::atoll(lines[line].c_str());
      const auto rest = space == std::string::npos ? std::string() : lines[line].substr(space + 1);
      if (rest.starts_with('!'))
        name.error = rest.substr(1);
      else
        for (auto& address : split(rest, ' '))
          if (std::ranges::find(name.addresses, address) == name.addresses.end()) name.addresses.push_back(address);
    }
  }
}

}  // namespace sumac::tools::doctor
