#include "net/multicast.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sumac::net {
namespace {

constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

sockaddr_in& v4(SocketAddress& a) noexcept { return reinterpret_cast<sockaddr_in&>(a.storage); }
const sockaddr_in& v4(const SocketAddress& a) noexcept { return reinterpret_cast<const sockaddr_in&>(a.storage); }
sockaddr_in6& v6(SocketAddress& a) noexcept { return reinterpret_cast<sockaddr_in6&>(a.storage); }
const sockaddr_in6& v6(const SocketAddress& a) noexcept { return reinterpret_cast<const sockaddr_in6&>(a.storage); }

template <class T>
Result<> set_option(const UniqueFd& fd, int level, int name, const T& value, std::string_view what) {
  if (setsockopt(fd.get(), level, name, &value, sizeof value) != 0)
    return fail_errno(fmt::format("socket option {}", what));
  return {};
}

/// Of a group that is known on one interface only, such as ff12::1.
void scope(SocketAddress& address, unsigned interface) noexcept {
  if (address.family() == AF_INET6) v6(address).sin6_scope_id = interface;
}

Result<UniqueFd> open_socket(int family) {
  UniqueFd fd{socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP)};
  if (!fd) return fail_errno("socket");
  return fd;
}

}  // namespace

WireAddress to_wire(const SocketAddress& address) noexcept {
  WireAddress bytes{};
  if (address.family() == AF_INET6) {
    std::memcpy(bytes.data(), &v6(address).sin6_addr, bytes.size());
  } else {
    std::copy(std::begin(kMapped), std::end(kMapped), bytes.begin());
    std::memcpy(bytes.data() + 12, &v4(address).sin_addr, 4);
  }
  return bytes;
}

SocketAddress from_wire(const WireAddress& bytes, std::uint16_t port) noexcept {
  SocketAddress address;
  if (std::equal(std::begin(kMapped), std::end(kMapped), bytes.begin())) {
    v4(address).sin_family = AF_INET;
    std::memcpy(&v4(address).sin_addr, bytes.data() + 12, 4);
    address.length = sizeof(sockaddr_in);
  } else {
    v6(address).sin6_family = AF_INET6;
    std::memcpy(&v6(address).sin6_addr, bytes.data(), bytes.size());
    address.length = sizeof(sockaddr_in6);
  }
  address.set_port(port);
  return address;
}

bool is_multicast(const SocketAddress& address) noexcept {
  if (address.family() == AF_INET6) return IN6_IS_ADDR_MULTICAST(&v6(address).sin6_addr);
  return IN_MULTICAST(ntohl(v4(address).sin_addr.s_addr));
}

SocketAddress nth_address(SocketAddress base, std::uint16_t k) noexcept {
  std::uint8_t* end = base.family() == AF_INET6 ? v6(base).sin6_addr.s6_addr + 16
                                                : reinterpret_cast<std::uint8_t*>(&v4(base).sin_addr) + 4;
  end[-2] = static_cast<std::uint8_t>(k >> 8);
  end[-1] = static_cast<std::uint8_t>(k);
  return base;
}

Result<MulticastSender> MulticastSender::open(const SocketAddress& local, int hops) {
  const auto interface = interface_of(local);
  if (!interface) return tl::unexpected(interface.error());
  auto fd = open_socket(local.family());
  if (!fd) return tl::unexpected(fd.error());
  const int on = 1;
  Result<> set;
  if (local.family() == AF_INET6) {
    if (set) set = set_option(*fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, *interface, "IPV6_MULTICAST_IF");
    if (set) set = set_option(*fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, hops, "IPV6_MULTICAST_HOPS");
    if (set) set = set_option(*fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, on, "IPV6_MULTICAST_LOOP");
  } else {
    if (set) set = set_option(*fd, IPPROTO_IP, IP_MULTICAST_IF, v4(local).sin_addr, "IP_MULTICAST_IF");
    if (set) set = set_option(*fd, IPPROTO_IP, IP_MULTICAST_TTL, hops, "IP_MULTICAST_TTL");
    if (set) set = set_option(*fd, IPPROTO_IP, IP_MULTICAST_LOOP, on, "IP_MULTICAST_LOOP");
  }
  if (!set) return tl::unexpected(set.error());
  return MulticastSender(*std::move(fd), local.family(), *interface);
}

Errc MulticastSender::send(SocketAddress to, std::span<const std::byte> datagram) noexcept {
  scope(to, interface_);
  const auto sent = ::sendto(fd_.get(), datagram.data(), datagram.size(), MSG_NOSIGNAL, to.get(), to.length);
  if (sent == static_cast<ssize_t>(datagram.size())) return Errc::ok;
  return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == EINTR ? Errc::again : Errc::io;
}

Result<MulticastReceiver> MulticastReceiver::join(SocketAddress group, const SocketAddress& local) {
  if (group.family() != local.family())
    return fail(Errc::unsupported, "{} is not of the family of {}", format_address(group), format_address(local));
  const auto interface = interface_of(local);
  if (!interface) return tl::unexpected(interface.error());
  auto fd = open_socket(group.family());
  if (!fd) return tl::unexpected(fd.error());
  scope(group, *interface);
  const int on = 1, off = 0;
  // Several members on one host listen to the same port; each only to what it has joined itself.
  if (auto set = set_option(*fd, SOL_SOCKET, SO_REUSEADDR, on, "SO_REUSEADDR"); !set)
    return tl::unexpected(set.error());
  Result<> set;
  if (group.family() == AF_INET6) {
    set = set_option(*fd, IPPROTO_IPV6, IPV6_V6ONLY, on, "IPV6_V6ONLY");
    if (set) set = set_option(*fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, off, "IPV6_MULTICAST_ALL");
  } else {
    set = set_option(*fd, IPPROTO_IP, IP_MULTICAST_ALL, off, "IP_MULTICAST_ALL");
  }
  if (!set) return tl::unexpected(set.error());
  // Bound to the group's own address: the kernel sorts out what goes to others.
  if (bind(fd->get(), group.get(), group.length) != 0) return fail_errno(fmt::format("bind {}", format_address(group)));
  if (group.family() == AF_INET6) {
    ipv6_mreq request{};
    request.ipv6mr_multiaddr = v6(group).sin6_addr;
    request.ipv6mr_interface = *interface;
    set = set_option(*fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, request, "IPV6_JOIN_GROUP");
  } else {
    ip_mreqn request{};
    request.imr_multiaddr = v4(group).sin_addr;
    request.imr_address = v4(local).sin_addr;
    request.imr_ifindex = static_cast<int>(*interface);
    set = set_option(*fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, request, "IP_ADD_MEMBERSHIP");
  }
  if (!set) return within(format_address(group), set.error());
  return MulticastReceiver(*std::move(fd));
}

std::size_t MulticastReceiver::receive(std::span<std::byte> into) noexcept {
  const auto came = ::recv(fd_.get(), into.data(), into.size(), MSG_DONTWAIT);
  return came > 0 ? static_cast<std::size_t>(came) : 0;
}

}  // namespace sumac::net
