#pragma once
// The two roles in the bare tree. A host sends and waits for the echo; a node answers its children when all have sent,
// after its parent has answered it. After each case the hosts' times travel up, combined by the nodes, and the root
// prints them.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bench/bare/link.hpp"

namespace sumac::bare {

/// The messages in which the tree carries a collective (docs/protocol.md, "One vector, five kinds").
enum class Pattern {
  together,   ///< Every host sends the vector and receives one: allreduce, barrier, and all other names.
  reduce,     ///< Like `together`, but the operation ends when the root has the vector.
  bcast,      ///< The root's vector goes to all others; messages that carry no part of it are headers alone.
  allgather,  ///< Like `bcast`, for each host's block one after the other.
};

/// Consecutive ranks: one host, or all hosts below a node.
struct Ranks {
  std::int64_t first = 0, count = 1;
  bool has(int rank) const { return rank >= first && rank < first + count; }
};

struct Case {
  std::string name;
  Pattern pattern = Pattern::together;
  int ranks = 1;          ///< The ranks of the whole tree; only patterns with a root or with blocks read it.
  std::size_t bytes = 0;  ///< The bytes of one operation, per host; allgather: the bytes of all blocks.
  std::size_t chunk = 0;  ///< The payload of one message. In Pattern::together the last one is padded to it.
  std::uint64_t chunks = 1;
  std::uint64_t window = 1;  ///< The messages in flight per host.
  int iterations = 0, warmup = 0;

  int total() const { return iterations + warmup; }
  std::uint64_t messages() const { return chunks * static_cast<std::uint64_t>(total()); }
  /// Returns whether all hosts begin at one moment and share one duration, from that moment until the last host that
  /// counts has ended.
  bool is_one_span() const { return pattern != Pattern::together; }
  int root(int iteration) const { return iteration % ranks; }
  /// Return the lengths of an operation's messages on the link between a node and the ranks below it: contributions
  /// travel up, results travel down. Data of one host go up from that host and down to all others.
  Lengths up(Ranks below, int iteration) const { return lengths(below, iteration, true); }
  Lengths down(Ranks below, int iteration) const { return lengths(below, iteration, false); }

 private:
  Lengths lengths(Ranks below, int iteration, bool up) const;
};

/// The times of one case, first of a host and then combined by each node: [0] the hosts, [1] their processor time, then
/// for each iteration the sum of the durations, or (for one span) the last begin, with the last ends behind all begins.
class Times {
 public:
  explicit Times(const Case& c)
      : of_(&c), values_(2 + static_cast<std::size_t>(c.total()) * (c.is_one_span() ? 2 : 1)) {}
  std::int64_t& hosts() { return values_[0]; }
  std::int64_t& cpu_ns() { return values_[1]; }
  /// Stores the clock at the begin and at the end of an iteration on this host. In one span, 0 means that the host does
  /// not count.
  void note(int iteration, std::int64_t begin_ns, std::int64_t end_ns);
  void add(const Times& other);
  std::vector<double> ms() const;  ///< Returns one duration per iteration, without the warm-up.
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(values_)); }

 private:
  const Case* of_;
  std::vector<std::int64_t> values_;
};

struct Plan {
  std::vector<Case> cases;
  bool spin = false;
  int rank = 0;  ///< The rank of a host; a node has none.
};

Result<> run_host(Link parent, const Plan& plan);
/// If `parent` is empty this is the root, which prints one JSON line per case.
Result<> run_node(std::vector<Link> children, std::optional<Link> parent, const Plan& plan);

}  // namespace sumac::bare
