#pragma once
// A group's life at one node: joins are collected and merged, the answer comes back, the group stands, perhaps a
// verdict ends it, its members leave. Also the lives of a group that this node only hears of: refused below, or
// leaving below. Pure: who the children are, what is reserved and what the numbers hold is the engine's
// (node_group.cpp).
#include <cstdint>
#include <variant>

#include "base/clock.hpp"
#include "base/inline_vec.hpp"
#include "wire/agg.hpp"

namespace sumac::proto::group_life {

struct Absent {  ///< Nothing was ever heard of this id.
  friend bool operator==(const Absent&, const Absent&) = default;
};
struct Collecting {  ///< Some joins are in, others are missing.
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
struct Departing {  ///< After a verdict all have left here, and Leave is on its way up.
  Time resend_at = kNever;
  friend bool operator==(const Departing&, const Departing&) = default;
};
struct Refusing {  ///< Refused to the children; the parent has not yet said that it knows.
  Time resend_at = kNever;
  friend bool operator==(const Refusing&, const Refusing&) = default;
};
struct Refused {
  friend bool operator==(const Refused&, const Refused&) = default;
};
struct Passing {            ///< The group has left, here or below; the tree's root is being told.
  Time resend_at = kNever;  ///< Set where no child will ask again.
  friend bool operator==(const Passing&, const Passing&) = default;
};
struct Left {
  friend bool operator==(const Left&, const Left&) = default;
};
using State =
    std::variant<Absent, Collecting, AwaitingJoined, Standing, Condemned, Departing, Refusing, Refused, Passing, Left>;

struct Join {
  bool counted = false;    ///< This child's join is in already.
  bool objected = false;   ///< It disagrees, or the node has nothing left: no group.
  bool completes = false;  ///< With it all expected members are in (and OSTs are reserved).
};
struct JoinedAbove {};
struct RefusedAbove {};
struct RefusedBelow {};
struct ChildClosed {
  bool had_left = false;
  bool all_left = false;  ///< With it nobody is left to wait for.
};
struct ParentClosed {
  bool leave_under_way = false;  ///< Everybody's Leave is in, and only the tree's root has still to hear of it.
};
struct VoidAbove {};  ///< The parent's life of this group is over.
struct Trouble {};
struct VerdictAbove {};
struct LeaveAfterVerdict {
  bool all_left = false;
};
struct LeaveBelow {};     ///< Leave of a whole group from a child node that never joined here.
struct LeaveAnswered {};  ///< By the parent, by this node as the tree's root, or by a newer group with the same number.
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
  count,       ///< Note the join's child.
  join_up,     ///< The merged Join, to the parent.
  stand,       ///< Joined to all children; OSTs above the least go back.
  joined_one,  ///< Joined to the child that asked again.
  refuse_all,  ///< Refused to all children; OSTs go back.
  refuse_one,  ///< Refused to the link that spoke.
  refuse_up,   ///< Refused to the parent.
  free_id,     ///< The id returns to the pool (tree's root).
  trouble_up,
  verdict_all,  ///< At the group's root: decide. Then, everywhere: to all children; numbers from F on are forgotten.
  verdict_one,  ///< To the link that spoke.
  void_all,     ///< The children's epoch is over; everything here is forgotten.
  leave_up,
  leave_done,    ///< Leave's result to all children; everything here is forgotten.
  tell_later,    ///< Note what pass_up has to say when there is a parent again.
  pass_up,       ///< Leave of a group below (or of this one, told later), to the parent.
  pass_down,     ///< Its result, to the link that it came from.
  answer_leave,  ///< Leave's result to the link that spoke.
  ignore,
};
using Actions = InlineVec<Action, 3>;

struct Step {
  State state;
  Actions actions;
};
Step step(const State& state, const Event& event, Time now, const Limits& limits);

}  // namespace sumac::proto::group_life
