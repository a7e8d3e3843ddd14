#pragma once
// The least time that a collective can take each way: through aggregation trees, or from host to host. Whether a tree pays for large
// messages is decided by its nodes' links: a node in a switch has a link for each child; a node on a host has one, over which k
// children send k vectors, and a ring, 2 (n - 1) / n of a vector, is faster then from k = 2 on. Several trees share the work: over m
// spare hosts n / m vectors pass each link, over the n hosts themselves as much as in a ring.
//
// Plain numbers in, seconds out; payload only, headers and computing excluded. Selection, `sumac fabric bounds`, the table of
// docs/crossover.md and the tests all ask these functions.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "coll/collective.hpp"

namespace sumac::topo {

struct TreeBound {
  /// What a vector passes the tree with, each way, when nothing else uses its links; 0: nodes at switches, only the hosts' ports limit.
  std::uint64_t rate_bits_per_s = 0;
  std::uint64_t delay_ns = 0;      ///< Links from the farthest host to the root, one way.
  std::uint32_t member_nodes = 0;  ///< Of its nodes, how many share the port of a host of the job.
};

struct WaysFabric {
  std::uint64_t port_rate_bits_per_s = 0;   ///< Of one port of a host; 0: not known, so nothing can be compared.
  std::uint32_t hosts = 0;                  ///< Of the communicator.
  std::uint32_t rails = 1;                  ///< Ports of each host; tree i is on rail i modulo their number.
  std::uint64_t hop_delay_ns = 0;           ///< From one host to another, one way.
  std::uint32_t nodes_on_member_hosts = 0;  ///< Of all trees together, each once: one may have a part in several trees.
  std::vector<TreeBound> trees;
};

/// From one host to another, as far as the trees tell: a root in a switch is half way, one on a host is as far as another host.
std::uint64_t hop_delay_of(std::span<const TreeBound> trees);

/// A time that grows with the bytes as a line: `fixed_s` + `per_byte_s` x bytes.
struct Line {
  double fixed_s = 0, per_byte_s = 0;
  double at(std::uint64_t bytes) const { return fixed_s + per_byte_s * static_cast<double>(bytes); }
};

/// Over all trees, each with a stripe in proportion to what passes it. No tree: nothing is bound by it, {0, 0}.
Line tree_line(const WaysFabric& fabric);
/// 2 (n - 1) / n x M over all ports, in 2 (n - 1) steps.
Line ring_line(const WaysFabric& fabric);
/// Recursive halving and doubling: the bytes of the ring, in 2 log2 n steps. What the hosts do best with large messages.
Line halving_line(const WaysFabric& fabric);
/// Recursive doubling: log2 n steps with all bytes each.
Line doubling_line(const WaysFabric& fabric);
/// All to one, which sends the sum back to all: two steps, n - 1 vectors over its port each. What they do best where delay is all: as
/// good as a tree on one of them.
Line linear_line(const WaysFabric& fabric);

/// m spare hosts as nodes, each of them root and only node of one tree: n x M / (m x rate), but never less than the hosts' ports take.
WaysFabric with_spare_hosts(WaysFabric fabric, std::uint32_t spares);
/// The same on m of the hosts themselves: with m = n as good as a ring.
WaysFabric with_nodes_on_hosts(WaysFabric fabric, std::uint32_t nodes);
/// One tree for each rail, with nodes at switches; the root is half the way from host to host.
WaysFabric with_nodes_at_switches(WaysFabric fabric);

/// One way of the hosts' own.
struct OwnWay {
  const char* name;
  Line line;
};
/// The best ways that hosts have for a collective by themselves; none: the hosts have nothing that could be faster for large ones.
/// `bytes` of a line are those of the vector; of an allgather and a reduce_scatter those of all blocks together.
std::vector<OwnWay> own_ways(const WaysFabric& fabric, coll::Kind kind);

inline constexpr std::int64_t kNoLimit = INT64_MAX;

/// Largest operation of this kind that no way of the hosts' own is faster with; kNoLimit: the trees win, or what is known doesn't say who
/// does. Every kind passes a tree as an allreduce does: one vector over each link, each way.
std::int64_t tree_bytes_max(const WaysFabric& fabric, coll::Kind kind = coll::Kind::allreduce);

/// "16 MiB: trees 8948 ms, ring of 8 hosts 3915 ms; beyond 12 KiB the hosts' own algorithms are faster, recursive doubling first"; one line, for people.
std::string explain(const WaysFabric& fabric);

/// "128 B", "12 KiB", "16 MiB", rounded to what a person reads.
std::string bytes_text(std::uint64_t bytes);

}  // namespace sumac::topo
