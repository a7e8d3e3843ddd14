#pragma once
// The two parts in the bare tree. A host sends and waits for the echo; a node answers its children when all have sent, after its
// parent has answered it. After each case the hosts' times travel up, put together by the nodes, and the root prints them.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bench/bare/link.hpp"

namespace sumac::bare {

/// What the tree carries of a collective, message for message (docs/protocol.md, "One vector, five kinds").
enum class Pattern {
  together,   ///< Every host sends the vector and gets one: allreduce, barrier, and all other names.
  reduce,     ///< The same, and what counts is when the root has it.
  bcast,      ///< The root's vector goes to all others; messages that carry nothing of it are headers alone.
  allgather,  ///< The same for each host's block in turn.
};

/// Consecutive ranks: a host, or all hosts below a node.
struct Ranks {
  std::int64_t first = 0, count = 1;
  bool has(int rank) const { return rank >= first && rank < first + count; }
};

struct Case {
  std::string name;
  Pattern pattern = Pattern::together;
  int ranks = 1;          ///< Of the whole tree; only patterns with a root or blocks ask.
  std::size_t bytes = 0;  ///< Of one operation, per host; allgather: of all blocks.
  std::size_t chunk = 0;  ///< Payload of one message. In Pattern::together the last one is filled up to it.
  std::uint64_t chunks = 1;
  std::uint64_t window = 1;  ///< The messages in flight per host.
  int iterations = 0, warmup = 0;

  int total() const { return iterations + warmup; }
  std::uint64_t messages() const { return chunks * static_cast<std::uint64_t>(total()); }
  /// All hosts begin at one moment, and the time is one for all of them, from there to the last one that counts.
  bool is_one_span() const { return pattern != Pattern::together; }
  int root(int iteration) const { return iteration % ranks; }
  /// The messages of one operation between a node and what is below it: contributions on their way up, results on theirs down. What
  /// is one host's own goes up from it and down to all others.
  Lengths up(Ranks below, int iteration) const { return lengths(below, iteration, true); }
  Lengths down(Ranks below, int iteration) const { return lengths(below, iteration, false); }

 private:
  Lengths lengths(Ranks below, int iteration, bool up) const;
};

/// Per case, by rank and then by node: [0] hosts, [1] their processor time, then for each iteration its duration summed up, or (of
/// one span) the last begin and behind all of these the last end.
class Times {
 public:
  explicit Times(const Case& c)
      : of_(&c), values_(2 + static_cast<std::size_t>(c.total()) * (c.is_one_span() ? 2 : 1)) {}
  std::int64_t& hosts() { return values_[0]; }
  std::int64_t& cpu_ns() { return values_[1]; }
  /// Clocks at the beginning and the end of an iteration at this host; 0: of one span, and it does not count.
  void note(int iteration, std::int64_t begin_ns, std::int64_t end_ns);
  void add(const Times& other);
  std::vector<double> ms() const;  ///< By iteration, without the warm-up.
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(values_)); }

 private:
  const Case* of_;
  std::vector<std::int64_t> values_;
};

struct Plan {
  std::vector<Case> cases;
  bool spin = false;
  int rank = 0;  ///< Of a host.
};

Result<> run_host(Link parent, const Plan& plan);
/// If `parent` is empty this is the root, which prints one JSON line per case.
Result<> run_node(std::vector<Link> children, std::optional<Link> parent, const Plan& plan);

}  // namespace sumac::bare
