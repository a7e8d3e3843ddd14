#include "cost/bounds.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace sumac::cost {
namespace {

constexpr std::uint64_t kLarge = std::uint64_t{16} << 20;  ///< The size that explain() compares.
constexpr double kEqual = 1.001;  ///< Nodes on all hosts take exactly the time of a ring: rounding must not make them
                                  ///< differ.

/// The time that a node's process needs for a small message, awake and from sleep (two virtual cores, 2026-11-20), and a kernel for one
/// with its part of the copies (make hop, node-price).
constexpr double kAwakeSeconds = 10e-6, kAsleepSeconds = 70e-6, kKernelSeconds = 1e-6;

double in_seconds(std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

double rails_of(const WaysFabric& fabric) { return std::max(1u, fabric.rails); }
double port_rate(const WaysFabric& fabric) { return static_cast<double>(fabric.port_rate_bits_per_s); }

/// Returns the seconds for each byte of a vector that passes this tree alone.
double alone(const WaysFabric& fabric, const TreeBound& tree) {
  return std::max(byte_seconds(static_cast<double>(tree.rate_bits_per_s)), byte_seconds(port_rate(fabric)));
}

}  // namespace

std::uint64_t hop_delay_of(std::span<const TreeBound> trees) {
  const auto at_switch = [](const TreeBound& tree) { return tree.rate_bits_per_s == 0; };
  const bool any = std::ranges::any_of(trees, at_switch);
  std::uint64_t least = 0;
  for (const auto& tree : trees) {
    if (any && !at_switch(tree)) continue;
    const auto hop = any ? 2 * tree.delay_ns : tree.delay_ns;
    least = least == 0 ? hop : std::min(least, hop);
  }
  return least;
}

Line tree_line(const WaysFabric& fabric) {
  if (fabric.trees.empty()) return {};
  double speed = 0;  // bytes per second through all trees
  std::uint32_t member_parts = 0;
  Line found;
  for (const auto& tree : fabric.trees) {
    const double cost = alone(fabric, tree);
    if (cost > 0) speed += 1 / cost;
    member_parts += tree.member_nodes;
    found.fixed_s = std::max(found.fixed_s, 2 * in_seconds(tree.delay_ns));
  }
  if (speed == 0) return found;
  // A node that has a part in several trees carries them all over its one link.
  const double parts = fabric.nodes_on_member_hosts == 0
                           ? 1
                           : std::max(1.0, static_cast<double>(member_parts) / fabric.nodes_on_member_hosts);
  std::vector<double> rail_share(std::max(1u, fabric.rails));
  for (std::size_t i = 0; i < fabric.trees.size(); ++i) {
    const auto& tree = fabric.trees[i];
    const double share = 1 / alone(fabric, tree) / speed;
    rail_share[i % rail_share.size()] += share;
    double cost = share * byte_seconds(static_cast<double>(tree.rate_bits_per_s));
    // The host whose port the node shares sends the other stripes to the other trees over the same port.
    if (tree.member_nodes > 0) cost = parts * cost + (1 - share) * byte_seconds(port_rate(fabric) * rails_of(fabric));
    found.per_byte_s = std::max(found.per_byte_s, cost);
  }
  for (const double share : rail_share)
    found.per_byte_s = std::max(found.per_byte_s, share * byte_seconds(port_rate(fabric)));
  return found;
}

double small_seconds(const WaysFabric& fabric, Nodes nodes) {
  double most = 0;
  for (const auto& tree : fabric.trees) {
    const auto levels = std::max(1u, tree.levels);
    const Method method = through_nodes(levels, 0, nodes == Nodes::kernels);
    const Machine machine{.trip_s = in_seconds(tree.delay_ns) / levels + (nodes == Nodes::kernels ? kKernelSeconds : 0),
                          .wake_s = nodes == Nodes::asleep ? kAsleepSeconds : kAwakeSeconds};
    most = std::max(most, seconds(method, machine));
  }
  return most;
}

Machine machine_of(const WaysFabric& fabric) {
  const double byte = byte_seconds(port_rate(fabric) * rails_of(fabric));
  return {.trip_s = in_seconds(fabric.hop_delay_ns),
          .message_s = 0,
          .per_byte_s = byte,
          .mesh_byte_s = byte,
          .short_byte_s = byte};
}

Line halving_line(const WaysFabric& fabric) { return line(halving(fabric.hosts, 1), machine_of(fabric)); }
Line ring_line(const WaysFabric& fabric) { return line(ring(fabric.hosts, 1), machine_of(fabric)); }
Line doubling_line(const WaysFabric& fabric) { return line(doubling(fabric.hosts, 1), machine_of(fabric)); }
Line linear_line(const WaysFabric& fabric) { return line(to_one_and_back(fabric.hosts, 1), machine_of(fabric)); }

WaysFabric with_spare_hosts(WaysFabric fabric, std::uint32_t spares) {
  const auto rate = fabric.port_rate_bits_per_s * std::max(1u, fabric.rails) / std::max(1u, fabric.hosts);
  fabric.trees.assign(spares, {rate, fabric.hop_delay_ns, 0});
  fabric.nodes_on_member_hosts = 0;
  return fabric;
}

WaysFabric with_nodes_on_hosts(WaysFabric fabric, std::uint32_t nodes) {
  // The contribution of the node's own host does not pass its link.
  const auto children = std::max(1u, fabric.hosts - std::min(fabric.hosts, 1u));
  const auto rate = fabric.port_rate_bits_per_s * std::max(1u, fabric.rails) / children;
  fabric.trees.assign(nodes, {rate, fabric.hop_delay_ns, 1});
  fabric.nodes_on_member_hosts = nodes;
  return fabric;
}

WaysFabric with_nodes_at_switches(WaysFabric fabric) {
  fabric.trees.assign(std::max(1u, fabric.rails), {0, fabric.hop_delay_ns / 2, 0});
  fabric.nodes_on_member_hosts = 0;
  return fabric;
}

std::vector<OwnWay> own_ways(const WaysFabric& fabric, coll::Kind kind) {
  using coll::Kind;
  const std::uint32_t n = fabric.hosts;
  const Machine machine = machine_of(fabric);
  switch (kind) {
    case Kind::allreduce:
      return {{"recursive halving", halving_line(fabric)},
              {"recursive doubling", doubling_line(fabric)},
              {"all to one and back", linear_line(fabric)}};
    case Kind::bcast:
    case Kind::reduce:
      return {{"a chain of hosts", line(chain(n, 1), machine)},
              {"a binomial tree of hosts", line(binomial(n, 1), machine)},
              {"one host for all", line(star(n, 1), machine)},
              {"scatter and gather", line(2 * half(n, 1), machine)}};
    case Kind::allgather:
    case Kind::allgatherv: return {{"recursive doubling", line(half(n, 1), machine)}};
    case Kind::reduce_scatter_block: return {{"recursive halving", line(half(n, 1), machine)}};
    default: return {};
  }
}

namespace {

/// The largest size up to which no method of the hosts' own is faster, and the method that is faster beyond it.
struct Crossover {
  std::int64_t bytes = kNoLimit;
  const char* to = "";
};

Crossover crossover(const WaysFabric& fabric, coll::Kind kind) {
  if (fabric.hosts < 2 || fabric.trees.empty() || fabric.port_rate_bits_per_s == 0) return {};
  const Line by_tree = tree_line(fabric);
  double most = static_cast<double>(kNoLimit);
  const char* to = "";
  for (const auto& [name, own] : own_ways(fabric, kind)) {
    if (by_tree.per_byte_s <= own.per_byte_s * kEqual) continue;  // the tree may lose in delay but not in bytes
    const double here = std::max(0.0, (own.fixed_s - by_tree.fixed_s) / (by_tree.per_byte_s - own.per_byte_s));
    if (here >= most) continue;
    most = here;
    to = name;
  }
  if (most >= static_cast<double>(kNoLimit)) return {};
  return {static_cast<std::int64_t>(most), to};
}

}  // namespace

std::int64_t tree_bytes_max(const WaysFabric& fabric, coll::Kind kind) { return crossover(fabric, kind).bytes; }

std::int64_t tree_limit(const WaysFabric& fabric, coll::Kind kind, std::int64_t one_message, std::int64_t in_flight) {
  return std::min(in_flight, std::max(one_message, tree_bytes_max(fabric, kind)));
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.3g} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.4g} MiB", static_cast<double>(bytes) / (1024 * 1024));
}

std::string explain(const WaysFabric& fabric) {
  if (fabric.trees.empty()) return "no tree";
  if (fabric.port_rate_bits_per_s == 0)
    return "the rate of the hosts' ports is not known: tree and hosts are not compared";
  const auto [most, to] = crossover(fabric, coll::Kind::allreduce);
  const auto numbers =
      fmt::format("{}: {} {:.1f} ms, ring of {} hosts {:.1f} ms", bytes_text(kLarge),
                  fabric.trees.size() == 1 ? "tree" : fmt::format("{} trees", fabric.trees.size()),
                  tree_line(fabric).at(kLarge) * 1e3, fabric.hosts, ring_line(fabric).at(kLarge) * 1e3);
  if (most == kNoLimit) return numbers + "; the tree does not lose at any size";
  return fmt::format("{}; beyond {} the hosts' own algorithms are faster, {} first", numbers,
                     bytes_text(static_cast<std::uint64_t>(most)), to);
}

}  // namespace sumac::cost
