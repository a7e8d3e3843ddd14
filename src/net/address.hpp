#pragma once
// Addresses as people write them and as the kernel takes them. Numbers only: looking up a name would block.
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

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
  /// The address without port: 4 or 16 bytes, in the order of the network.
  std::span<const std::uint8_t> host() const noexcept;
  std::span<std::uint8_t> host() noexcept;
  std::uint16_t port() const noexcept;
  void set_port(std::uint16_t port) noexcept;
  /// 0.0.0.0 or [::]: good to listen on, no address to connect to.
  bool is_any() const noexcept;
};

/// "10.1.0.5:7000", "[::1]:7000", "[fe80::1%eth0]:7000".
Result<SocketAddress> parse_address(std::string_view text);
std::string format_address(const SocketAddress& address);

/// The interface that serves when none is named: the first that is up and not loopback, else loopback.
Result<std::string> default_device();

/// Index of the interface that has this address. not_found: none has it.
Result<unsigned> interface_of(const SocketAddress& address);
/// Whether the address is this host's own: packets to it leave by no port.
Result<bool> is_own_address(const SocketAddress& address);

/// The address that others reach us at: of interface `device`, or of the first one that is up and not loopback, else loopback.
/// `family`: AF_INET or AF_INET6 (of which link-local ones are the last resort).
Result<SocketAddress> device_address(std::string_view device, int family);

}  // namespace sumac::net
