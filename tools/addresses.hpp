#pragma once
// Which of this machine's addresses others see.
#include <string>

#include "base/result.hpp"

namespace sumac::tools {

struct OwnAddress {
  std::string ip, device;
  bool loopback = false;
  /// "10.0.0.1:0", "[fe80::1]:0"
  std::string with_port(unsigned port) const;
};

/// The address that the kernel would send from to `host` (a name or an address). Nothing is sent.
Result<OwnAddress> address_towards(const std::string& host);

}  // namespace sumac::tools
