#pragma once
// Addresses in the forms of people and of the kernel. Only numeric ones are parsed, because looking up a name would
// block.
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace sumac::net {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr_in& v4() const noexcept { return reinterpret_cast<const sockaddr_in&>(storage); }
  sockaddr_in& v4() noexcept { return reinterpret_cast<sockaddr_in&>(storage); }
  const sockaddr_in6& v6() const noexcept { return reinterpret_cast<const sockaddr_in6&>(storage); }
  sockaddr_in6& v6() noexcept { return reinterpret_cast<sockaddr_in6&>(storage); }
  int family() const noexcept { return storage.ss_family; }
  /// The address without its port: 4 or 16 bytes in network byte order.
  std::span<const std::uint8_t> host() const noexcept;
  std::span<std::uint8_t> host() noexcept;
  std::uint16_t port() const noexcept;
  void set_port(std::uint16_t port) noexcept;
  /// True for 127.0.0.0/8 and ::1.
  bool is_loopback() const noexcept;
  /// True for 0.0.0.0 or [::], at which one can listen but to which one cannot connect.
  bool is_any() const noexcept;
};

/// Parses "10.1.0.5:7000", "[::1]:7000", "[fe80::1%eth0]:7000".
Result<SocketAddress> parse_address(std::string_view text);
std::string format_address(const SocketAddress& address);

/// Returns the host in "HOST:PORT": brackets around it are removed.
std::string host_of(std::string_view endpoint);

/// An interface with one of its addresses.
struct Interface {
  std::string name;
  unsigned flags = 0;  ///< IFF_UP and others, as getifaddrs() returns them.
  SocketAddress address;
};
Result<std::vector<Interface>> list_interfaces();
/// Returns the interface `device`, or without a name the best that has a carrier: one that is not loopback, and then
/// IPv4 before IPv6, before loopback; link-local addresses are the last resort. `family`: AF_INET, AF_INET6, or
/// AF_UNSPEC for both.
Result<Interface> best_interface(std::span<const Interface> all, std::string_view device, int family);
/// Returns the name of the interface that has this address, if there is one.
Result<std::optional<std::string>> interface_with(const SocketAddress& address);

/// Returns the index of the interface that has this address, or Errc::not_found.
Result<unsigned> interface_of(const SocketAddress& address);
/// True if the address belongs to this host, so that packets to it leave by no port.
Result<bool> is_own_address(const SocketAddress& address);

/// Returns the address at which others reach us: that of best_interface() among this host's.
Result<SocketAddress> device_address(std::string_view device, int family);

}  // namespace sumac::net
