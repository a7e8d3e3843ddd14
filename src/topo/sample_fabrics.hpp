#pragma once
// Fabrics of any size for tests and measurements: the shapes of real clusters, and shapes that no real cluster has.
#include <cstdint>
#include <string_view>

#include "topo/fabric.hpp"

namespace sumac::topo {

/// Every switch has a node "an-NAME"; hosts are h0, h1, ...; all links run at 100 Gbit/s. This shape has two levels:
/// every leaf is joined with every spine by `parallel` links.
Fabric leaf_spine(std::uint32_t leaves, std::uint32_t spines, std::uint32_t hosts_per_leaf, std::uint32_t parallel = 1);

/// Makes three levels: pods of edge and aggregation switches, all joined; aggregation switch i of each pod is joined
/// with its share of cores.
Fabric fat_tree(std::uint32_t pods, std::uint32_t edges, std::uint32_t aggregations, std::uint32_t cores,
                std::uint32_t hosts_per_edge);

/// Makes a switch at each of 2^dimensions corners.
Fabric hypercube(std::uint32_t dimensions, std::uint32_t hosts_per_corner);

/// Makes a Dragonfly+: groups of leaves and spines, all joined within a group; each pair of groups is joined by one
/// link of spines.
Fabric dragonfly_plus(std::uint32_t groups, std::uint32_t leaves, std::uint32_t spines, std::uint32_t hosts_per_leaf);

/// Makes `planes` leaf-spine fabrics that only the hosts join, with one port in each.
Fabric planes(std::uint32_t planes, std::uint32_t leaves, std::uint32_t spines, std::uint32_t hosts_per_leaf);

/// Makes a connected random fabric: some links are double, some switches have no node, some nodes are on hosts, rates
/// differ.
Fabric random_fabric(std::uint64_t seed);

/// Makes a shape of 10,000 hosts on at most 1,000 switches, by name; an unknown name gives an empty fabric.
Fabric large_fabric(std::string_view shape);
inline constexpr const char* kLargeShapes[] = {"leaf-spine", "fat-tree", "hypercube", "dragonfly-plus"};

}  // namespace sumac::topo
