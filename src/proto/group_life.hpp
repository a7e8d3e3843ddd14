#pragma once
// A group's life at one node: joins are collected and merged, the answer comes down, the group stands, a verdict may
// end it, its members leave. A node that only passes messages of a group (it was refused below, or it leaves below)
// keeps a life for it too. Pure: each state, event and action holds the data that belong to it. The engine
// (node_group.cpp) knows the children, the reservations and the contents of numbers.
#include <cstdint>
#include <optional>
#include <variant>

#include "base/clock.hpp"
#include "base/inline_vec.hpp"
#include "proto/link.hpp"
#include "wire/agg.hpp"

namespace sumac::proto::group_life {

/// A verdict, and the first number that it condemns.
struct Verdict {
  wire::VerdictBody body{};
  Sequence first_failed{};
};

struct Absent {};        ///< Nothing is known of this id.
struct Collecting {};    ///< Some joins have arrived, others are missing.
struct AwaitingJoined {  ///< The merged Join is on its way up.
  Time resend_at = kNever;
};
struct Standing {
  std::optional<wire::TroubleBody> reported;  ///< On its way up; the first report is repeated until the verdict comes.
  Time resend_at = kNever;
};
struct Condemned {  ///< A verdict is known: its members can only leave.
  Verdict verdict;
};
struct Departing {  ///< After a verdict all members have left here, and Leave is on its way up.
  Verdict verdict;
  Time resend_at = kNever;
};
/// The parent was silent: the children know that the group is over, and the parent has yet to learn it.
struct Deserted {
  wire::OverBody why{};
  wire::TroubleBody reported{};
  std::optional<Sequence> leave;  ///< The verdict's number, once the parent has sent one: this node leaves with it.
  Time resend_at = kNever;
};
struct Refusing {  ///< The children are refused; the parent has not yet confirmed that it knows.
  wire::RefusedBody refused;
  Time resend_at = kNever;
};
struct Refused {
  wire::RefusedBody refused;
};
struct Passing {            ///< The group has left, here or below; the tree's root is being informed.
  wire::AggHeader leave;    ///< The Leave that is passed up.
  LinkId from{};            ///< The child that it came from; none: it is this node's own.
  Time resend_at = kNever;  ///< Set when no child will ask again.
};
struct Left {
  std::optional<wire::OverBody> why;  ///< Set when the members did not leave by themselves.
};
using State = std::variant<Absent, Collecting, AwaitingJoined, Standing, Condemned, Departing, Deserted, Refusing,
                           Refused, Passing, Left>;

/// Returns the verdict of a group that has one and has not yet left, otherwise null.
inline const Verdict* verdict_of(const State& state) noexcept {
  if (const auto* s = std::get_if<Condemned>(&state)) return &s->verdict;
  if (const auto* s = std::get_if<Departing>(&state)) return &s->verdict;
  return nullptr;
}

struct Join {
  LinkId from{};
  wire::JoinBody body{};
  bool reproducible = false;    ///< All members below want reproducible sums.
  bool counted = false;         ///< This child's join is counted already.
  bool objected = false;        ///< The join disagrees with the others, or the node has nothing left for the group.
  bool completes = false;       ///< With this join all expected members are in (and OSTs are reserved).
  wire::RefusedBody refused{};  ///< The answer to a join that is objected to, or that comes too late to count.
};
struct JoinedAbove {
  wire::JoinedBody body{};
  bool reproducible = false;
};
struct RefusedAbove {
  wire::RefusedBody refused{};
};
struct RefusedBelow {
  LinkId from{};
  wire::RefusedBody refused{};
};
struct ChildClosed {
  bool had_left = false;
  bool all_left = false;        ///< With this child gone, no child is left to wait for.
  wire::TroubleBody trouble{};  ///< It names the child.
  wire::RefusedBody refused{};
  Sequence first_unanswered{};
};
struct ParentClosed {
  bool leave_under_way = false;  ///< Every Leave has arrived; only the tree's root must still receive it.
  wire::AggHeader leave{};       ///< This node's own Leave, if it is under way.
  wire::RefusedBody refused{};
  wire::OverBody why{};
};
/// The parent may only be late, but this group does not wait: its members go on without the tree.
struct ParentSilent {
  ParentClosed closed{};
  wire::TroubleBody trouble{};  ///< It names this node's lowest rank, for the parent.
};
/// The daemon of a node of the group's tree is gone, but the kernels of all nodes go on: the members' datagrams are answered.
struct DaemonGone {
  wire::OverBody why{};
  wire::TroubleBody trouble{};  ///< It names the lost node, for the parent.
  wire::AggHeader leave{};      ///< The group root's Leave, for the tree's root.
};
struct ParentReady {};  ///< There is a parent again, to which everything unanswered is repeated.
struct OverAbove {      ///< The parent's life of this group is over.
  wire::RefusedBody refused{};
  wire::OverBody why{};
};
struct Trouble {
  LinkId from{};  ///< None: this node itself found it.
  wire::TroubleBody body{};
  Sequence first_unanswered{};
};
struct VerdictAbove {
  Verdict verdict;
};
struct LeaveAfterVerdict {
  bool all_left = false;
};
struct LeaveBelow {  ///< A child node that never joined here passes on the Leave of a whole group.
  LinkId from{};
  wire::AggHeader leave{};
};
struct LeaveAnswered {  ///< The answer comes from the parent, from this node as the tree's root, or from a newer
                        ///< group with the same number.
  Sequence leave{};     ///< The number of this node's own Leave.
  wire::RefusedBody refused{};
};
struct JobOver {  ///< The manager has ended the job, and its members did not leave in time.
  wire::RefusedBody refused{};
  wire::OverBody why{};
};
struct Timeout {};
using Event = std::variant<Join, JoinedAbove, RefusedAbove, RefusedBelow, ChildClosed, ParentClosed, ParentSilent,
                           DaemonGone, ParentReady, OverAbove, Trouble, VerdictAbove, LeaveAfterVerdict, LeaveBelow,
                           LeaveAnswered, JobOver, Timeout>;

struct Limits {
  bool group_root = false;  ///< All members meet here: this node answers numbers and gives the verdict.
  bool tree_root = false;   ///< This node owns the id.
  Duration resend_after{0};
};

struct Ignore {};  ///< The message is a late copy: count it.
struct Count {     ///< Record the join's child.
  LinkId from{};
  wire::JoinBody body{};
  bool reproducible = false;
};
struct JoinUp {};                    ///< Send the merged Join to the parent.
struct Stand {                       ///< Send Joined to all children; OSTs above the minimum return to the job.
  std::optional<JoinedAbove> above;  ///< The parent's answer; none: this node is the group's root, and writes it.
};
struct JoinedOne {  ///< Send Joined to the child that asked again.
  LinkId to{};
};
struct RefuseAll {  ///< Send Refused to all children; OSTs return to the job.
  wire::RefusedBody refused{};
};
struct RefuseOne {
  LinkId to{};
  wire::RefusedBody refused{};
};
struct RefuseUp {
  wire::RefusedBody refused{};
};
struct FreeId {};  ///< Return the id to the pool (tree's root).
struct TroubleUp {
  wire::TroubleBody body{};
  bool again = false;
};
struct VerdictAll {  ///< Send the verdict to all children and forget the numbers that it condemns.
  Verdict verdict;
};
struct VerdictOne {  ///< Send the verdict to one link; to none if this node itself found the trouble.
  LinkId to{};
  Verdict verdict;
};
struct OverAll {  ///< Send the children that the group is over, and forget everything here.
  wire::OverBody why{};
};
struct LeaveUp {
  Sequence leave{};
};
struct LeaveDone {  ///< Send Leave's result to all children and forget everything here.
  Sequence leave{};
};
struct PassUp {  ///< Send the parent the Leave of a group below (or of this one, kept for later).
  wire::AggHeader leave{};
};
struct AnswerLeave {  ///< Send Leave's result to the link that Leave came from; to none if it is this node's own.
  LinkId to{};
  wire::AggHeader leave{};
};
struct NumbersUp {};  ///< Send the parent again every number that waits for its answer.
using Action = std::variant<Ignore, Count, JoinUp, Stand, JoinedOne, RefuseAll, RefuseOne, RefuseUp, FreeId, TroubleUp,
                            VerdictAll, VerdictOne, OverAll, LeaveUp, LeaveDone, PassUp, AnswerLeave, NumbersUp>;
using Actions = InlineVec<Action, 3>;

struct Step {
  State state;
  Actions actions;
};
Step step(const State& state, const Event& event, Time now, const Limits& limits);

}  // namespace sumac::proto::group_life
