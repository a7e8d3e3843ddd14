#include "proto/group_life.hpp"

#include "base/one_of.hpp"
#include "base/result.hpp"
#include "proto/guard.hpp"
#include "proto/resend.hpp"

namespace sumac::proto::group_life {
namespace {

Step ignore(const State& state) { return {state, {Ignore{}}}; }
/// Answers an event that is no message, and changes nothing.
Step stay(const State& state) { return {state, {}}; }

/// Refuses the group to children here and to the nodes above: the rest of the group waits there, and the tree's root
/// has the id. The actions begin with `first`.
Step refuse(Actions first, const wire::RefusedBody& refused, Time now, const Limits& limits) {
  if (limits.tree_root) {
    first.push_back(FreeId{});
    return {Refused{refused}, first};
  }
  if (!guard(Guard::refused_up, true)) return {Refused{refused}, first};
  first.push_back(RefuseUp{refused});
  return {Refusing{refused, resend_time(now, limits.resend_after)}, first};
}

Step take_join(const Join& e, Time now, const Limits& limits) {
  const Count count{e.from, e.body, e.reproducible};
  if (e.objected) return refuse({count, RefuseAll{e.refused}}, e.refused, now, limits);
  if (!e.completes) return {Collecting{}, {count}};
  if (limits.group_root) return {Standing{}, {count, Stand{}}};
  return {AwaitingJoined{resend_time(now, limits.resend_after)}, {count, JoinUp{}}};
}

/// Sends the trouble up, unless an earlier one is on its way.
Step report(const Standing& s, const wire::TroubleBody& body, Time now, const Limits& limits) {
  if (s.reported) return stay(s);
  return {Standing{body, resend_time(now, limits.resend_after)}, {TroubleUp{body}}};
}

Step condemn(const Verdict& verdict) { return {Condemned{verdict}, {VerdictAll{verdict}}}; }

Step leave_done(Sequence leave, const Limits& limits) {
  if (limits.tree_root) return {Left{}, {LeaveDone{leave}, FreeId{}}};
  return {Left{}, {LeaveDone{leave}}};
}

Step depart(const Condemned& s, Time now, const Limits& limits) {
  const Sequence leave = s.verdict.first_failed;
  if (limits.tree_root || (limits.group_root && !guard(Guard::leave_reaches_root, true)))
    return leave_done(leave, limits);
  return {Departing{s.verdict, resend_time(now, limits.resend_after)}, {LeaveUp{leave}}};
}

/// The members have left, and need not wait until the tree is whole again: the node keeps their Leave for the parent.
Step keep_leave(const wire::AggHeader& leave, Time now, const Limits& limits) {
  return {Passing{leave, {}, resend_time(now, limits.resend_after)}, {LeaveDone{leave.sequence}}};
}

/// Returns what the parent of a deserted group has yet to learn.
Action from_deserted(const Deserted& s) {
  if (s.leave) return LeaveUp{*s.leave};
  return TroubleUp{s.reported, true};
}

}  // namespace

Step step(const State& state, const Event& event, Time now, const Limits& limits) {
  note_step(Machine::group_life, state.index(), event.index());
  return std::visit(
      overloaded{
          [&](const Absent&, const Join& e) -> Step { return take_join(e, now, limits); },
          [&](const Collecting& s, const Join& e) -> Step {
            if (guard(Guard::join_duplicate, e.counted)) return ignore(s);
            return take_join(e, now, limits);
          },
          [&](const AwaitingJoined& s, const Join& e) -> Step {
            // The group has one member more than this node expects: this member's path is wrong, and the
            // others' Join is in flight.
            return e.counted ? ignore(s) : Step{s, {RefuseOne{e.from, e.refused}}};
          },
          [&](const Standing& s, const Join& e) -> Step {
            if (!e.counted) return {s, {RefuseOne{e.from, e.refused}}};
            return guard(Guard::join_again, true) ? Step{s, {JoinedOne{e.from}}} : ignore(s);
          },
          [&](const Condemned& s, const Join& e) -> Step {
            if (!e.counted) return {s, {RefuseOne{e.from, e.refused}}};
            if (!guard(Guard::join_again, true)) return ignore(s);
            return {s, {JoinedOne{e.from}, VerdictOne{e.from, s.verdict}}};
          },
          [&]<OneOf<Departing, Deserted> S>(const S& s, const Join&) -> Step { return ignore(s); },
          [&]<OneOf<Refusing, Refused> S>(const S& s, const Join& e) -> Step {
            return guard(Guard::refused_again, true) ? Step{s, {RefuseOne{e.from, s.refused}}} : ignore(s);
          },
          [&](const Passing& s, const Join& e) -> Step {
            return {s, {RefuseOne{e.from, e.refused}}};
          },
          [&](const Left& s, const Join& e) -> Step {
            return guard(Guard::join_late, true) ? ignore(s) : take_join(e, now, limits);
          },

          [&](const AwaitingJoined&, const JoinedAbove& e) -> Step {
            return {Standing{}, {Stand{e}}};
          },
          [&](const Deserted& s, const JoinedAbove&) -> Step {
            return {s, {from_deserted(s)}};
          },
          [&]<OneOf<Absent, Collecting, Standing, Condemned, Departing, Refusing, Refused, Passing, Left> S>(
              const S& s, const JoinedAbove&) -> Step { return ignore(s); },

          [&](const AwaitingJoined&, const RefusedAbove& e) -> Step {
            return {Refused{e.refused}, {RefuseAll{e.refused}}};
          },
          [&](const Refusing& s, const RefusedAbove&) -> Step {
            return {Refused{s.refused}, {}};
          },
          [&](const Deserted& s, const RefusedAbove&) -> Step {
            return {Left{s.why}, {}};
          },
          [&]<OneOf<Absent, Collecting, Standing, Condemned, Departing, Refused, Passing, Left> S>(
              const S& s, const RefusedAbove&) -> Step { return ignore(s); },

          [&](const Absent&, const RefusedBelow& e) -> Step {
            return refuse({RefuseOne{e.from, e.refused}}, e.refused, now, limits);
          },
          [&](const Collecting&, const RefusedBelow& e) -> Step {
            // The sender is not among the children: it never joined.
            return refuse({RefuseAll{e.refused}, RefuseOne{e.from, e.refused}}, e.refused, now, limits);
          },
          [&]<OneOf<AwaitingJoined, Standing, Condemned, Departing, Deserted, Passing, Left> S>(
              const S& s, const RefusedBelow& e) -> Step {
            return {s, {RefuseOne{e.from, e.refused}}};
          },
          [&]<OneOf<Refusing, Refused> S>(const S& s, const RefusedBelow& e) -> Step {
            return {s, {RefuseOne{e.from, s.refused}}};
          },

          [&](const Collecting&, const ChildClosed& e) -> Step {
            return refuse({RefuseAll{e.refused}}, e.refused, now, limits);
          },
          // The nodes above may have answered already: the decision waits for their answer.
          [&](const AwaitingJoined& s, const ChildClosed&) -> Step { return stay(s); },
          [&](const Standing& s, const ChildClosed& e) -> Step {
            // If all have left, the group ends here: if their Leaves carry different numbers, none of them ever
            // completes.
            const bool nobody_is_left = e.all_left && limits.group_root;
            if (guard(Guard::left_may_close, e.had_left && !nobody_is_left)) return stay(s);
            if (limits.group_root) return condemn({e.trouble, e.first_unanswered});
            return report(s, e.trouble, now, limits);
          },
          [&](const Condemned& s, const ChildClosed& e) -> Step {
            return e.all_left ? depart(s, now, limits) : stay(s);
          },
          [&]<OneOf<Absent, Departing, Deserted, Refusing, Refused, Passing, Left> S>(
              const S& s, const ChildClosed&) -> Step { return stay(s); },

          // The Join may never have reached the parent: the parent gets the refusal when it is connected again.
          [&](const AwaitingJoined&, const ParentClosed& e) -> Step {
            return {Refusing{e.refused, resend_time(now, limits.resend_after)},
                    {RefuseAll{e.refused}, RefuseUp{e.refused}}};
          },
          [&](const Standing& s, const ParentClosed& e) -> Step {
            if (!limits.group_root) return {Left{e.why}, {OverAll{e.why}}};
            if (e.leave_under_way) return keep_leave(e.leave, now, limits);
            return stay(s);  // the nodes above carry none of its numbers
          },
          [&](const Condemned& s, const ParentClosed& e) -> Step {
            return limits.group_root ? stay(s) : Step{Left{e.why}, {OverAll{e.why}}};
          },
          [&](const Departing&, const ParentClosed& e) -> Step { return keep_leave(e.leave, now, limits); },
          [&](const Passing& s, const ParentClosed&) -> Step {
            return {s, {AnswerLeave{s.from, s.leave}}};
          },
          [&](const Deserted& s, const ParentClosed&) -> Step {
            return {Left{s.why}, {}};
          },
          [&]<OneOf<Absent, Collecting, Refusing, Refused, Left> S>(const S& s, const ParentClosed&) -> Step {
            return stay(s);
          },

          // The parent has the Join, and counts on this node: it is told when it answers.
          [&](const AwaitingJoined&, const ParentSilent& e) -> Step {
            return {Deserted{e.closed.why, e.trouble, {}, resend_time(now, limits.resend_after)},
                    {RefuseAll{e.closed.refused}}};
          },
          [&](const Standing& s, const ParentSilent& e) -> Step {
            if (!limits.group_root)
              return {Deserted{e.closed.why, e.trouble, {}, resend_time(now, limits.resend_after)},
                      {OverAll{e.closed.why}, TroubleUp{e.trouble}}};
            return e.closed.leave_under_way ? keep_leave(e.closed.leave, now, limits) : stay(s);
          },
          [&](const Departing&, const ParentSilent& e) -> Step { return keep_leave(e.closed.leave, now, limits); },
          [&]<OneOf<Absent, Collecting, Condemned, Deserted, Refusing, Refused, Passing, Left> S>(
              const S& s, const ParentSilent&) -> Step { return stay(s); },

          [&](const Standing&, const DaemonGone& e) -> Step {
            if (limits.tree_root) return {Left{e.why}, {OverAll{e.why}, FreeId{}}};
            if (limits.group_root)
              return {Passing{e.leave, {}, resend_time(now, limits.resend_after)}, {OverAll{e.why}, PassUp{e.leave}}};
            return {Deserted{e.why, e.trouble, {}, resend_time(now, limits.resend_after)},
                    {OverAll{e.why}, TroubleUp{e.trouble}}};
          },
          [&]<OneOf<Absent, Collecting, AwaitingJoined, Condemned, Departing, Deserted, Refusing, Refused, Passing,
                    Left>
                  S>(const S& s, const DaemonGone&) -> Step { return stay(s); },

          [&](const AwaitingJoined& s, const ParentReady&) -> Step {
            return {s, {JoinUp{}}};
          },
          [&](const Standing& s, const ParentReady&) -> Step {
            return {s, {NumbersUp{}}};
          },
          [&](const Departing& s, const ParentReady&) -> Step {
            return {s, {LeaveUp{s.verdict.first_failed}}};
          },
          [&](const Deserted& s, const ParentReady&) -> Step {
            return {s, {from_deserted(s)}};
          },
          [&](const Refusing& s, const ParentReady&) -> Step {
            return {s, {RefuseUp{s.refused}}};
          },
          [&](const Passing& s, const ParentReady&) -> Step {
            return {s, {PassUp{s.leave}}};
          },
          [&]<OneOf<Absent, Collecting, Condemned, Refused, Left> S>(const S& s, const ParentReady&) -> Step {
            return stay(s);
          },

          [&](const AwaitingJoined&, const OverAbove& e) -> Step {
            return {Refused{e.refused}, {RefuseAll{e.refused}}};
          },
          [&]<OneOf<Standing, Condemned> S>(const S& s, const OverAbove& e) -> Step {
            if (limits.group_root) return ignore(s);
            return {Left{e.why}, {OverAll{e.why}}};
          },
          [&](const Departing& s, const OverAbove& e) -> Step {
            return {Left{e.why}, {LeaveDone{s.verdict.first_failed}}};
          },
          [&](const Deserted& s, const OverAbove&) -> Step {
            return {Left{s.why}, {}};
          },
          [&](const Refusing& s, const OverAbove&) -> Step {
            return {Refused{s.refused}, {}};
          },
          [&](const Passing& s, const OverAbove& e) -> Step {
            return {Left{e.why}, {AnswerLeave{s.from, s.leave}}};
          },
          [&]<OneOf<Absent, Collecting, Refused, Left> S>(const S& s, const OverAbove&) -> Step { return ignore(s); },

          [&](const Standing& s, const Trouble& e) -> Step {
            if (limits.group_root) return condemn({e.body, e.first_unanswered});
            return report(s, e.body, now, limits);
          },
          [&](const Condemned& s, const Trouble& e) -> Step {
            if (guard(Guard::first_verdict, true) || !limits.group_root) return {s, {VerdictOne{e.from, s.verdict}}};
            return condemn({e.body, e.first_unanswered});
          },
          [&](const Departing& s, const Trouble& e) -> Step {
            return {s, {VerdictOne{e.from, s.verdict}}};
          },
          [&]<OneOf<Absent, Collecting, AwaitingJoined, Deserted, Refusing, Refused, Passing, Left> S>(
              const S& s, const Trouble&) -> Step { return ignore(s); },

          [&](const Standing&, const VerdictAbove& e) -> Step { return condemn(e.verdict); },
          [&](const Deserted& s, const VerdictAbove& e) -> Step {
            if (s.leave) return ignore(s);
            const Sequence leave = e.verdict.first_failed;
            return {Deserted{s.why, s.reported, leave, resend_time(now, limits.resend_after)}, {LeaveUp{leave}}};
          },
          // The verdict overtook Joined: the first number that a member sends up is answered with it again.
          [&](const AwaitingJoined& s, const VerdictAbove&) -> Step { return ignore(s); },
          [&]<OneOf<Absent, Collecting, Condemned, Departing, Refusing, Refused, Passing, Left> S>(
              const S& s, const VerdictAbove&) -> Step { return ignore(s); },

          [&](const Condemned& s, const LeaveAfterVerdict& e) -> Step {
            return e.all_left ? depart(s, now, limits) : stay(s);
          },
          [&]<OneOf<Absent, Collecting, AwaitingJoined, Standing, Departing, Deserted, Refusing, Refused, Passing, Left>
                  S>(const S& s, const LeaveAfterVerdict&) -> Step { return stay(s); },

          [&](const Absent&, const LeaveBelow& e) -> Step {
            if (limits.tree_root) return {Left{}, {AnswerLeave{e.from, e.leave}, FreeId{}}};
            return {Passing{e.leave, e.from}, {PassUp{e.leave}}};
          },
          [&](const Passing& s, const LeaveBelow& e) -> Step {
            // This node's own Leave counts its members, which have been answered: one that asks again has yet to read it.
            if (s.from == LinkId{}) return {s, {AnswerLeave{e.from, e.leave}}};
            return {Passing{e.leave, e.from, s.resend_at}, {PassUp{e.leave}}};
          },
          [&]<OneOf<Deserted, Refusing, Refused, Left> S>(const S& s, const LeaveBelow& e) -> Step {
            return guard(Guard::leave_of_the_gone, true) ? Step{s, {AnswerLeave{e.from, e.leave}}} : ignore(s);
          },
          // Its own members use numbers; the engine has rejected every other sender.
          [&]<OneOf<Collecting, AwaitingJoined, Standing, Condemned, Departing> S>(
              const S& s, const LeaveBelow&) -> Step { return ignore(s); },

          [&]<OneOf<Standing, Condemned, Departing> S>(const S&, const LeaveAnswered& e) -> Step {
            return leave_done(e.leave, limits);
          },
          [&](const Deserted& s, const LeaveAnswered&) -> Step {
            return {Left{s.why}, {}};
          },
          [&](const Passing& s, const LeaveAnswered&) -> Step {
            return {Left{}, {AnswerLeave{s.from, s.leave}}};
          },
          // A newer group has the number: this one was refused, and the message to this node was lost.
          [&]<OneOf<Collecting, AwaitingJoined> S>(const S&, const LeaveAnswered& e) -> Step {
            return {Refused{e.refused}, {RefuseAll{e.refused}}};
          },
          [&](const Refusing& s, const LeaveAnswered&) -> Step {
            return {Refused{s.refused}, {}};
          },
          [&]<OneOf<Absent, Refused, Left> S>(const S& s, const LeaveAnswered&) -> Step { return stay(s); },

          [&]<OneOf<Collecting, AwaitingJoined> S>(const S&, const JobOver& e) -> Step {
            if (limits.tree_root) return {Refused{e.refused}, {RefuseAll{e.refused}, FreeId{}}};
            return {Refused{e.refused}, {RefuseAll{e.refused}}};
          },
          [&]<OneOf<Standing, Condemned> S>(const S&, const JobOver& e) -> Step {
            if (limits.tree_root) return {Left{e.why}, {OverAll{e.why}, FreeId{}}};
            return {Left{e.why}, {OverAll{e.why}}};
          },
          [&](const Departing& s, const JobOver& e) -> Step {
            return {Left{e.why}, {LeaveDone{s.verdict.first_failed}}};
          },
          [&](const Deserted& s, const JobOver&) -> Step {
            return {Left{s.why}, {}};
          },
          [&](const Refusing& s, const JobOver&) -> Step {
            return {Refused{s.refused}, {}};
          },
          [&](const Passing& s, const JobOver& e) -> Step {
            return {Left{e.why}, {AnswerLeave{s.from, s.leave}}};
          },
          [&]<OneOf<Absent, Refused, Left> S>(const S& s, const JobOver&) -> Step { return stay(s); },

          [&](const AwaitingJoined& s, const Timeout&) -> Step {
            if (now < s.resend_at) return stay(s);
            return {AwaitingJoined{resend_time(now, limits.resend_after)}, {JoinUp{}}};
          },
          [&](const Standing& s, const Timeout&) -> Step {
            if (!s.reported || !guard(Guard::trouble_again, now >= s.resend_at)) return stay(s);
            return {Standing{s.reported, resend_time(now, limits.resend_after)}, {TroubleUp{*s.reported, true}}};
          },
          [&](const Departing& s, const Timeout&) -> Step {
            if (now < s.resend_at) return stay(s);
            return {Departing{s.verdict, resend_time(now, limits.resend_after)}, {LeaveUp{s.verdict.first_failed}}};
          },
          [&](const Deserted& s, const Timeout&) -> Step {
            if (now < s.resend_at) return stay(s);
            return {Deserted{s.why, s.reported, s.leave, resend_time(now, limits.resend_after)}, {from_deserted(s)}};
          },
          [&](const Refusing& s, const Timeout&) -> Step {
            if (now < s.resend_at) return stay(s);
            return {Refusing{s.refused, resend_time(now, limits.resend_after)}, {RefuseUp{s.refused}}};
          },
          [&](const Passing& s, const Timeout&) -> Step {
            if (now < s.resend_at) return stay(s);
            return {Passing{s.leave, s.from, resend_time(now, limits.resend_after)}, {PassUp{s.leave}}};
          },
          [&]<OneOf<Absent, Collecting, Condemned, Refused, Left> S>(const S& s, const Timeout&) -> Step {
            return stay(s);
          },
      },
      state, event);
}

}  // namespace sumac::proto::group_life
