#pragma once
// A job may name the ports that it wants to use ("mlx5_1:1"). It then gets only trees whose plane each of its hosts
// reaches by one of those ports. A port is named by its device and its number among the ports that the fabric gives
// that device on that host, from 1.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "topo/named_port.hpp"
#include "topo/tree.hpp"

namespace sumac::topo {

/// Returns the host's named ports (0 its first, then Host::rails); empty: the fabric gives none of its ports such a
/// name.
std::vector<std::uint32_t> ports_named(const Host& host, std::span<const NamedPort> names);

/// Returns the index into `hosts` of the first host whose named ports are all in other planes than the tree; none:
/// every host reaches the tree. A name that the fabric does not know for a host does not restrict it (the fabric may be
/// described without devices).
std::optional<std::size_t> host_without_way(const Fabric& fabric, const AggregationTree& tree,
                                            std::span<const std::uint32_t> hosts, std::span<const NamedPort> names);

}  // namespace sumac::topo
