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

std::size_t length_of(int family) { return family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in); }

/// Returns the rank of an interface's address: lower is better, and negative means unusable.
int rank_of(const Interface& one, std::string_view device, int family) {
  const bool v6 = one.address.family() == AF_INET6;
  if ((family != AF_UNSPEC && family != one.address.family()) || (one.flags & IFF_UP) == 0) return -1;
  // A bridge of containers is up without a carrier while no container runs.
  if (device.empty() ? (one.flags & IFF_RUNNING) == 0 : device != one.name) return -1;
  if ((one.flags & IFF_LOOPBACK) != 0) return v6 ? 4 : 2;
  if (v6 && IN6_IS_ADDR_LINKLOCAL(&one.address.v6().sin6_addr)) return 3;
  return v6 ? 1 : 0;
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

bool SocketAddress::is_loopback() const noexcept {
  if (family() == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&v6().sin6_addr);
  return host()[0] == IN_LOOPBACKNET;  // This covers all of 127.0.0.0/8.
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

std::string host_of(std::string_view endpoint) {
  auto host = endpoint.substr(0, endpoint.rfind(':'));
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return std::string(host);
}

Result<std::vector<Interface>> list_interfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return fail_errno("list of interfaces");
  const std::unique_ptr<ifaddrs, IfaddrsDelete> owner(list);
  std::vector<Interface> all;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    auto& one = all.emplace_back(Interface{entry->ifa_name, entry->ifa_flags, {}});
    one.address.length = static_cast<socklen_t>(length_of(family));
    std::memcpy(&one.address.storage, entry->ifa_addr, one.address.length);
  }
  return all;
}

Result<Interface> best_interface(std::span<const Interface> all, std::string_view device, int family) {
  const Interface* best = nullptr;
  int best_rank = 0;
  for (const auto& one : all) {
    const int rank = rank_of(one, device, family);
    if (rank < 0 || (best != nullptr && rank >= best_rank)) continue;
    best = &one;
    best_rank = rank;
  }
  if (best == nullptr)
    return fail(Errc::not_found, "interface {} has no {} address or is down: see `ip addr`",
                device.empty() ? std::string_view("of any name") : device,
                family == AF_UNSPEC  ? "IPv4 or IPv6"
                : family == AF_INET6 ? "IPv6"
                                     : "IPv4");
  return *best;
}

Result<std::optional<std::string>> interface_with(const SocketAddress& address) {
  const auto all = list_interfaces();
  if (!all) return tl::unexpected(all.error());
  for (const auto& one : *all)
    if (one.address.family() == address.family() && std::ranges::equal(one.address.host(), address.host()))
      return std::optional(one.name);
  return std::optional<std::string>();
}

Result<unsigned> interface_of(const SocketAddress& address) {
  const auto name = interface_with(address);
  if (!name) return tl::unexpected(name.error());
  if (!*name) return fail(Errc::not_found, "no interface has the address of {}", format_address(address));
  const unsigned index = if_nametoindex((*name)->c_str());
  if (index == 0) return fail_errno(fmt::format("interface {}", **name));
  return index;
}

Result<bool> is_own_address(const SocketAddress& address) {
  if (address.family() == AF_INET && address.is_loopback()) return true;
  const auto name = interface_with(address);
  if (!name) return tl::unexpected(name.error());
  return name->has_value();
}

Result<SocketAddress> device_address(std::string_view device, int family) {
  const auto all = list_interfaces();
  if (!all) return tl::unexpected(all.error());
  auto best = best_interface(*all, device, family);
  if (!best) return tl::unexpected(best.error());
  return best->address;
}

}  // namespace sumac::net
