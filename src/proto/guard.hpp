#pragma once
// The conditions that keep the machines right, by name. In the product guard() is its condition and nothing else. In
// the library that only the simulator links (sumac_proto_mutable) one of them can be switched off, and `sumac-seeds`
// shows that each removal makes some seed fail: a guard that nothing misses is either dead or untested. The same
// build notes which pairs of state and event the machines met.
#include <cstddef>
#include <cstdint>

namespace sumac::proto {

enum class Guard : std::uint8_t {
  // A number at a node.
  duplicate,          ///< A child that is in already is not added again.
  answered_again,     ///< A child that asks again for an answered number gets the kept result.
  result_expected,    ///< A result is taken only by the number that waits for it.
  agreement,          ///< Members that differ in operation, type or size are found out.
  late_number,        ///< A number that every child has completed is a late copy.
  beyond_window,      ///< A number that an honest child cannot have reached costs the connection.
  kept_until_proof,   ///< A result is kept until every child has shown that it has it.
  resend_up,          ///< What the parent did not answer is said again.
  partial_duplicate,  ///< A partial sum that is in already is not added again.
  whole_sibling,      ///< Reproducible sums are added only to the whole of the sibling in the canonical tree.
  // Verdict and leave.
  epoch,               ///< Messages of another epoch are not of this group's life.
  condemned,           ///< Numbers from the verdict on are answered with it, never added up.
  first_verdict,       ///< The first verdict stands.
  trouble_again,       ///< Trouble is said again until the verdict is there.
  leave_of_the_gone,   ///< Leave of a group that has left already is answered.
  void_again,          ///< A number of a group that is over is told so.
  closed_has_left,     ///< A child whose link closed counts as having left.
  left_may_close,      ///< A child that has left may close its link without trouble.
  leave_reaches_root,  ///< The tree's root hears of the end of a group that never reached up to it.
  // Joining.
  join_duplicate,  ///< A join that is counted already counts once.
  join_again,      ///< A member that asks again is told again that the group stands.
  join_late,       ///< A join of a group that has left, or of an older one with the same number, forms nothing.
  join_agreement,  ///< Members that tell different sizes are refused.
  join_own,        ///< A client joins only as the rank and job it said hello as.
  reuse_ends_old,  ///< A newer group with the same number proves that the old one has left.
  refused_up,      ///< A node that refuses says so to the nodes above.
  refused_again,   ///< A late join of a refused group is refused like the others.
  pool,            ///< OSTs are reserved only while the job has some.
  // Open.
  same_token,  ///< A repeated Open gets the same id.
  token_over,  ///< An Open whose group has left already takes no new id.
  id_pool,     ///< Ids are given only while the job has some.
  revoked,     ///< A revoked job opens and joins nothing.
  // Links.
  direction,    ///< A child says what children say.
  own_group,    ///< A link speaks only of groups that it joined.
  group_reuse,  ///< A message of a former group with the same number is not this group's.
  // A number at a member.
  member_in_turn,   ///< Results complete in order; an early one waits.
  member_late,      ///< A result of a number that is complete already is ignored.
  member_window,    ///< Nobody is more than the window ahead of what it has completed.
  member_resend,    ///< What the node did not answer is said again.
  member_epoch,     ///< Results of another epoch are not of this group's life.
  owed_window,      ///< What came by multicast counts in the window until the link's copy is here.
  owed_again,       ///< The link's copy is asked for although the result came by multicast.
  multicast_life,   ///< A datagram of another epoch or group is not of this group's life.
  verdict_in_turn,  ///< A verdict waits until everything before it is complete.
  count
};
inline constexpr std::size_t kGuardCount = static_cast<std::size_t>(Guard::count);

const char* to_string(Guard guard) noexcept;  ///< "duplicate"
const char* describe(Guard guard) noexcept;   ///< The sentence beside it.

enum class Machine : std::uint8_t { node_number, group_life, member_number, membership, open_request, count };

#ifdef SUMAC_PROTO_MUTABLE
inline int disabled_guard = -1;  ///< One of Guard, or -1: all stand.
inline bool guard(Guard id, bool condition) noexcept { return condition && static_cast<int>(id) != disabled_guard; }

inline constexpr std::size_t kStatesMax = 12, kEventsMax = 14;
inline std::uint64_t step_counts[static_cast<std::size_t>(Machine::count)][kStatesMax][kEventsMax]{};
inline void note_step(Machine machine, std::size_t state, std::size_t event) noexcept {
  ++step_counts[static_cast<std::size_t>(machine)][state][event];
}
#else
constexpr bool guard(Guard, bool condition) noexcept { return condition; }
constexpr void note_step(Machine, std::size_t, std::size_t) noexcept {}
#endif

}  // namespace sumac::proto
