#pragma once
// What a rank does in one collective, as a list of phases: first those inside its island, then (leaders) one across,
// then those that bring the result back. One description serves blocking, nonblocking and persistent forms (run.hpp
// steps it), and large collectives are cut into chunks whose phases overlap:
//
//   chunk 0   before  across..................  after
//   chunk 1           before  across..................  after
//   chunk 2                   before  across ...
//
// Every rank of an island takes the phases of all chunks in the same order, whether it leads or not, because a group
// does one thing at a time: before(0), before(1), after(0), before(2), after(1), ... for two chunks in flight.
//
// The root of a reduction is served last inside its own island: its leader first gets what the other islands have, then
// contributes that sum in the place of its own values, so nothing moves twice. Broadcast is the same read backwards.
#include <array>
#include <cstdint>

#include "coll/operation.hpp"
#include "team/layout.hpp"

namespace sumac::team {

/// Where the bytes of a phase lie. `scratch` has room for the chunks in flight; `stage` for all blocks of an allgather.
enum class Where : std::uint8_t { none, user_in, user_out, scratch, stage };

/// What a phase of a pairwise collective or of reduce_scatter_block moves; where its blocks lie is said by parcels.hpp.
enum class Errand : std::uint8_t {
  none,
  counts,  ///< The v-forms: all members learn how much each one sends to, and gets from, every rank by the leader.
  gather,  ///< What goes to other islands, to the leader.
  local,   ///< What stays on the island, from member to member.
  sum,     ///< The island's sum, to the leader.
  deal,    ///< What came from the other islands, from the leader to its receivers.
};

/// One call on a group of the segment.
struct Phase {
  coll::Kind kind = coll::Kind::barrier;
  std::int16_t group = -1;  ///< Number in Layout::groups.
  std::int16_t root = 0;    ///< Index in the group.
  Where in = Where::none, out = Where::none;
  Errand errand = Errand::none;

  bool operator==(const Phase&) const = default;
};

/// An island has its sockets' level and their leaders' level at most.
inline constexpr std::size_t kPhasesMax = 4;

struct PhaseList {
  std::array<Phase, kPhasesMax> phases{};
  std::uint8_t count = 0;

  void add(const Phase& phase) { phases[count++] = phase; }
};

/// The phase among the leaders.
struct AcrossPhase {
  bool takes_part = false;
  coll::Kind kind = coll::Kind::barrier;
  int root = 0;  ///< Island.
  Where in = Where::none, out = Where::none;
};

struct Schedule {
  PhaseList before, after;
  PhaseList meanwhile;  ///< Inside the island, while the leaders' phase is on its way.
  AcrossPhase across;
  bool uses_scratch = false;  ///< A rank that passes sums on and has no buffer of its own for them.
};

/// Barrier, allreduce, reduce and bcast; `root` is a team rank. `by_steps`: level by level inside the island.
Schedule schedule(const Layout& layout, coll::Kind kind, int root, bool by_steps);

/// Allgather and allgatherv over several islands: the island's blocks, then all islands' blocks, then all of it back.
Schedule schedule_allgather(const Layout& layout);

/// Pairwise collectives over several islands, `with_counts` the v-forms: what leaves the island goes by its leader, one message for
/// each pair of islands, and meanwhile the island's own blocks change hands.
Schedule schedule_pairwise(const Layout& layout, bool with_counts);

/// Reduce_scatter_block over several islands: the island's sum, then either the sums change hands so that every leader
/// adds up what its island is to get, or (`by_tree`) all leaders get the whole; then everybody's block from the leader.
Schedule schedule_reduce_scatter_block(const Layout& layout, bool by_tree);

}  // namespace sumac::team
