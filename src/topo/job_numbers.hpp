#pragma once
// The capacity and the delay of a job's part of a tree, in plain numbers: clients use them in the bounds by which they
// choose a method.
#include <cstdint>

#include "topo/job_tree.hpp"

namespace sumac::topo {

struct JobTreeNumbers {
  /// Bits per second of a vector through the tree, in each direction, when nothing else uses its links: a node with a
  /// link of its own receives every child's vector and its parent's result over it, and a link between switches carries
  /// each stream that crosses it. 0: the hosts' slowest ports are the limit. If only the ports limit the tree, and they
  /// are faster than the hosts' slowest ones, it is their rate.
  std::uint64_t rate_bits_per_s = 0;
  std::uint64_t delay_ns = 0;      ///< In one direction, from the farthest host to the root, over all links.
  std::uint32_t member_nodes = 0;  ///< Nodes that share the link of a host of the job.
};
JobTreeNumbers numbers_of(const Fabric& fabric, const AggregationTree& tree, const JobTree& job);

struct JobHostNumbers {
  std::uint64_t rate_bits_per_s = 0;  ///< The slowest port of the hosts; 0: no limit, or not known.
  std::uint32_t rails = 0;            ///< Ports of the host that has the fewest.
};
JobHostNumbers numbers_of(const Fabric& fabric, std::span<const std::uint32_t> hosts);

}  // namespace sumac::topo
