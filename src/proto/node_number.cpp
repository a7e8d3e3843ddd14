#include "proto/node_number.hpp"

#include <algorithm>

#include "base/one_of.hpp"
#include "base/result.hpp"
#include "proto/guard.hpp"
#include "proto/resend.hpp"

namespace sumac::proto::node_number {
namespace {

using Kind = Action::Kind;

/// Counts the contribution in.
template <class Counting>
Counting with(Counting before, const Contribution& e) {
  if (guard(Guard::ahead_counts_later, e.ahead)) return before;
  before.members += e.members;
  before.origin = std::min(before.origin, e.origin);
  if (!e.partial) before.in.add(e.child);
  return before;
}

/// `first` is take or add; the last child to contribute sends the sum on, the last data of a prompt number go on at once.
Step collect(const Collecting& before, const Contribution& e, Kind first, Time now, const Limits& limits) {
  const Collecting after = with(before, e);
  const bool all_in = e.partial ? e.last : after.in.covers(limits.children);
  if (!all_in && !e.completes) return {after, {{first, e.child}}};
  if (!all_in && limits.decides)
    return {Unclosed{after.in, after.members, after.origin}, {{first, e.child}, {Kind::answer_all}}};
  if (!all_in) return {Relaying{after.in, after.members, after.origin}, {{first, e.child}, {Kind::relay}}};
  if (limits.decides) return {Answered{}, {{first, e.child}, {Kind::answer_all}}};
  return {AwaitingParent{after.members, after.origin, resend_time(now, limits.resend_after)},
          {{first, e.child}, {Kind::send_up}}};
}

Step ignore(const State& state) { return {state, {{Kind::ignore}}}; }

/// A contribution without data to a number whose data are in already. `closed` is the state when all are in.
template <class S>
Step count_in(const S& s, const Contribution& e, const State& closed, bool tells_parent, const Limits& limits) {
  if (guard(Guard::duplicate, s.in.has(e.child))) return ignore(s);
  if (guard(Guard::agreement, e.differs != wire::Field::none)) return {s, {{Kind::report, e.child}}};
  const S after = with(s, e);
  if (!after.in.covers(limits.children)) return {after, {{Kind::add, e.child}}};
  if (!guard(Guard::rest_goes_up, tells_parent)) return {closed, {{Kind::add, e.child}}};
  return {closed, {{Kind::add, e.child}, {Kind::send_rest}}};
}

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
          [&](const Relaying& s, const Contribution& e) -> Step {
            const auto after = with(s, e);
            return count_in(s, e, AwaitingParent{after.members, after.origin, resend_time(now, limits.resend_after)},
                            true, limits);
          },
          [&](const Unclosed& s, const Contribution& e) -> Step {
            return count_in(s, e, Answered{}, !limits.decides, limits);
          },
          // Its data are in the sum that is being sent.
          [&](const AwaitingParent& s, const Contribution&) -> Step { return ignore(s); },
          [&](const Answered& s, const Contribution& e) -> Step {
            if (guard(Guard::answered_again, true)) return {s, {{Kind::answer_one, e.child}}};
            return ignore(s);
          },

          // Unless the number is prompt, the parent cannot know a result that this node has not contributed to: it is a
          // copy from an older life.
          [&](const Idle& s, const ParentResult& e) -> Step {
            if (!guard(Guard::answered_ahead, e.prompt)) return ignore(s);
            return {Unclosed{}, {{Kind::forward}}};
          },
          [&](const Collecting& s, const ParentResult& e) -> Step {
            if (!guard(Guard::answered_ahead, e.prompt)) return ignore(s);
            return {Unclosed{s.in, s.members, s.origin}, {{Kind::forward}}};
          },
          [&](const Relaying& s, const ParentResult&) -> Step {
            return {Unclosed{s.in, s.members, s.origin}, {{Kind::forward}}};
          },
          [&](const Unclosed& s, const ParentResult&) -> Step { return ignore(s); },
          [&](const AwaitingParent&, const ParentResult&) -> Step {
            return {Answered{}, {{Kind::forward}}};
          },
          [&](const Answered& s, const ParentResult&) -> Step { return ignore(s); },

          [&](const AwaitingParent&, const Closed&) -> Step {
            return {Answered{}, {}};
          },
          [&]<OneOf<Idle, Collecting, Relaying, Unclosed, Answered> S>(const S& s, const Closed&) -> Step {
            return ignore(s);
          },

          [&](const Idle& s, const Condemned&) -> Step { return ignore(s); },
          [&](const Collecting&, const Condemned&) -> Step {
            return {Idle{}, {{Kind::release}}};
          },
          [&]<OneOf<Relaying, Unclosed, AwaitingParent> S>(const S&, const Condemned&) -> Step {
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
          [&]<OneOf<Relaying, Unclosed, AwaitingParent> S>(const S& s, const Proven&) -> Step { return ignore(s); },
          [&](const Answered&, const Proven&) -> Step {
            return {Idle{}, {{Kind::release}}};
          },

          [&](const Idle& s, const Timeout&) -> Step { return ignore(s); },
          [&]<OneOf<Collecting, Relaying, Unclosed> S>(const S& s, const Timeout&) -> Step { return ignore(s); },
          [&](const AwaitingParent& s, const Timeout&) -> Step {
            if (!guard(Guard::resend_up, now >= s.resend_at)) return ignore(s);
            return {AwaitingParent{s.members, s.origin, resend_time(now, limits.resend_after)}, {{Kind::send_up}}};
          },
          [&](const Answered& s, const Timeout&) -> Step { return ignore(s); },
      },
      state, event);
}

}  // namespace sumac::proto::node_number
