#include "proto/node_number.hpp"

#include <algorithm>

#include "base/result.hpp"
#include "proto/guard.hpp"
#include "proto/resend.hpp"

namespace sumac::proto::node_number {
namespace {

using Kind = Action::Kind;

/// `first` is take or add; the last child to contribute sends the sum on.
Step collect(const Collecting& before, const Contribution& e, Kind first, Time now, const Limits& limits) {
  Collecting after = before;
  after.members += e.members;
  after.origin = std::min(after.origin, e.origin);
  if (!e.partial) after.in.add(e.child);
  if (e.partial ? !e.last : !after.in.covers(limits.children)) return {after, {{first, e.child}}};
  if (limits.decides) return {Answered{}, {{first, e.child}, {Kind::answer_all}}};
  return {AwaitingParent{after.members, after.origin, resend_time(now, limits.resend_after)},
          {{first, e.child}, {Kind::send_up}}};
}

Step ignore(const State& state) { return {state, {{Kind::ignore}}}; }

}  // namespace

Step step(const State& state, const Event& event, Time now, const Limits& limits) {
  note_step(Machine::node_number, state.index(), event.index());
  return std::visit(
      overloaded{
          [&](const Idle&, const Contribution& e) -> Step { return collect({}, e, Kind::take, now, limits); },
          [&](const Collecting& s, const Contribution& e) -> Step {
            if (guard(Guard::duplicate, !e.partial && s.in.has(e.child))) return ignore(s);
            if (guard(Guard::partial_duplicate, e.repeated)) return ignore(s);
            if (guard(Guard::agreement, e.differs != wire::Field::none)) return {s, {{Kind::report, e.child}}};
            return collect(s, e, Kind::add, now, limits);
          },
          // Its data are in the sum that is being sent.
          [&](const AwaitingParent& s, const Contribution&) -> Step { return ignore(s); },
          [&](const Answered& s, const Contribution& e) -> Step {
            if (guard(Guard::answered_again, true)) return {s, {{Kind::answer_one, e.child}}};
            return ignore(s);
          },

          // The parent cannot know a result that this node has not contributed to: this is a copy from an older life.
          [&](const Idle& s, const ParentResult&) -> Step { return ignore(s); },
          [&](const Collecting& s, const ParentResult&) -> Step { return ignore(s); },
          [&](const AwaitingParent&, const ParentResult&) -> Step {
            return {Answered{}, {{Kind::forward}}};
          },
          [&](const Answered& s, const ParentResult&) -> Step { return ignore(s); },

          [&](const Idle& s, const Condemned&) -> Step { return ignore(s); },
          [&](const Collecting&, const Condemned&) -> Step {
            return {Idle{}, {{Kind::release}}};
          },
          [&](const AwaitingParent&, const Condemned&) -> Step {
            return {Idle{}, {{Kind::release}}};
          },
          // Reordering at the root: this number is answered although an earlier one is not. No member can complete it,
          // since results complete in order.
          [&](const Answered&, const Condemned&) -> Step {
            return {Idle{}, {{Kind::release}}};
          },

          [&](const Idle& s, const Proven&) -> Step { return ignore(s); },
          // A member cannot have completed an unanswered number: the sender of this is no honest child, so the data
          // stay.
          [&](const Collecting& s, const Proven&) -> Step { return ignore(s); },
          [&](const AwaitingParent& s, const Proven&) -> Step { return ignore(s); },
          [&](const Answered&, const Proven&) -> Step {
            return {Idle{}, {{Kind::release}}};
          },

          [&](const Idle& s, const Timeout&) -> Step { return ignore(s); },
          [&](const Collecting& s, const Timeout&) -> Step { return ignore(s); },
          [&](const AwaitingParent& s, const Timeout&) -> Step {
            if (!guard(Guard::resend_up, now >= s.resend_at)) return ignore(s);
            return {AwaitingParent{s.members, s.origin, resend_time(now, limits.resend_after)}, {{Kind::send_up}}};
          },
          [&](const Answered& s, const Timeout&) -> Step { return ignore(s); },
      },
      state, event);
}

}  // namespace sumac::proto::node_number
