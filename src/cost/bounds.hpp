#pragma once
// The least time that a collective can take with each method: through aggregation trees, or from host to host. The
// links of the nodes decide whether a tree pays for large messages. A node in a switch has a link for each child. A
// node on a host has one link, over which k children send k vectors; a ring sends 2 (n - 1) / n of a vector and is
// faster from k = 2 on. Several trees share the work: over m spare hosts n / m vectors pass each link, over the n hosts
// themselves as much as in a ring.
//
// The functions take plain numbers and return seconds, for the payload only, without headers and computing. Selection,
// `sumac fabric bounds`, the table of docs/results/bounds.md and the tests all use them.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "coll/collective.hpp"
#include "cost/method.hpp"

namespace sumac::cost {

struct TreeBound {
  /// Rate of a vector through the tree in each direction, when nothing else uses its links. 0: the nodes are at
  /// switches, so only the hosts' ports limit.
  std::uint64_t rate_bits_per_s = 0;
  std::uint64_t delay_ns = 0;      ///< Delay of the links from the farthest host to the root, in one direction.
  std::uint32_t member_nodes = 0;  ///< Nodes of the tree that share the port of a host of the job.
  std::uint32_t levels = 1;        ///< Nodes from the deepest leaf to the root, with both.
};

struct WaysFabric {
  std::uint64_t port_rate_bits_per_s = 0;   ///< Rate of one port of a host; 0: not known, so nothing can be compared.
  std::uint32_t hosts = 0;                  ///< Hosts of the communicator.
  std::uint32_t rails = 1;                  ///< Ports of each host; tree i is on rail i modulo their number.
  std::uint64_t hop_delay_ns = 0;           ///< One-way delay from one host to another.
  std::uint32_t nodes_on_member_hosts = 0;  ///< Nodes of all trees together, each counted once: a node may have a part
                                            ///< in several trees.
  std::vector<TreeBound> trees;
};

/// Estimates the delay from one host to another from the trees: a root in a switch is half as far as another host, a
/// root on a host is as far.
std::uint64_t hop_delay_of(std::span<const TreeBound> trees);

/// The links of the hosts as a machine, for the payload alone: messages, adding and waking count for nothing.
Machine machine_of(const WaysFabric& fabric);

/// The time over all trees, each with a stripe in proportion to its rate. {0, 0} without trees: then they bound
/// nothing.
Line tree_line(const WaysFabric& fabric);
/// The state of the nodes when a small operation comes.
enum class Nodes : std::uint8_t {
  asleep,
  awake,    ///< Its process spins.
  kernels,  ///< No process is needed for small operations (SUMAC_NODE_HOP=auto).
};
/// The time of a small operation through the tree, nodes included: the links alone take tree_line().fixed_s.
double small_seconds(const WaysFabric& fabric, Nodes nodes);
/// The time of a ring: 2 (n - 1) / n x M over all ports, in 2 (n - 1) steps.
Line ring_line(const WaysFabric& fabric);
/// The time of recursive halving and doubling: the bytes of the ring, in 2 log2 n steps. It is the hosts' best method
/// for large messages.
Line halving_line(const WaysFabric& fabric);
/// The time of recursive doubling: log2 n steps with all bytes each.
Line doubling_line(const WaysFabric& fabric);
/// The time when all send to one host, which sends the sum back to all: two steps with n - 1 vectors over its port
/// each. It is the hosts' best method when only delay matters, and as good as a tree on one of them.
Line linear_line(const WaysFabric& fabric);

/// Uses m spare hosts as nodes, each of them root and only node of one tree: n x M / (m x rate), but never less than
/// the time of the hosts' ports.
WaysFabric with_spare_hosts(WaysFabric fabric, std::uint32_t spares);
/// Uses m of the hosts themselves as nodes: with m = n as good as a ring.
WaysFabric with_nodes_on_hosts(WaysFabric fabric, std::uint32_t nodes);
/// Uses one tree for each rail, with nodes at switches; the root is half as far from a host as another host.
WaysFabric with_nodes_at_switches(WaysFabric fabric);

/// One method that the hosts have without a tree.
struct OwnWay {
  const char* name;
  Line line;
};
/// Returns the hosts' best methods for a collective without a tree; empty: they have none that could be faster for
/// large ones. `bytes` of a line are those of the vector; of an allgather and a reduce_scatter those of all blocks
/// together.
std::vector<OwnWay> own_ways(const WaysFabric& fabric, coll::Kind kind);

inline constexpr std::int64_t kNoLimit = INT64_MAX;

/// Returns the largest operation of this kind for which no method of the hosts' own is faster. kNoLimit: the trees
/// always win, or the known numbers do not decide. Every kind passes a tree as an allreduce does: one vector over each
/// link, in each direction.
std::int64_t tree_bytes_max(const WaysFabric& fabric, coll::Kind kind = coll::Kind::allreduce);
/// Returns the threshold: the largest operation of this kind that selection gives to the tree. For one that fits into
/// one message the delay decides, and there the tree is faster; more than `in_flight` it cannot hold.
std::int64_t tree_limit(const WaysFabric& fabric, coll::Kind kind, std::int64_t one_message, std::int64_t in_flight);

/// Returns one line for people: "16 MiB: trees 8948 ms, ring of 8 hosts 3915 ms; beyond 12 KiB the hosts' own
/// algorithms are faster, recursive doubling first".
std::string explain(const WaysFabric& fabric);

/// Returns "128 B", "12 KiB" or "16 MiB", rounded for people.
std::string bytes_text(std::uint64_t bytes);

}  // namespace sumac::cost
