#pragma once
// Datagrams to many at once: one socket that sends to any multicast address, and one for each address that is listened to. Nothing
// here blocks, and nobody learns whether a datagram came: what is sent so also goes another way.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/private_fd.hpp"
#include "net/address.hpp"

namespace sumac::net {

/// As messages carry it: IPv6, or IPv4 as ::ffff:a.b.c.d; in the order of the network.
using WireAddress = std::array<std::uint8_t, 16>;
WireAddress to_wire(const SocketAddress& address) noexcept;
SocketAddress from_wire(const WireAddress& address, std::uint16_t port) noexcept;

bool is_multicast(const SocketAddress& address) noexcept;
/// The k-th of the addresses that begin at `base`: its last 16 bits are replaced by k.
SocketAddress nth_address(SocketAddress base, std::uint16_t k) noexcept;

class MulticastSender {
 public:
  /// From the interface that has the address `local`, over at most `hops` networks. Members on this host hear it as well.
  static Result<MulticastSender> open(const SocketAddress& local, int hops);
  int family() const noexcept { return family_; }
  /// Errc::ok; again: no room at the moment, it is lost; io: this network does not carry it (errno says why).
  Errc send(SocketAddress to, std::span<const std::byte> datagram) noexcept;

 private:
  MulticastSender(PrivateFd fd, int family, unsigned interface)
      : fd_(std::move(fd)), family_(family), interface_(interface) {}
  PrivateFd fd_;
  int family_;
  unsigned interface_;
};

class MulticastReceiver {
 public:
  /// Listens to `group` on the interface that has the address `local`. Other processes of this host may do the same.
  static Result<MulticastReceiver> join(SocketAddress group, const SocketAddress& local);
  /// The next datagram; 0: none is there. One that is longer than `into` comes cut: give one byte more than is legal.
  std::size_t receive(std::span<std::byte> into) noexcept;
  int fd() const noexcept { return fd_.get(); }

 private:
  explicit MulticastReceiver(PrivateFd fd) : fd_(std::move(fd)) {}
  PrivateFd fd_;
};

}  // namespace sumac::net
