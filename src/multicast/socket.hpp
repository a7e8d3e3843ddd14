#pragma once
// Multicast datagrams: one socket that sends to any multicast address, and one socket per address that is listened to.
// Nothing here blocks. The sender does not learn whether a datagram arrived, so the same data is always sent by other
// means too.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/private_fd.hpp"
#include "net/address.hpp"

namespace sumac::multicast {

/// An address in messages: IPv6, or IPv4 as ::ffff:a.b.c.d, in network byte order.
using WireAddress = std::array<std::uint8_t, 16>;
WireAddress to_wire(const net::SocketAddress& address) noexcept;
net::SocketAddress from_wire(const WireAddress& address, std::uint16_t port) noexcept;

bool is_multicast(const net::SocketAddress& address) noexcept;
/// Returns the k-th of the addresses that begin at `base`: k replaces the last 16 bits.
net::SocketAddress nth_address(net::SocketAddress base, std::uint16_t k) noexcept;

class SendSocket {
 public:
  /// Sends from the interface that has the address `local`, over at most `hops` networks. Members on this host receive
  /// it as well.
  static Result<SendSocket> open(const net::SocketAddress& local, int hops);
  int family() const noexcept { return family_; }
  /// Returns Errc::ok; again: the kernel has no memory at the moment, so the datagram is lost; io: this network does
  /// not carry it (errno has the reason).
  Errc send(net::SocketAddress to, std::span<const std::byte> datagram) noexcept;

 private:
  SendSocket(PrivateFd fd, int family, unsigned interface)
      : fd_(std::move(fd)), family_(family), interface_(interface) {}
  PrivateFd fd_;
  int family_;
  unsigned interface_;
};

class ReceiveSocket {
 public:
  /// Listens to `group` on the interface that has the address `local`. Other processes of this host may do the same.
  static Result<ReceiveSocket> join(net::SocketAddress group, const net::SocketAddress& local);
  /// Returns the length of the next datagram, or 0 if there is none. A datagram longer than `into` is truncated, so
  /// pass one byte more than is legal.
  std::size_t receive(std::span<std::byte> into) noexcept;
  int fd() const noexcept { return fd_.get(); }

 private:
  explicit ReceiveSocket(PrivateFd fd) : fd_(std::move(fd)) {}
  PrivateFd fd_;
};

}  // namespace sumac::multicast
