#pragma once
// Which trees a job may have that names the ports it wants to use ("mlx5_1:1"): those whose plane each of its hosts reaches by one of
// them. A port is named by its device and its number among the ports that the fabric gives that device on that host, from 1.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "topo/named_port.hpp"
#include "topo/tree.hpp"

namespace sumac::topo {

/// The host's ports (0 its first, then Host::rails) that are named; empty: the fabric gives none of its ports such a name.
std::vector<std::uint32_t> ports_named(const Host& host, std::span<const NamedPort> names);

/// Index into `hosts` of the first whose named ports are all in other planes than the tree; none: they all have a way. Names that
/// the fabric does not know for a host say nothing about it (a fabric described without devices).
std::optional<std::size_t> host_without_way(const Fabric& fabric, const AggregationTree& tree,
                                            std::span<const std::uint32_t> hosts, std::span<const NamedPort> names);

}  // namespace sumac::topo
