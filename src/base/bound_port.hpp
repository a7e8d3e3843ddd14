#pragma once
// The port of a socket that was bound to a port of the system's choice.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

namespace sumac {

/// 0: it is no socket of IPv4 or IPv6.
inline std::uint16_t bound_port(int fd) noexcept {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length) != 0) return 0;
  if (bound.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(bound).sin6_port);
  return bound.ss_family == AF_INET ? ntohs(reinterpret_cast<const sockaddr_in&>(bound).sin_port) : std::uint16_t{0};
}

}  // namespace sumac
