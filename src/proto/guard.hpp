#pragma once
// Each condition that keeps the machines right has a name here. In the product guard() is its condition and nothing
// else. In the library that only the simulator links (sumac_proto_mutable) one of them can be switched off, and
// `sumac-seeds` shows that each removal makes some seed fail: a guard whose removal no seed notices is either dead or
// untested. The same build counts the pairs of state and event that the machines met.
#include <cstddef>
#include <cstdint>

namespace sumac::proto {

enum class Guard : std::uint8_t {
  duplicate,           ///< A child that is in already is not added again.
  answered_again,      ///< A child that asks again for an answered number gets the kept result.
  result_expected,     ///< A result is taken only by the number that waits for it.
  agreement,           ///< Members that differ in operation, type or size are found.
  late_number,         ///< A number that every child has completed is a late copy.
  beyond_window,       ///< A number that an honest child cannot have reached costs the connection.
  kept_until_proof,    ///< A result is kept until every child has shown that it has it.
  resend_up,           ///< A message that the parent did not answer is sent again.
  partial_duplicate,   ///< A partial sum that is in already is not added again.
  whole_sibling,       ///< Reproducible sums are added only to the whole of the sibling in the canonical tree.
  condemned,           ///< Numbers from the verdict on are answered with it, never added up.
  first_verdict,       ///< The first verdict stands.
  trouble_again,       ///< Trouble is sent again until the verdict arrives.
  leave_of_the_gone,   ///< Leave of a group that has left already is answered.
  over_again,          ///< A number of a group that is over is answered with Over.
  closed_has_left,     ///< A child whose link closed counts as having left.
  left_may_close,      ///< A child that has left may close its link without trouble.
  leave_reaches_root,  ///< The tree's root receives the Leave of a group that never reached up to it.
  join_duplicate,      ///< A join that is counted already counts once.
  join_again,          ///< A member that asks again receives again the answer that the group stands.
  join_late,           ///< A join of a group that has left, or of an older one with the same number, forms nothing.
  join_agreement,      ///< Members that state different sizes are refused.
  join_own,            ///< A client joins only with the rank and job of its hello.
  reuse_ends_old,      ///< A newer group with the same number proves that the old one has left.
  refused_up,          ///< A node that refuses informs the nodes above.
  refused_again,       ///< A late join of a refused group is refused like the others.
  pool,                ///< OSTs are reserved only while the job has some.
  same_token,          ///< A repeated Open gets the same id.
  token_over,          ///< An Open whose group has left already takes no new id.
  id_pool,             ///< Ids are given only while the job has some.
  revoked,             ///< A revoked job opens and joins nothing.
  direction,           ///< A child sends only the messages that children send.
  own_group,           ///< A link sends messages only of groups that it joined.
  group_reuse,         ///< A message of a former group with the same number does not belong to this group.
  member_in_turn,      ///< Results complete in order; an early one waits.
  member_late,         ///< A result of a number that is complete already is ignored.
  member_window,       ///< Nobody is more than the window ahead of what it has completed.
  member_resend,       ///< A message that the node did not answer is sent again.
  owed_window,         ///< A result by multicast counts in the window until the link's copy arrives.
  owed_again,          ///< The link's copy is asked for although the result came by multicast.
  multicast_life,      ///< A datagram of another group does not belong to this one.
  verdict_in_turn,     ///< A verdict waits until everything before it is complete.
  ahead_counts_later,  ///< Data of a prompt number that go ahead are not taken for all members of their child.
  rest_goes_up,        ///< A node whose children are all in after the answer tells its parent.
  answered_ahead,      ///< A prompt result goes down before the children have contributed.
  closed_window,       ///< A number that some member has not contributed counts in the window.
  closed_alone,        ///< The closed count goes down alone when no result carries it in time.
  kept_ahead,          ///< A member keeps a prompt result until its own call.
  count
};
inline constexpr std::size_t kGuardCount = static_cast<std::size_t>(Guard::count);

const char* to_string(Guard guard) noexcept;  ///< Returns the name, such as "duplicate".
const char* describe(Guard guard) noexcept;   ///< Returns the sentence beside the enumerator.

enum class Machine : std::uint8_t { node_number, group_life, member_number, membership, open_request, count };

#ifdef SUMAC_PROTO_MUTABLE
inline int disabled_guard = -1;  ///< One of Guard, or -1 when every guard is active.
inline bool guard(Guard id, bool condition) noexcept { return condition && static_cast<int>(id) != disabled_guard; }

inline constexpr std::size_t kStatesMax = 12, kEventsMax = 16;
inline std::uint64_t step_counts[static_cast<std::size_t>(Machine::count)][kStatesMax][kEventsMax]{};
inline void note_step(Machine machine, std::size_t state, std::size_t event) noexcept {
  ++step_counts[static_cast<std::size_t>(machine)][state][event];
}
#else
constexpr bool guard(Guard, bool condition) noexcept { return condition; }
constexpr void note_step(Machine, std::size_t, std::size_t) noexcept {}
#endif

}  // namespace sumac::proto
