#pragma once
// Which way a collective goes, and why: a pure function of what all ranks know alike. shm's own table (shm::Tuning)
// then says which algorithm serves a size inside a host.
#include <cstdint>
#include <string>
#include <string_view>

#include "coll/operation.hpp"
#include "team/options.hpp"

namespace sumac::team {

/// SUMAC_WAY_* of team.h, in that order.
enum class Way : std::uint8_t { host, leaders, tree, pass };
inline constexpr std::size_t kWays = 4;

/// The way between hosts that takes it: none, the caller's own collectives, or the tree.
enum class Across : std::uint8_t { none, next, tree };

/// Why this way. One sentence each in words_for().
enum class Why : std::uint8_t {
  one_host,   ///< All at once in shared memory.
  by_socket,  ///< Socket by socket: fewer lines cross between sockets.
  too_large_by_socket,
  crowded,
  across_tree,
  across_next,
  disabled,
  by_leaders,    ///< Pairwise over several hosts, blocks small enough for one message per pair of hosts.
  some_direct,   ///< The v-forms: the same block by block.
  no_hierarchy,  ///< Pairwise over several hosts, large blocks: what leaders could save is less than what they add.
  no_across,
  nothing_inside,  ///< One rank per island and MPI's own collective across: that is the next module.
  too_many_bytes,  ///< Counts that no int holds together.
};

struct Shape {
  int islands = 1;
  int island_size_max = 1;
  bool has_steps = false;  ///< The island has several sockets.
  bool crowded = false;    ///< More ranks than processors on the host.
  /// Largest block of an alltoall(v) that goes by the islands' leaders; 0: none. exchange_limit() has it.
  std::size_t exchange_max = 0;
};

struct Question {
  coll::Kind kind = coll::Kind::barrier;
  std::size_t bytes = 0;  ///< Call::bytes; allgatherv: of the largest block.
  bool disabled = false;
  Steps steps = Steps::automatic;
  Across across = Across::none;
};

struct Choice {
  Way way = Way::pass;
  bool by_steps = false;  ///< Level by level inside the island.
  Why why = Why::disabled;

  bool operator==(const Choice&) const = default;
};

/// Larger ones have all ranks of an island meet at once: then bytes count, not the lines that cross between sockets.
/// Not measured, for no machine of two sockets was at hand: half of shm's eager buffer.
inline constexpr std::size_t kStepBytesMax = 4096;

Choice choose(const Shape& shape, const Question& question);

/// What a leader has of all its island's alltoall blocks at a time, at most: beyond it the limit of a block comes down.
inline constexpr std::size_t kExchangeBytesMax = std::size_t{64} << 20;

/// Shape::exchange_max for teams of `ranks`, from what the options say.
std::size_t exchange_limit(std::size_t wanted, int island_size_max, int ranks);

std::string_view words_for(Why why);

/// "host", "leaders", "tree", "pass".
std::string_view to_string(Way way);

}  // namespace sumac::team
