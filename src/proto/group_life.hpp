#pragma once
// A group's life at one node: joins are collected and merged, the answer comes down, the group stands, a verdict may
// end it, its members leave. A node that only passes messages of a group (it was refused below, or it leaves below)
// keeps a life for it too. Pure: the engine (node_group.cpp) knows the children, the reservations and the contents of
// numbers.
#include <cstdint>
#include <variant>

#include "base/clock.hpp"
#include "base/inline_vec.hpp"
#include "wire/agg.hpp"

namespace sumac::proto::group_life {

struct Absent {  ///< Nothing is known of this id.
  friend bool operator==(const Absent&, const Absent&) = default;
};
struct Collecting {  ///< Some joins have arrived, others are missing.
  friend bool operator==(const Collecting&, const Collecting&) = default;
};
struct AwaitingJoined {  ///< The merged Join is on its way up.
  Time resend_at = kNever;
  friend bool operator==(const AwaitingJoined&, const AwaitingJoined&) = default;
};
struct Standing {
  friend bool operator==(const Standing&, const Standing&) = default;
};
struct Condemned {  ///< A verdict is known: its members can only leave.
  friend bool operator==(const Condemned&, const Condemned&) = default;
};
struct Departing {  ///< After a verdict all members have left here, and Leave is on its way up.
  Time resend_at = kNever;
  friend bool operator==(const Departing&, const Departing&) = default;
};
struct Refusing {  ///< The children are refused; the parent has not yet confirmed that it knows.
  Time resend_at = kNever;
  friend bool operator==(const Refusing&, const Refusing&) = default;
};
struct Refused {
  friend bool operator==(const Refused&, const Refused&) = default;
};
struct Passing {            ///< The group has left, here or below; the tree's root is being informed.
  Time resend_at = kNever;  ///< Set when no child will ask again.
  friend bool operator==(const Passing&, const Passing&) = default;
};
struct Left {
  friend bool operator==(const Left&, const Left&) = default;
};
using State =
    std::variant<Absent, Collecting, AwaitingJoined, Standing, Condemned, Departing, Refusing, Refused, Passing, Left>;

struct Join {
  bool counted = false;    ///< This child's join is counted already.
  bool objected = false;   ///< The join disagrees with the others, or the node has nothing left for the group.
  bool completes = false;  ///< With this join all expected members are in (and OSTs are reserved).
};
struct JoinedAbove {};
struct RefusedAbove {};
struct RefusedBelow {};
struct ChildClosed {
  bool had_left = false;
  bool all_left = false;  ///< With this child gone, no child is left to wait for.
};
struct ParentClosed {
  bool leave_under_way = false;  ///< Every Leave has arrived; only the tree's root must still receive it.
};
struct VoidAbove {};  ///< The parent's life of this group is over.
struct Trouble {};
struct VerdictAbove {};
struct LeaveAfterVerdict {
  bool all_left = false;
};
struct LeaveBelow {};     ///< A child node that never joined here passes on the Leave of a whole group.
struct LeaveAnswered {};  ///< The answer comes from the parent, from this node as the tree's root, or from a newer
                          ///< group with the same number.
struct JobOver {};        ///< The manager has ended the job, and its members did not leave in time.
struct Timeout {};
using Event = std::variant<Join, JoinedAbove, RefusedAbove, RefusedBelow, ChildClosed, ParentClosed, VoidAbove, Trouble,
                           VerdictAbove, LeaveAfterVerdict, LeaveBelow, LeaveAnswered, JobOver, Timeout>;

struct Limits {
  bool group_root = false;  ///< All members meet here: this node answers numbers and gives the verdict.
  bool tree_root = false;   ///< This node owns the id.
  Duration resend_after{0};
};

enum class Action : std::uint8_t {
  count,       ///< Record the join's child.
  join_up,     ///< Send the merged Join to the parent.
  stand,       ///< Send Joined to all children; OSTs above the minimum return to the job.
  joined_one,  ///< Send Joined to the child that asked again.
  refuse_all,  ///< Send Refused to all children; OSTs return to the job.
  refuse_one,  ///< Send Refused to the link that sent the message.
  refuse_up,   ///< Send Refused to the parent.
  free_id,     ///< Return the id to the pool (tree's root).
  trouble_up,
  verdict_all,  ///< Decide at the group's root. Then, at every node, send the verdict to all children and forget
                ///< numbers from F on.
  verdict_one,  ///< Send the verdict to the link that sent the message.
  void_all,     ///< End the children's epoch and forget everything here.
  leave_up,
  leave_done,    ///< Send Leave's result to all children and forget everything here.
  tell_later,    ///< Keep the message that pass_up sends when there is a parent again.
  pass_up,       ///< Send the parent the Leave of a group below (or of this one, kept for later).
  pass_down,     ///< Send Leave's result to the link that Leave came from.
  answer_leave,  ///< Send Leave's result to the link that sent the message.
  ignore,
};
using Actions = InlineVec<Action, 3>;

struct Step {
  State state;
  Actions actions;
};
Step step(const State& state, const Event& event, Time now, const Limits& limits);

}  // namespace sumac::proto::group_life
