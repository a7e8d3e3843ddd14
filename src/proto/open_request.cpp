#include "proto/open_request.hpp"

#include "base/one_of.hpp"
#include "base/result.hpp"
#include "proto/guard.hpp"
#include "proto/resend.hpp"

namespace sumac::proto::open_request {

Step step(const State& state, const Event& event, Time now, const Limits& limits) {
  note_step(Machine::open_request, state.index(), event.index());
  const Time later = resend_time(now, limits.resend_after);
  return std::visit(overloaded{
                        [&](const Asking&, const OpenedCame& e) -> Step {
                          return {Opened{e.group_id}, Action::note};
                        },
                        [&](const Asking&, const RefusedCame&) -> Step {
                          return {Refused{}, Action::note};
                        },
                        [&](const Asking&, const LinkClosed&) -> Step {
                          return {Lost{}, Action::note};
                        },
                        [&](const Asking& s, const Timeout&) -> Step {
                          if (now < s.resend_at) return {s, Action::ignore};
                          return {Asking{later}, Action::send};
                        },
                        // The first answer stands; the others are copies.
                        [&]<OneOf<Opened, Refused, Lost> S>(const S& s, const OpenedCame&) -> Step {
                          return {s, Action::ignore};
                        },
                        [&]<OneOf<Opened, Refused, Lost> S>(const S& s, const RefusedCame&) -> Step {
                          return {s, Action::ignore};
                        },
                        [&]<OneOf<Opened, Refused, Lost> S>(const S& s, const LinkClosed&) -> Step {
                          return {s, Action::ignore};
                        },
                        [&]<OneOf<Opened, Refused, Lost> S>(const S& s, const Timeout&) -> Step {
                          return {s, Action::ignore};
                        },
                    },
                    state, event);
}

}  // namespace sumac::proto::open_request
