#pragma once
// By which ports of its host a process joins its trees. A list of devices ("mlx5_0:1,mlx5_1:1") comes from the person, the program or the
// host's sharpd; each name is an RDMA adapter's or a network interface's. The routing table says which ports lead to a tree's node; among
// those a process takes one by its channel, so that the channels of a host use different ports of one tree, and different trees
// different ports where several lead to each.
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
  std::string interface;  ///< Of the network, "eth0".
  std::string name;       ///< As the fabric calls it: "mlx5_0:1", or the interface.
  bool is_adapter = false;

  friend bool operator==(const DevicePort&, const DevicePort&) = default;
};

struct DeviceList {
  std::string origin;             ///< For messages to people: "SHARP_COLL_IB_DEV_LIST=mlx5_0:1".
  std::vector<DevicePort> ports;  ///< Empty: the system's choice.

  bool empty() const { return ports.empty(); }
  std::string names() const;  ///< "mlx5_0:1,eth0", what the manager is told.
};

/// Where a list may come from; the first that is not empty counts, and "any" is the system's choice whatever the others say.
struct DeviceWishes {
  std::string_view variable;  ///< SHARP_COLL_IB_DEV_LIST
  std::string_view program;   ///< sharp_coll_config.ib_dev_list
  std::string_view host;      ///< Of sharpd.
  std::string_view network;   ///< SUMAC_NET_DEVICE
};
/// False: nobody names one, so the system chooses.
bool names_devices(const DeviceWishes& wishes);
/// SHARP_COLL_EDEV: a name that is no device of this host (with those that are), one named twice, a port that it does not have.
Outcome<DeviceList> find_devices(const DeviceWishes& wishes, std::span<const net::HostPort> ports);

/// `leads[tree][port]`: whether that port leads to the tree. For each tree the index of the port that the channel uses; -1: none
/// leads there.
std::vector<int> choose_ports(std::span<const std::vector<bool>> leads, std::uint32_t channel);

/// Which ports of the list lead to a node's address ("tcp:10.1.0.5:7000"). All, where the node is on this host (`by_none`: what goes to
/// it leaves by no port) or is none of tcp's.
struct PortWays {
  std::vector<bool> leads;
  bool by_none = false;
};
Outcome<PortWays> ways_to(const DeviceList& devices, std::string_view address);

}  // namespace sumac::client
