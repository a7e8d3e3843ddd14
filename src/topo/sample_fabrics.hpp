#pragma once
// Fabrics of any size for tests and measurements: the shapes that clusters have, and shapes that nobody would build.
#include <cstdint>
#include <string_view>

#include "topo/fabric.hpp"

namespace sumac::topo {

/// Every switch has a node "an-NAME"; hosts are h0, h1, ...; all links run at 100 Gbit/s.
/// Two levels: every leaf joined with every spine by `parallel` links.
Fabric leaf_spine(std::uint32_t leaves, std::uint32_t spines, std::uint32_t hosts_per_leaf, std::uint32_t parallel = 1);

/// Three levels: pods of edge and aggregation switches, all joined; aggregation switch i of each pod with its share of cores.
Fabric fat_tree(std::uint32_t pods, std::uint32_t edges, std::uint32_t aggregations, std::uint32_t cores,
                std::uint32_t hosts_per_edge);

/// A switch at each of 2^dimensions corners.
Fabric hypercube(std::uint32_t dimensions, std::uint32_t hosts_per_corner);

/// Dragonfly+: groups of leaves and spines, all joined within a group; each pair of groups is joined by one link of spines.
Fabric dragonfly_plus(std::uint32_t groups, std::uint32_t leaves, std::uint32_t spines, std::uint32_t hosts_per_leaf);

/// `planes` leaf-spine fabrics that only the hosts join, with one port in each.
Fabric planes(std::uint32_t planes, std::uint32_t leaves, std::uint32_t spines, std::uint32_t hosts_per_leaf);

/// Connected, else without plan: some links double, some switches without node, some nodes on hosts, rates that differ.
Fabric random_fabric(std::uint64_t seed);

/// A shape of 10,000 hosts on at most 1,000 switches, by name; for an unknown name a fabric without anything.
Fabric large_fabric(std::string_view shape);
inline constexpr const char* kLargeShapes[] = {"leaf-spine", "fat-tree", "hypercube", "dragonfly-plus"};

}  // namespace sumac::topo
