#pragma once
// Finds the address of this machine by which other machines reach it.
#include <string>

#include "base/result.hpp"

namespace sumac::tools {

struct OwnAddress {
  std::string ip, device;
  bool loopback = false;
  /// Returns "10.0.0.1:0" or "[fe80::1]:0".
  std::string with_port(unsigned port) const;
};

/// Returns the address from which the kernel would send to `host` (a name or an address). Nothing is sent.
Result<OwnAddress> address_towards(const std::string& host);

}  // namespace sumac::tools
