#pragma once
// Chooses the ports of its host through which a process joins its trees. A list of devices ("mlx5_0:1,mlx5_1:1") comes
// from the user, the program or the host's sharpd; each name is that of an RDMA adapter or a network interface. The
// routing table says which ports lead to a tree's node. Among those a process selects one by its channel, so that the
// channels of a host use different ports of one tree; if several ports lead to each tree, different trees use different
// ports.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/status.hpp"
#include "net/host_ports.hpp"

namespace sumac::client {

inline constexpr std::size_t kDevicesInListMax = 16;

/// One port of a list.
struct DevicePort {
  std::string interface;  ///< The network interface, such as "eth0".
  std::string name;       ///< The fabric's name for it: "mlx5_0:1", or the interface.
  bool is_adapter = false;

  friend bool operator==(const DevicePort&, const DevicePort&) = default;
};

struct DeviceList {
  std::string origin;             ///< For messages to users: "SHARP_COLL_IB_DEV_LIST=mlx5_0:1".
  std::vector<DevicePort> ports;  ///< Empty: the system chooses.

  bool empty() const { return ports.empty(); }
  /// The program's list names adapters, as pasted command lines do, and this host has none: the system chooses.
  bool is_stood_in_for() const { return ports.empty() && !origin.empty(); }
  std::string names() const;  ///< "mlx5_0:1,eth0": the form that the manager receives.
};

/// The sources of a list; the first that is not empty counts, and "any" leaves the choice to the system whatever the
/// others say.
struct DeviceRequests {
  std::string_view variable;  ///< SHARP_COLL_IB_DEV_LIST
  std::string_view program;   ///< sharp_coll_config.ib_dev_list
  std::string_view host;      ///< From sharpd.
  std::string_view network;   ///< SUMAC_NET_DEVICE
};
/// Returns false if no source names a device, so the system chooses.
bool names_devices(const DeviceRequests& requests);
/// SHARP_COLL_EDEV: a name that is no device of this host (the text lists those that are), a device named twice, or a
/// port that the device does not have.
Outcome<DeviceList> find_devices(const DeviceRequests& requests, std::span<const net::HostPort> ports);

/// `leads[tree][port]` says whether that port leads to the tree. Returns for each tree the index of the port that the
/// channel uses; -1 if none leads there.
std::vector<int> choose_ports(std::span<const std::vector<bool>> leads, std::uint32_t channel);

/// The ports of the list that lead to a node's address ("tcp:10.1.0.5:7000"): all of them if the node is on this host
/// (`by_none`: its messages leave by no port) or if the address is not one of tcp's.
struct PortWays {
  std::vector<bool> leads;
  bool by_none = false;
};
Outcome<PortWays> ways_to(const DeviceList& devices, std::string_view address);

/// Names the port by which the system reaches a node's address, for a line to the user.
std::string port_towards(std::string_view address);

}  // namespace sumac::client
