#include "net/address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace sumac::net {
namespace {

bool parse_v6(std::string host, SocketAddress& out) {
  auto& a = out.v6();
  if (const auto percent = host.find('%'); percent != std::string::npos) {
    a.sin6_scope_id = if_nametoindex(host.c_str() + percent + 1);
    if (a.sin6_scope_id == 0) return false;
    host.resize(percent);
  }
  a.sin6_family = AF_INET6;
  out.length = sizeof(sockaddr_in6);
  return inet_pton(AF_INET6, host.c_str(), &a.sin6_addr) == 1;
}

bool parse_v4(const std::string& host, SocketAddress& out) {
  auto& a = out.v4();
  a.sin_family = AF_INET;
  out.length = sizeof(sockaddr_in);
  return inet_pton(AF_INET, host.c_str(), &a.sin_addr) == 1;
}

struct IfaddrsDelete {
  void operator()(ifaddrs* list) const noexcept { freeifaddrs(list); }
};
using Interfaces = std::unique_ptr<ifaddrs, IfaddrsDelete>;

Result<Interfaces> list_interfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return fail_errno("list of interfaces");
  return Interfaces(list);
}

/// Returns the rank of an interface's address: lower is better, and negative means unusable.
int rank_of(const ifaddrs& entry, std::string_view device, int family) {
  if (entry.ifa_addr == nullptr || entry.ifa_addr->sa_family != family || (entry.ifa_flags & IFF_UP) == 0) return -1;
  if (!device.empty() && device != entry.ifa_name) return -1;
  const bool link_local =
      family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr)->sin6_addr);
  return ((entry.ifa_flags & IFF_LOOPBACK) != 0 ? 2 : 0) + (link_local ? 1 : 0);
}

}  // namespace

std::span<const std::uint8_t> SocketAddress::host() const noexcept {
  if (family() == AF_INET6) return {v6().sin6_addr.s6_addr, sizeof(in6_addr)};
  return {reinterpret_cast<const std::uint8_t*>(&v4().sin_addr), sizeof(in_addr)};
}

std::span<std::uint8_t> SocketAddress::host() noexcept {
  const auto bytes = std::as_const(*this).host();
  return {const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
}

std::uint16_t SocketAddress::port() const noexcept {
  return ntohs(family() == AF_INET6 ? v6().sin6_port : v4().sin_port);
}

void SocketAddress::set_port(std::uint16_t port) noexcept {
  (family() == AF_INET6 ? v6().sin6_port : v4().sin_port) = htons(port);
}

bool SocketAddress::is_any() const noexcept {
  if (family() == AF_INET6) return IN6_IS_ADDR_UNSPECIFIED(&v6().sin6_addr);
  return v4().sin_addr.s_addr == htonl(INADDR_ANY);
}

Result<SocketAddress> parse_address(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0)
    return fail(Errc::invalid, "{} is no address: write 10.1.0.5:7000 or [::1]:7000", text);
  unsigned port = 0;
  const auto digits = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size() || port > 65535)
    return fail(Errc::invalid, "{}: port {} is no number from 0 to 65535", text, digits);
  const auto host = text.substr(0, colon);
  SocketAddress address;
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const bool good = bracketed ? parse_v6(std::string(host.substr(1, host.size() - 2)), address)
                              : parse_v4(std::string(host), address);
  if (!good) return fail(Errc::invalid, "{}: {} is no numeric address: write 10.1.0.5:7000 or [::1]:7000", text, host);
  address.set_port(static_cast<std::uint16_t>(port));
  return address;
}

std::string format_address(const SocketAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.family() == AF_INET6) {
    const auto& a = address.v6();
    inet_ntop(AF_INET6, &a.sin6_addr, text, sizeof text);
    char name[IF_NAMESIZE] = "";
    if (a.sin6_scope_id != 0 && if_indextoname(a.sin6_scope_id, name) != nullptr)
      return fmt::format("[{}%{}]:{}", text, name, address.port());
    return fmt::format("[{}]:{}", text, address.port());
  }
  if (address.family() != AF_INET) return "?";
  inet_ntop(AF_INET, &address.v4().sin_addr, text, sizeof text);
  return fmt::format("{}:{}", text, address.port());
}

namespace {

Result<std::pair<std::string, SocketAddress>> best_device(std::string_view device, int family) {
  const auto list = list_interfaces();
  if (!list) return tl::unexpected(list.error());
  const ifaddrs* best = nullptr;
  int best_rank = 0;
  for (const ifaddrs* entry = list->get(); entry != nullptr; entry = entry->ifa_next) {
    const int rank = rank_of(*entry, device, family);
    if (rank < 0 || (best != nullptr && rank >= best_rank)) continue;
    best = entry;
    best_rank = rank;
  }
  if (best == nullptr)
    return fail(Errc::not_found, "interface {} has no {} address or is down: see `ip addr`",
                device.empty() ? std::string_view("of any name") : device, family == AF_INET6 ? "IPv6" : "IPv4");
  SocketAddress address;
  address.length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  std::memcpy(&address.storage, best->ifa_addr, address.length);
  return std::pair{std::string(best->ifa_name), address};
}

/// Returns the interface that has this address, if there is one.
Result<std::optional<std::string>> interface_with(const SocketAddress& address) {
  const auto list = list_interfaces();
  if (!list) return tl::unexpected(list.error());
  for (const ifaddrs* entry = list->get(); entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != address.family()) continue;
    SocketAddress its;
    std::memcpy(&its.storage, entry->ifa_addr,
                address.family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
    if (std::ranges::equal(its.host(), address.host())) return std::optional(std::string(entry->ifa_name));
  }
  return std::optional<std::string>();
}

}  // namespace

Result<unsigned> interface_of(const SocketAddress& address) {
  const auto name = interface_with(address);
  if (!name) return tl::unexpected(name.error());
  if (!*name) return fail(Errc::not_found, "no interface has the address of {}", format_address(address));
  const unsigned index = if_nametoindex((*name)->c_str());
  if (index == 0) return fail_errno(fmt::format("interface {}", **name));
  return index;
}

Result<bool> is_own_address(const SocketAddress& address) {
  if (address.family() == AF_INET && address.host()[0] == IN_LOOPBACKNET)
    return true;  // This covers all of 127.0.0.0/8.
  const auto name = interface_with(address);
  if (!name) return tl::unexpected(name.error());
  return name->has_value();
}

Result<SocketAddress> device_address(std::string_view device, int family) {
  auto best = best_device(device, family);
  if (!best) return tl::unexpected(best.error());
  return best->second;
}

Result<std::string> default_device() {
  auto best = best_device("", AF_INET);
  if (!best) return tl::unexpected(best.error());
  return best->first;
}

}  // namespace sumac::net
