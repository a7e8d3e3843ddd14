#pragma once
// Chooses a collective's way and the reason for it: a pure function of values that all ranks know. The table of shm
// (shm::Tuning) then selects the algorithm for a size inside a host.
#include <cstdint>
#include <string>
#include <string_view>

#include "coll/operation.hpp"
#include "team/options.hpp"

namespace sumac::team {

/// SUMAC_WAY_* of team.h, in that order.
enum class Way : std::uint8_t { host, leaders, tree, pass };

/// The carrier between hosts: none, the caller's own collectives, or the tree.
enum class Across : std::uint8_t { none, next, tree };

/// The reason for the choice; words_for() has one sentence for each.
enum class Why : std::uint8_t {
  one_host,   ///< All ranks meet at once in shared memory.
  by_domain,  ///< Domain by domain, so fewer lines cross between NUMA nodes or sockets.
  too_large_by_domain,
  crowded,
  across_tree,
  across_next,
  across_network,
  disabled,
  next_is_faster,  ///< Both were timed in the program's own calls (comparison.hpp).
  by_leaders,      ///< Pairwise over several hosts, blocks small enough for one message per pair of hosts.
  all_direct,      ///< Pairwise over several hosts without a next module, large blocks.
  some_direct,     ///< The v-forms: the same decision block by block.
  no_hierarchy,    ///< Pairwise over several hosts, large blocks: leaders would add more work than they save.
  no_across,
  nothing_inside,  ///< One rank per island and MPI's own collective between them: that is what the next module does.
  by_values,       ///< A sum whose bits must not vary, and what is between the hosts adds in an order of its own.
  scattered,  ///< A scan where the ranks of a host do not follow each other: its sum is no part of anyone's result.
  too_many_bytes,  ///< The counts in bytes do not fit into an int.
};

/// Returns what carriers between hosts start for a collective: an allgather is an allgatherv there, since islands have
/// blocks of different sizes, and so are the islands' sums of a scan. Leaders do a reduce_scatter as a
/// reduce_scatter_block.
constexpr coll::Kind started_across(coll::Kind kind) noexcept {
  if (kind == coll::Kind::reduce_scatter) return coll::Kind::reduce_scatter_block;
  return kind == coll::Kind::allgather || coll::collective(kind).is_prefix ? coll::Kind::allgatherv : kind;
}
/// True if each rank keeps a block of the sum.
constexpr bool scatters_sums(coll::Kind kind) noexcept {
  return started_across(kind) == coll::Kind::reduce_scatter_block;
}
/// The fold that goes with it: none if the carrier does not add.
constexpr const coll::Fold* fold_across(coll::Kind kind, const coll::Fold* fold) noexcept {
  return coll::collective(started_across(kind)).reduces ? fold : nullptr;
}

struct Shape {
  int islands = 1;
  int island_size_max = 1;
  bool has_steps = false;      ///< The island has several domains.
  bool is_canonical = false;   ///< Layout::is_canonical.
  bool is_contiguous = false;  ///< Layout::is_contiguous.
  bool has_next = true;        ///< There is a next module that does what the team passes on.
  bool crowded = false;        ///< There are more ranks than processors on the host.
  /// The largest block of an alltoall(v) that goes through the islands' leaders; 0: none. exchange_limit() computes it.
  std::size_t exchange_max = 0;
};

struct Question {
  coll::Kind kind = coll::Kind::barrier;
  std::size_t bytes = 0;  ///< As in coll::Operation; allgatherv: the bytes of the largest block.
  bool disabled = false;
  Steps steps = Steps::automatic;
  Across across = Across::none;
  bool in_order = false;           ///< A reduction that must add along the canonical tree of the team's ranks.
  bool adds_canonically = false;   ///< `across` adds along the canonical tree of the leaders.
  bool values_can_travel = false;  ///< Something gathers all ranks' values between hosts.
};

/// The promise of a reduction about its bits.
enum class Sums : std::uint8_t {
  in_any_order,
  in_order,  ///< Add along the canonical tree of the team's ranks.
  by_values,  ///< The same where nothing between the hosts does: the values travel, and ranks add them (ordered_sum.hpp).
};

struct Choice {
  Way way = Way::pass;
  bool by_steps = false;  ///< Level by level inside the island.
  Why why = Why::disabled;
  Sums sums = Sums::in_any_order;

  bool operator==(const Choice&) const = default;
};

/// For larger messages all ranks of an island meet at once, because then the bytes count and not the lines that cross
/// between domains. The value is half of shm's eager buffer; it was not measured, for lack of a machine with two
/// NUMA nodes or sockets.
inline constexpr std::size_t kStepBytesMax = 4096;

Choice choose(const Shape& shape, const Question& question);

/// The most bytes of alltoall blocks that a leader holds for its island at a time; to stay below it, the limit of a
/// block is reduced.
inline constexpr std::size_t kExchangeBytesMax = std::size_t{64} << 20;

/// Returns Shape::exchange_max for teams of `ranks`, computed from the options.
std::size_t exchange_limit(std::size_t wanted, int island_size_max, int ranks);

std::string_view words_for(Why why);

/// "host", "leaders", "tree", "pass".
std::string_view to_string(Way way);

}  // namespace sumac::team
