#include "proto/membership.hpp"

#include "base/one_of.hpp"
#include "base/result.hpp"
#include "proto/guard.hpp"
#include "proto/resend.hpp"

namespace sumac::proto::membership {
namespace {

Step ignore(const State& state) { return {state, {Action::ignore}}; }

}  // namespace

Step step(const State& state, const Event& event, Time now, const Limits& limits) {
  note_step(Machine::membership, state.index(), event.index());
  return std::visit(
      overloaded{
          [&](const Joining& s, const JoinedCame&) -> Step {
            return {Standing{s.leaving}, {Action::stand}};
          },
          [&]<OneOf<Standing, Condemned, Departing, Left, Refused, Lost> S>(const S& s, const JoinedCame&) -> Step {
            return ignore(s);
          },

          [&](const Joining&, const RefusedCame&) -> Step {
            return {Refused{}, {Action::note_refusal}};
          },
          // This is a late answer to a repeated Join.
          [&]<OneOf<Standing, Condemned, Departing, Left, Refused, Lost> S>(const S& s, const RefusedCame&) -> Step {
            return ignore(s);
          },

          [&](const Standing& s, const VerdictCame& e) -> Step {
            return {Condemned{e.first_failed, s.leaving}, {Action::note_verdict}};
          },
          [&](const Departing& s, const VerdictCame& e) -> Step {
            if (s.condemned) return ignore(s);
            // The other members did not reach Leave; now all leave with the number F.
            return {Departing{e.first_failed, true, resend_time(now, limits.resend_after)},
                    {Action::note_verdict, Action::send_leave}};
          },
          // The verdict overtook Joined; the first number that is sent is answered with it again.
          [&](const Joining& s, const VerdictCame&) -> Step { return ignore(s); },
          [&]<OneOf<Condemned, Left, Refused, Lost> S>(const S& s, const VerdictCame&) -> Step { return ignore(s); },

          [&](const Joining& s, const GroupOver&) -> Step {
            return s.leaving ? Step{Left{}, {Action::fail_all}} : Step{Lost{}, {Action::fail_all}};
          },
          [&](const Standing& s, const GroupOver&) -> Step {
            return s.leaving ? Step{Left{}, {Action::fail_all}} : Step{Lost{}, {Action::fail_all}};
          },
          [&](const Condemned& s, const GroupOver&) -> Step {
            return s.leaving ? Step{Left{}, {Action::fail_all}} : Step{Lost{}, {Action::fail_all}};
          },
          // Everything of this member is complete, so no member needs its Leave.
          [&](const Departing&, const GroupOver&) -> Step {
            return {Left{}, {}};
          },
          [&]<OneOf<Left, Refused, Lost> S>(const S& s, const GroupOver&) -> Step { return ignore(s); },

          [&](const Joining& s, const LeaveWanted&) -> Step {
            return {Joining{s.resend_at, true}, {}};
          },
          [&](const Standing&, const LeaveWanted&) -> Step {
            return {Standing{true}, {}};
          },
          [&](const Condemned& s, const LeaveWanted&) -> Step {
            return {Condemned{s.first_failed, true}, {}};
          },
          [&](const Lost&, const LeaveWanted&) -> Step {
            return {Left{}, {}};
          },
          [&]<OneOf<Departing, Left, Refused> S>(const S& s, const LeaveWanted&) -> Step { return ignore(s); },

          [&](const Standing& s, const Drained& e) -> Step {
            if (!s.leaving) return ignore(s);
            return {Departing{e.next_number, false, resend_time(now, limits.resend_after)}, {Action::send_leave}};
          },
          [&](const Condemned& s, const Drained&) -> Step {
            if (!s.leaving) return ignore(s);
            return {Departing{s.first_failed, true, resend_time(now, limits.resend_after)}, {Action::send_leave}};
          },
          [&]<OneOf<Joining, Departing, Left, Refused, Lost> S>(const S& s, const Drained&) -> Step {
            return ignore(s);
          },

          [&](const Departing&, const LeaveAnswered&) -> Step {
            return {Left{}, {}};
          },
          [&]<OneOf<Joining, Standing, Condemned, Left, Refused, Lost> S>(const S& s, const LeaveAnswered&) -> Step {
            return ignore(s);
          },

          [&](const Joining&, const NumberReused&) -> Step {
            return {Refused{}, {Action::note_refusal}};
          },
          [&](const Departing&, const NumberReused&) -> Step {
            return {Left{}, {}};
          },
          // This cannot happen with an honest tree, since this member has not left: the group is not trusted any more.
          [&]<OneOf<Standing, Condemned> S>(const S& s, const NumberReused&) -> Step {
            return s.leaving ? Step{Left{}, {Action::fail_all}} : Step{Lost{}, {Action::fail_all}};
          },
          [&]<OneOf<Left, Refused, Lost> S>(const S& s, const NumberReused&) -> Step { return ignore(s); },

          [&](const Joining& s, const Timeout&) -> Step {
            if (now < s.resend_at) return ignore(s);
            return {Joining{resend_time(now, limits.resend_after), s.leaving}, {Action::send_join}};
          },
          [&](const Departing& s, const Timeout&) -> Step {
            if (now < s.resend_at) return ignore(s);
            return {Departing{s.number, s.condemned, resend_time(now, limits.resend_after)}, {Action::send_leave}};
          },
          [&]<OneOf<Standing, Condemned, Left, Refused, Lost> S>(const S& s, const Timeout&) -> Step {
            return ignore(s);
          },
      },
      state, event);
}

}  // namespace sumac::proto::membership
