#include "multicast/socket.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace sumac::multicast {
namespace {

constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

template <class T>
Result<> set_option(const PrivateFd& fd, int level, int name, const T& value, std::string_view what) {
  if (setsockopt(fd.get(), level, name, &value, sizeof value) != 0)
    return fail_errno(fmt::format("socket option {}", what));
  return {};
}

/// An IPv6 group such as ff12::1 exists on one interface only, so its address must name the interface.
void scope(net::SocketAddress& address, unsigned interface) noexcept {
  if (address.family() == AF_INET6) address.v6().sin6_scope_id = interface;
}

Result<PrivateFd> open_socket(int family) {
  auto fd = PrivateFd::from([&] { return socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP); });
  if (!fd) return fail_errno("socket");
  return fd;
}

}  // namespace

WireAddress to_wire(const net::SocketAddress& address) noexcept {
  WireAddress bytes{};
  std::copy(std::begin(kMapped), std::end(kMapped), bytes.begin());  // For IPv6 the next line overwrites this prefix.
  std::ranges::copy_backward(address.host(), bytes.end());
  return bytes;
}

net::SocketAddress from_wire(const WireAddress& bytes, std::uint16_t port) noexcept {
  net::SocketAddress address;
  const bool ipv4 = std::equal(std::begin(kMapped), std::end(kMapped), bytes.begin());
  address.storage.ss_family = ipv4 ? AF_INET : AF_INET6;
  address.length = ipv4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  const auto host = address.host();
  std::copy(bytes.end() - static_cast<std::ptrdiff_t>(host.size()), bytes.end(), host.begin());
  address.set_port(port);
  return address;
}

bool is_multicast(const net::SocketAddress& address) noexcept {
  if (address.family() == AF_INET6) return IN6_IS_ADDR_MULTICAST(&address.v6().sin6_addr);
  return IN_MULTICAST(ntohl(address.v4().sin_addr.s_addr));
}

net::SocketAddress nth_address(net::SocketAddress base, std::uint16_t k) noexcept {
  const auto end = base.host().last<2>();
  end[0] = static_cast<std::uint8_t>(k >> 8);
  end[1] = static_cast<std::uint8_t>(k);
  return base;
}

Result<SendSocket> SendSocket::open(const net::SocketAddress& local, int hops) {
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
    if (set) set = set_option(*fd, IPPROTO_IP, IP_MULTICAST_IF, local.v4().sin_addr, "IP_MULTICAST_IF");
    if (set) set = set_option(*fd, IPPROTO_IP, IP_MULTICAST_TTL, hops, "IP_MULTICAST_TTL");
    if (set) set = set_option(*fd, IPPROTO_IP, IP_MULTICAST_LOOP, on, "IP_MULTICAST_LOOP");
  }
  if (!set) return tl::unexpected(set.error());
  return SendSocket(*std::move(fd), local.family(), *interface);
}

Errc SendSocket::send(net::SocketAddress to, std::span<const std::byte> datagram) noexcept {
  scope(to, interface_);
  const auto sent = ::sendto(fd_.get(), datagram.data(), datagram.size(), MSG_NOSIGNAL, to.get(), to.length);
  if (sent == static_cast<ssize_t>(datagram.size())) return Errc::ok;
  return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == EINTR ? Errc::again : Errc::io;
}

Result<ReceiveSocket> ReceiveSocket::join(net::SocketAddress group, const net::SocketAddress& local) {
  if (group.family() != local.family())
    return fail(Errc::unsupported, "{} is not of the family of {}", net::format_address(group),
                net::format_address(local));
  const auto interface = interface_of(local);
  if (!interface) return tl::unexpected(interface.error());
  auto fd = open_socket(group.family());
  if (!fd) return tl::unexpected(fd.error());
  scope(group, *interface);
  const int on = 1, off = 0;
  // Several members on one host listen at the same port; each receives only the groups that it has joined itself.
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
  // The socket is bound to the group's own address, so the kernel filters out datagrams to others.
  if (bind(fd->get(), group.get(), group.length) != 0)
    return fail_errno(fmt::format("bind {}", net::format_address(group)));
  if (group.family() == AF_INET6) {
    ipv6_mreq request{};
    request.ipv6mr_multiaddr = group.v6().sin6_addr;
    request.ipv6mr_interface = *interface;
    set = set_option(*fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, request, "IPV6_JOIN_GROUP");
  } else {
    ip_mreqn request{};
    request.imr_multiaddr = group.v4().sin_addr;
    request.imr_address = local.v4().sin_addr;
    request.imr_ifindex = static_cast<int>(*interface);
    set = set_option(*fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, request, "IP_ADD_MEMBERSHIP");
  }
  if (!set) return within(net::format_address(group), set.error());
  return ReceiveSocket(*std::move(fd));
}

std::size_t ReceiveSocket::receive(std::span<std::byte> into) noexcept {
  const auto came = ::recv(fd_.get(), into.data(), into.size(), MSG_DONTWAIT);
  return came > 0 ? static_cast<std::size_t>(came) : 0;
}

}  // namespace sumac::multicast
