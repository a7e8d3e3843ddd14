#include "proto/group_life.hpp"

#include "base/one_of.hpp"
#include "base/result.hpp"
#include "proto/guard.hpp"
#include "proto/resend.hpp"

namespace sumac::proto::group_life {
namespace {

Step ignore(const State& state) { return {state, {Action::ignore}}; }

/// Refuses the group to all children here and to the nodes above: the rest of the group waits there, and the tree's
/// root has the id.
Step refuse(Action whom, Time now, const Limits& limits) {
  if (limits.tree_root) return {Refused{}, {whom, Action::free_id}};
  if (!guard(Guard::refused_up, true)) return {Refused{}, {whom}};
  return {Refusing{resend_time(now, limits.resend_after)}, {whom, Action::refuse_up}};
}

Step take_join(const Join& e, Time now, const Limits& limits) {
  if (e.objected) {
    Step refused = refuse(Action::refuse_all, now, limits);
    Actions actions{Action::count};
    for (const auto action : refused.actions) actions.push_back(action);
    return {refused.state, actions};
  }
  if (!e.completes) return {Collecting{}, {Action::count}};
  if (limits.group_root) return {Standing{}, {Action::count, Action::stand}};
  return {AwaitingJoined{resend_time(now, limits.resend_after)}, {Action::count, Action::join_up}};
}

Step depart(Time now, const Limits& limits) {
  if (limits.tree_root) return {Left{}, {Action::leave_done, Action::free_id}};
  if (limits.group_root && !guard(Guard::leave_reaches_root, true)) return {Left{}, {Action::leave_done}};
  return {Departing{resend_time(now, limits.resend_after)}, {Action::leave_up}};
}

Step leave_done(const Limits& limits) {
  if (limits.tree_root) return {Left{}, {Action::leave_done, Action::free_id}};
  return {Left{}, {Action::leave_done}};
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
            return e.counted ? ignore(s) : Step{s, {Action::refuse_one}};
          },
          [&](const Standing& s, const Join& e) -> Step {
            if (!e.counted) return {s, {Action::refuse_one}};
            return guard(Guard::join_again, true) ? Step{s, {Action::joined_one}} : ignore(s);
          },
          [&](const Condemned& s, const Join& e) -> Step {
            if (!e.counted) return {s, {Action::refuse_one}};
            return guard(Guard::join_again, true) ? Step{s, {Action::joined_one, Action::verdict_one}} : ignore(s);
          },
          [&](const Departing& s, const Join&) -> Step { return ignore(s); },
          [&]<OneOf<Refusing, Refused> S>(const S& s, const Join&) -> Step {
            return guard(Guard::refused_again, true) ? Step{s, {Action::refuse_one}} : ignore(s);
          },
          [&](const Passing& s, const Join&) -> Step {
            return {s, {Action::refuse_one}};
          },
          [&](const Left& s, const Join& e) -> Step {
            return guard(Guard::join_late, true) ? ignore(s) : take_join(e, now, limits);
          },

          [&](const AwaitingJoined&, const JoinedAbove&) -> Step {
            return {Standing{}, {Action::stand}};
          },
          [&]<OneOf<Absent, Collecting, Standing, Condemned, Departing, Refusing, Refused, Passing, Left> S>(
              const S& s, const JoinedAbove&) -> Step { return ignore(s); },

          [&](const AwaitingJoined&, const RefusedAbove&) -> Step {
            return {Refused{}, {Action::refuse_all}};
          },
          [&](const Refusing&, const RefusedAbove&) -> Step {
            return {Refused{}, {}};
          },
          [&]<OneOf<Absent, Collecting, Standing, Condemned, Departing, Refused, Passing, Left> S>(
              const S& s, const RefusedAbove&) -> Step { return ignore(s); },

          [&](const Absent&, const RefusedBelow&) -> Step { return refuse(Action::refuse_one, now, limits); },
          [&](const Collecting&, const RefusedBelow&) -> Step {
            Step refused = refuse(Action::refuse_all, now, limits);
            refused.actions.push_back(Action::refuse_one);  // the sender is not among the children: it never joined
            return refused;
          },
          [&]<OneOf<AwaitingJoined, Standing, Condemned, Departing, Refusing, Refused, Passing, Left> S>(
              const S& s, const RefusedBelow&) -> Step {
            return {s, {Action::refuse_one}};
          },

          [&](const Collecting&, const ChildClosed&) -> Step { return refuse(Action::refuse_all, now, limits); },
          // The nodes above may have answered already: the decision waits for their answer.
          [&](const AwaitingJoined& s, const ChildClosed&) -> Step { return ignore(s); },
          [&](const Standing& s, const ChildClosed& e) -> Step {
            // If all have left, the group ends here: if their Leaves carry different numbers, none of them ever completes.
            const bool nobody_is_left = e.all_left && limits.group_root;
            if (guard(Guard::left_may_close, e.had_left && !nobody_is_left)) return ignore(s);
            if (limits.group_root) return {Condemned{}, {Action::verdict_all}};
            return {s, {Action::trouble_up}};
          },
          [&](const Condemned& s, const ChildClosed& e) -> Step {
            return e.all_left ? depart(now, limits) : ignore(s);
          },
          [&]<OneOf<Absent, Departing, Refusing, Refused, Passing, Left> S>(const S& s, const ChildClosed&) -> Step {
            return ignore(s);
          },

          // The Join may never have reached the parent: the parent gets the refusal when it is connected again.
          [&](const AwaitingJoined&, const ParentClosed&) -> Step {
            return {Refusing{resend_time(now, limits.resend_after)}, {Action::refuse_all, Action::refuse_up}};
          },
          [&](const Standing& s, const ParentClosed& e) -> Step {
            if (!limits.group_root) return {Left{}, {Action::void_all}};
            if (e.leave_under_way)
              return {Passing{resend_time(now, limits.resend_after)}, {Action::tell_later, Action::leave_done}};
            return ignore(s);  // the nodes above carry none of its numbers
          },
          [&](const Condemned& s, const ParentClosed&) -> Step {
            return limits.group_root ? ignore(s) : Step{Left{}, {Action::void_all}};
          },
          // The members need not wait until the tree is whole again.
          [&](const Departing&, const ParentClosed&) -> Step {
            return {Passing{resend_time(now, limits.resend_after)}, {Action::tell_later, Action::leave_done}};
          },
          [&](const Passing& s, const ParentClosed&) -> Step {
            return {s, {Action::pass_down}};
          },
          [&](const Refusing& s, const ParentClosed&) -> Step { return ignore(s); },
          [&]<OneOf<Absent, Collecting, Refused, Left> S>(const S& s, const ParentClosed&) -> Step {
            return ignore(s);
          },

          [&](const AwaitingJoined&, const VoidAbove&) -> Step {
            return {Refused{}, {Action::refuse_all}};
          },
          [&]<OneOf<Standing, Condemned> S>(const S& s, const VoidAbove&) -> Step {
            if (limits.group_root) return ignore(s);
            return {Left{}, {Action::void_all}};
          },
          [&](const Departing&, const VoidAbove&) -> Step {
            return {Left{}, {Action::leave_done}};
          },
          [&](const Refusing&, const VoidAbove&) -> Step {
            return {Refused{}, {}};
          },
          [&](const Passing&, const VoidAbove&) -> Step {
            return {Left{}, {Action::pass_down}};
          },
          [&]<OneOf<Absent, Collecting, Refused, Left> S>(const S& s, const VoidAbove&) -> Step { return ignore(s); },

          [&](const Standing& s, const Trouble&) -> Step {
            if (limits.group_root) return {Condemned{}, {Action::verdict_all}};
            return {s, {Action::trouble_up}};
          },
          [&](const Condemned& s, const Trouble&) -> Step {
            if (guard(Guard::first_verdict, true) || !limits.group_root) return {s, {Action::verdict_one}};
            return {s, {Action::verdict_all}};
          },
          [&](const Departing& s, const Trouble&) -> Step {
            return {s, {Action::verdict_one}};
          },
          [&]<OneOf<Absent, Collecting, AwaitingJoined, Refusing, Refused, Passing, Left> S>(
              const S& s, const Trouble&) -> Step { return ignore(s); },

          [&](const Standing&, const VerdictAbove&) -> Step {
            return {Condemned{}, {Action::verdict_all}};
          },
          // The verdict overtook Joined: the first number that a member sends up is answered with it again.
          [&](const AwaitingJoined& s, const VerdictAbove&) -> Step { return ignore(s); },
          [&]<OneOf<Absent, Collecting, Condemned, Departing, Refusing, Refused, Passing, Left> S>(
              const S& s, const VerdictAbove&) -> Step { return ignore(s); },

          [&](const Condemned& s, const LeaveAfterVerdict& e) -> Step {
            return e.all_left ? depart(now, limits) : ignore(s);
          },
          [&]<OneOf<Absent, Collecting, AwaitingJoined, Standing, Departing, Refusing, Refused, Passing, Left> S>(
              const S& s, const LeaveAfterVerdict&) -> Step { return ignore(s); },

          [&](const Absent&, const LeaveBelow&) -> Step {
            if (limits.tree_root) return {Left{}, {Action::answer_leave, Action::free_id}};
            return {Passing{}, {Action::pass_up}};
          },
          [&](const Passing& s, const LeaveBelow&) -> Step {
            return {s, {Action::pass_up}};
          },
          [&]<OneOf<Refusing, Refused, Left> S>(const S& s, const LeaveBelow&) -> Step {
            return guard(Guard::leave_of_the_gone, true) ? Step{s, {Action::answer_leave}} : ignore(s);
          },
          // Its own members use numbers; the engine has rejected every other sender.
          [&]<OneOf<Collecting, AwaitingJoined, Standing, Condemned, Departing> S>(
              const S& s, const LeaveBelow&) -> Step { return ignore(s); },

          [&]<OneOf<Standing, Condemned, Departing> S>(const S&, const LeaveAnswered&) -> Step {
            return leave_done(limits);
          },
          [&](const Passing&, const LeaveAnswered&) -> Step {
            return {Left{}, {Action::pass_down}};
          },
          // A newer group has the number: this one was refused, and the message to this node was lost.
          [&]<OneOf<Collecting, AwaitingJoined> S>(const S&, const LeaveAnswered&) -> Step {
            return {Refused{}, {Action::refuse_all}};
          },
          [&](const Refusing&, const LeaveAnswered&) -> Step {
            return {Refused{}, {}};
          },
          [&]<OneOf<Absent, Refused, Left> S>(const S& s, const LeaveAnswered&) -> Step { return ignore(s); },

          [&]<OneOf<Collecting, AwaitingJoined> S>(const S&, const JobOver&) -> Step {
            if (limits.tree_root) return {Refused{}, {Action::refuse_all, Action::free_id}};
            return {Refused{}, {Action::refuse_all}};
          },
          [&]<OneOf<Standing, Condemned> S>(const S&, const JobOver&) -> Step {
            if (limits.tree_root) return {Left{}, {Action::void_all, Action::free_id}};
            return {Left{}, {Action::void_all}};
          },
          [&](const Departing&, const JobOver&) -> Step {
            return {Left{}, {Action::leave_done}};
          },
          [&](const Refusing&, const JobOver&) -> Step {
            return {Refused{}, {}};
          },
          [&](const Passing&, const JobOver&) -> Step {
            return {Left{}, {Action::pass_down}};
          },
          [&]<OneOf<Absent, Refused, Left> S>(const S& s, const JobOver&) -> Step { return ignore(s); },

          [&](const AwaitingJoined& s, const Timeout&) -> Step {
            if (now < s.resend_at) return ignore(s);
            return {AwaitingJoined{resend_time(now, limits.resend_after)}, {Action::join_up}};
          },
          [&](const Departing& s, const Timeout&) -> Step {
            if (now < s.resend_at) return ignore(s);
            return {Departing{resend_time(now, limits.resend_after)}, {Action::leave_up}};
          },
          [&](const Refusing& s, const Timeout&) -> Step {
            if (now < s.resend_at) return ignore(s);
            return {Refusing{resend_time(now, limits.resend_after)}, {Action::refuse_up}};
          },
          [&](const Passing& s, const Timeout&) -> Step {
            if (now < s.resend_at) return ignore(s);
            return {Passing{resend_time(now, limits.resend_after)}, {Action::pass_up}};
          },
          [&]<OneOf<Absent, Collecting, Standing, Condemned, Refused, Left> S>(const S& s, const Timeout&) -> Step {
            return ignore(s);
          },
      },
      state, event);
}

}  // namespace sumac::proto::group_life
