#pragma once
// Each rule that keeps recovery right has a name here, as the tree's guards have (guard.hpp). In the product keeps() is
// true. In the library that only the explorer links one rule can be broken, and `sumac-explore --check` shows for
// each that some order of events then goes wrong.
#include <cstddef>
#include <cstdint>

namespace sumac::proto::recovery {

enum class Rule : std::uint8_t {
  retain_a_window,          ///< A member keeps a result until a window of numbers behind it is closed.
  window_from_low,          ///< A new epoch counts its window from the lowest number that anybody still needs.
  older_is_unheard,         ///< Messages of older epochs are not heard.
  verdict_has_mask,         ///< A number that a survivor can supply completes, also behind the first one that fails.
  verdict_travels,          ///< A verdict is announced to later epochs.
  lost_reduce_fails,        ///< A reduce below the verdict whose result is lost fails at its root.
  void_without_supplier,    ///< An epoch in which a supplier died decides nothing.
  closed_goes_alone,        ///< The closed count goes down without a result when somebody may wait for it.
  leave_when_done,          ///< A member leaves behind its last number.
  departed_had_all,         ///< A member that has left is no reason to wait, since everybody had everything.
  move_again,               ///< After a broken link the peer is told again which epoch there is.
  dead_root_is_skipped,     ///< An epoch whose root is dead is passed over.
  return_when_all_stand,    ///< Nobody goes to a group on a new tree before all stand in it.
  return_holds,             ///< A member that has said how many operations it has begun begins no other.
  return_at_the_most,       ///< The old group ends behind every operation that anybody has begun.
  return_after_leave,       ///< Nothing is under way in the new group before everybody has everything of the old one.
  chunk_stays_two_windows,  ///< A stream's result is not kept while two windows of the same stream follow it.
  lock_keeps_its_answer,    ///< A lock that the tree has denied to one member is denied to all.
  lock_begins_operation,    ///< An operation that asks for the lock has begun: the old group does it.
  unlock_ends_operation,    ///< The last operation of a batch ends with the unlock, behind which the group may be left.
  count
};
/// The rules below this one are those of machines without data, in which the explorer tries every order.
inline constexpr std::size_t kExplored = static_cast<std::size_t>(Rule::return_after_leave);
inline constexpr std::size_t kRuleCount = static_cast<std::size_t>(Rule::count);

const char* to_string(Rule rule) noexcept;  ///< Returns the name, such as "retain_a_window".

#ifdef SUMAC_PROTO_MUTABLE
inline int broken_rule = -1;  ///< One of Rule, or -1.
inline bool keeps(Rule rule) noexcept { return static_cast<int>(rule) != broken_rule; }
#else
constexpr bool keeps(Rule) noexcept { return true; }
#endif

}  // namespace sumac::proto::recovery
