#include "net/datagram_socket.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace sumac::net {

Result<DatagramSocket> DatagramSocket::bind(const SocketAddress& local) {
  PrivateFd fd = PrivateFd::from([&] { return socket(local.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
  if (!fd) return fail_errno("datagram socket");
  if (::bind(fd.get(), local.get(), local.length) != 0) return fail_errno("bind " + format_address(local));
  SocketAddress bound;
  bound.length = sizeof bound.storage;
  if (getsockname(fd.get(), bound.get(), &bound.length) != 0) return fail_errno("datagram socket");
  return DatagramSocket(std::move(fd), bound.port());
}

Result<DatagramSocket> DatagramSocket::connect(SocketAddress local, const SocketAddress& peer) {
  local.set_port(0);
  auto made = bind(local);
  if (!made) return made;
  if (::connect(made->fd(), peer.get(), peer.length) != 0) return fail_errno("datagrams to " + format_address(peer));
  return made;
}

namespace {

void send_by(int fd, const sockaddr* to, socklen_t length, std::span<const std::byte> datagram) noexcept {
  // An error may be an earlier datagram's; this one goes then.
  for (int i = 0; i < 2; ++i)
    if (::sendto(fd, datagram.data(), datagram.size(), MSG_NOSIGNAL, to, length) >= 0 || errno == EAGAIN) return;
}

}  // namespace

void DatagramSocket::send(std::span<const std::byte> datagram) noexcept { send_by(fd_.get(), nullptr, 0, datagram); }

void DatagramSocket::send_to(const SocketAddress& to, std::span<const std::byte> datagram) noexcept {
  send_by(fd_.get(), to.get(), to.length, datagram);
}

std::size_t DatagramSocket::receive(std::span<std::byte> into, SocketAddress* from) noexcept {
  for (int i = 0; i < 2; ++i) {
    SocketAddress sender;
    sender.length = sizeof sender.storage;
    const auto bytes = ::recvfrom(fd_.get(), into.data(), into.size(), MSG_TRUNC, sender.get(), &sender.length);
    if (bytes >= 0) {
      if (from != nullptr) *from = sender;
      return std::min(static_cast<std::size_t>(bytes), into.size());
    }
    if (errno == EAGAIN) return 0;
  }
  return 0;
}

}  // namespace sumac::net
