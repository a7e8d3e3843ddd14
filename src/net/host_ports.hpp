#pragma once
// The ports by which this host reaches others, under the names that people give them: a network interface's own ("eth0"), and the one
// of its RDMA adapter ("mlx5_0", port 1), if it belongs to one. Which of them lead to an address is the kernel's routing table's word.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "net/address.hpp"

namespace sumac::net {

struct HostPort {
  std::string interface;   ///< "eth0"
  std::string adapter;     ///< "mlx5_0"; empty: it has no RDMA adapter.
  std::uint32_t port = 1;  ///< Of the adapter.

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

/// One for each of `interfaces`, in their order; adapters are looked up below `sysfs` ("/sys").
std::vector<HostPort> ports_of(std::span<const std::string> interfaces, const std::string& sysfs);
/// Of this host, by its interfaces' numbers.
Result<std::vector<HostPort>> host_ports();

/// Whether a packet that leaves by this interface finds its way to the address. Sends nothing.
Result<bool> leads_to(std::string_view interface, const SocketAddress& to);

}  // namespace sumac::net
