#include "proto/member_number.hpp"

#include "base/one_of.hpp"
#include "base/result.hpp"
#include "proto/guard.hpp"
#include "proto/resend.hpp"

namespace sumac::proto::member_number {
Step step(const State& state, const Event& event, Time now, const Limits& limits) {
  note_step(Machine::member_number, state.index(), event.index());
  return std::visit(
      overloaded{
          [&](const Waiting&, const Room& e) -> Step {
            if (!e.needs_result && !e.in_turn) return {Stashed{true}, Action::send};
            if (!e.needs_result) return {Owed{}, Action::send_and_deliver};
            return {Sent{resend_time(now, limits.resend_after)}, Action::send};
          },
          [&]<OneOf<Sent, Stashed, Owed, Complete> S>(const S& s, const Room&) -> Step {
            return {s, Action::ignore};
          },

          [&](const Waiting& s, const Result&) -> Step {
            return {s, Action::offence};
          },
          [&](const Sent&, const Result& e) -> Step {
            if (guard(Guard::member_in_turn, !e.in_turn)) return {Stashed{}, Action::stash};
            return {Complete{}, Action::deliver};
          },
          [&](const Stashed& s, const Result&) -> Step {
            return {Stashed{}, s.owed ? Action::settle : Action::ignore};
          },
          [&](const Owed&, const Result&) -> Step {
            return {Complete{}, Action::settle};
          },
          [&](const Complete& s, const Result&) -> Step {
            return {s, Action::ignore};
          },

          [&](const Stashed& s, const Closed&) -> Step {
            return {Stashed{}, s.owed ? Action::settle : Action::ignore};
          },
          [&](const Owed&, const Closed&) -> Step {
            return {Complete{}, Action::settle};
          },
          // There was no memory for a copy, so the number waited for others who need it no more.
          [&](const Sent&, const Closed&) -> Step {
            return {Stashed{}, Action::settle};
          },
          [&]<OneOf<Waiting, Complete> S>(const S& s, const Closed&) -> Step {
            return {s, Action::ignore};
          },

          // Any process may replay a datagram at any time: one that does not fit is no offence of the node.
          [&](const Sent& s, const Early& e) -> Step {
            if (guard(Guard::member_in_turn, !e.in_turn)) return {Stashed{true, s.resend_at}, Action::stash};
            return {Owed{s.resend_at}, Action::deliver};
          },
          [&]<OneOf<Waiting, Stashed, Owed, Complete> S>(const S& s, const Early&) -> Step {
            return {s, Action::ignore};
          },

          [&](const Stashed& s, const Turn&) -> Step {
            if (s.owed) return {Owed{s.resend_at}, Action::deliver};
            return {Complete{}, Action::deliver};
          },
          [&]<OneOf<Waiting, Sent, Owed, Complete> S>(const S& s, const Turn&) -> Step {
            return {s, Action::ignore};
          },

          [&]<OneOf<Sent, Stashed> S>(const S&, const Condemned&) -> Step {
            return {Waiting{}, Action::forget};
          },
          [&]<OneOf<Waiting, Owed, Complete> S>(const S& s, const Condemned&) -> Step {
            return {s, Action::ignore};
          },

          [&](const Sent& s, const Timeout&) -> Step {
            if (!guard(Guard::member_resend, now >= s.resend_at)) return {s, Action::ignore};
            return {Sent{resend_time(now, limits.resend_after)}, Action::send};
          },
          [&](const Stashed& s, const Timeout&) -> Step {
            if (!s.owed || now < s.resend_at) return {s, Action::ignore};
            return {Stashed{true, resend_time(now, limits.resend_after)}, Action::send};
          },
          [&](const Owed& s, const Timeout&) -> Step {
            if (!guard(Guard::owed_again, now >= s.resend_at)) return {s, Action::ignore};
            return {Owed{resend_time(now, limits.resend_after)}, Action::ask_again};
          },
          [&]<OneOf<Waiting, Complete> S>(const S& s, const Timeout&) -> Step {
            return {s, Action::ignore};
          },
      },
      state, event);
}

}  // namespace sumac::proto::member_number
