#pragma once
// A UDP socket for the datagrams of one peer. Nothing here blocks, and a datagram may be lost without a word.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/private_fd.hpp"
#include "net/address.hpp"

namespace sumac::net {

class DatagramSocket {
 public:
  /// Sends to `peer` from the address `local`, at a port that the system chooses, and receives from `peer` only.
  static Result<DatagramSocket> connect(SocketAddress local, const SocketAddress& peer);
  /// Receives at this address, from anybody.
  static Result<DatagramSocket> bind(const SocketAddress& local);

  std::uint16_t port() const noexcept { return port_; }
  int fd() const noexcept { return fd_.get(); }
  /// To the peer. It may be lost, here too: a full queue or an unreachable port is the network's loss.
  void send(std::span<const std::byte> datagram) noexcept;
  void send_to(const SocketAddress& to, std::span<const std::byte> datagram) noexcept;  ///< The same, without a peer.
  /// Returns the length of the next datagram, or 0 if there is none. A longer one is truncated, so pass one byte more than is
  /// legal. `from`: its sender.
  std::size_t receive(std::span<std::byte> into, SocketAddress* from = nullptr) noexcept;

 private:
  DatagramSocket(PrivateFd fd, std::uint16_t port) noexcept : fd_(std::move(fd)), port_(port) {}
  PrivateFd fd_;
  std::uint16_t port_;
};

}  // namespace sumac::net
