#pragma once
// Finds the address of this machine by which other machines reach it: the one from which the kernel would send to them.
#include <string>

#include "base/result.hpp"
#include "net/address.hpp"

namespace sumac::net {

struct OwnAddress {
  SocketAddress address;  ///< Its port is 0.
  std::string device;     ///< The interface that has the address; empty if none has.
  bool loopback = false;

  /// Returns "10.0.0.1" or "fe80::1%eth0".
  std::string ip() const;
};

/// Returns the address from which the kernel would send to `host` (a name or an address). Nothing is sent. A name is
/// looked up, which may take many seconds: Errc::interrupted as soon as `interrupt_fd` is readable.
Result<OwnAddress> address_towards(const std::string& host, int interrupt_fd = -1);

}  // namespace sumac::net
