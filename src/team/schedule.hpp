#pragma once
// The phases of one collective at a rank: first those inside its island, then (at leaders) one between the islands,
// then those that return the result. One description serves the blocking, nonblocking and persistent forms (run.hpp
// steps it). Large collectives are cut into chunks whose phases overlap:
//
//   chunk 0   before  across..................  after
//   chunk 1           before  across..................  after
//   chunk 2                   before  across ...
//
// Every rank of an island runs the phases of all chunks in the same order, whether it leads or not, because a group
// does one thing at a time. The phases before and those after have groups of their own, so younger operations overlap with older
// ones in the same way (operation.cpp).
//
// The root of a reduction comes last inside its own island: its leader first receives the sum of the other islands,
// then contributes that sum instead of its own values, so nothing moves twice. A broadcast is the same in reverse
// order.
#include <array>
#include <cstdint>

#include "coll/operation.hpp"
#include "team/layout.hpp"

namespace sumac::team {

/// The buffer of a phase's bytes. `scratch` has room for the chunks in flight of one operation, `stage` for all blocks of an
/// allgather.
enum class Where : std::uint8_t { none, user_in, user_out, scratch, stage };

/// The purpose of a phase whose buffers parcels.hpp knows.
enum class Errand : std::uint8_t {
  none,
  counts,  ///< v-forms: each member publishes how much it sends to, and receives from, each rank through the leader.
  gather,  ///< Blocks for other islands go to the leader.
  local,   ///< Blocks that stay on the island go from member to member; the scan inside it.
  sum,     ///< The island's sum goes to the leader.
  deal,    ///< Blocks from the other islands, or their sum, go from the leader to their receivers.
};

/// One call on a group of the segment, or among the leaders of the islands.
struct Phase {
  coll::Kind kind = coll::Kind::barrier;
  int group = -1;  ///< Index in Layout::groups; -1 means that the islands' leaders do it.
  int root = 0;    ///< Index in the group, or of an island.
  Where in = Where::none, out = Where::none;
  Errand errand = Errand::none;

  bool operator==(const Phase&) const = default;
};

/// An island has at most the level of its domains and that of their leaders.
inline constexpr std::size_t kPhasesMax = 4;

struct PhaseList {
  std::array<Phase, kPhasesMax> phases{};
  std::uint8_t count = 0;

  void add(const Phase& phase) { phases[count++] = phase; }
};

struct Schedule {
  PhaseList before, after;
  PhaseList meanwhile;  ///< Phases inside the island that run while the leaders' phase is under way.
  Phase across;
  bool goes_across = false;   ///< This rank takes part in `across`.
  bool uses_scratch = false;  ///< Set at a rank that passes sums on and has no buffer of its own for them.
};

/// For barrier, allreduce, reduce and bcast; `root` is a team rank. `by_steps` means level by level inside the island.
/// `in_order`: each island adds its own values before others come in, also the root's.
Schedule schedule(const Layout& layout, coll::Kind kind, int root, bool by_steps, bool in_order);

/// For allgather and allgatherv over several islands: first the island's blocks, then all islands' blocks, then all of
/// it goes back to the members.
Schedule schedule_allgather(const Layout& layout);

/// For pairwise collectives over several islands (`with_counts` for the v-forms): blocks that leave the island go
/// through its leader, one message for each pair of islands, and meanwhile the island's members exchange their own
/// blocks.
Schedule schedule_pairwise(const Layout& layout, bool with_counts);

/// For reduce_scatter_block over several islands: first the island's sum, then either the leaders exchange sums so that
/// every leader adds up its island's part, or (`by_tree`) all leaders get the whole sum; then each member gets its
/// block from the leader.
Schedule schedule_reduce_scatter_block(const Layout& layout, bool by_tree);

/// For scan and exscan over several islands whose ranks follow each other (prefix.hpp).
Schedule schedule_prefix(const Layout& layout, coll::Kind kind);

}  // namespace sumac::team
