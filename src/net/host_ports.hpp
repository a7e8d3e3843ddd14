#pragma once
// The ports by which this host reaches others, under the names that people use: the network interface's own name
// ("eth0"), and that of its RDMA adapter ("mlx5_0", port 1) if it belongs to one. The kernel's routing table decides
// which of them lead to an address.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "net/address.hpp"

namespace sumac::net {

struct HostPort {
  std::string interface;   ///< The name of the interface, such as "eth0".
  std::string adapter;     ///< The name of its RDMA adapter, such as "mlx5_0"; empty if it has none.
  std::uint32_t port = 1;  ///< The number of the adapter's port.

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

/// Returns one port for each of `interfaces`, in their order; adapters are looked up below `sysfs` ("/sys").
std::vector<HostPort> ports_of(std::span<const std::string> interfaces, const std::string& sysfs);
/// Returns the ports of this host, ordered by the numbers of their interfaces.
Result<std::vector<HostPort>> host_ports();

/// True if a packet that leaves by this interface has a route to the address. It sends nothing.
Result<bool> leads_to(std::string_view interface, const SocketAddress& to);

}  // namespace sumac::net
