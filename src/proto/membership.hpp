#pragma once
// A member's life in a group: it joins, takes part, may receive a verdict, and leaves.
#include <cstdint>
#include <variant>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/inline_vec.hpp"

namespace sumac::proto::membership {

struct Joining {
  Time resend_at = kNever;
  bool leaving = false;  ///< leave() was called already.
  friend bool operator==(const Joining&, const Joining&) = default;
};
struct Standing {
  bool leaving = false;
  friend bool operator==(const Standing&, const Standing&) = default;
};
struct Condemned {
  Sequence first_failed{};
  bool leaving = false;
  friend bool operator==(const Condemned&, const Condemned&) = default;
};
struct Departing {  ///< Leave is sent.
  Sequence number{};
  bool condemned = false;
  Time resend_at = kNever;
  friend bool operator==(const Departing&, const Departing&) = default;
};
struct Left {
  friend bool operator==(const Left&, const Left&) = default;
};
struct Refused {
  friend bool operator==(const Refused&, const Refused&) = default;
};
struct Lost {
  friend bool operator==(const Lost&, const Lost&) = default;
};
using State = std::variant<Joining, Standing, Condemned, Departing, Left, Refused, Lost>;

struct JoinedCame {};
struct RefusedCame {};
struct VerdictCame {
  Sequence first_failed{};
};
struct GroupOver {};  ///< The link is closed, or the node sent Over.
struct LeaveWanted {};
struct Drained {  ///< Every posted operation has ended.
  Sequence next_number{};
};
struct LeaveAnswered {};
struct NumberReused {};  ///< A newer group has this one's number: this one has ended, and its answer was lost.
struct Timeout {};
using Event = std::variant<JoinedCame, RefusedCame, VerdictCame, GroupOver, LeaveWanted, Drained, LeaveAnswered,
                           NumberReused, Timeout>;

struct Limits {
  Duration resend_after{0};
};

enum class Action : std::uint8_t { send_join, stand, note_refusal, note_verdict, send_leave, fail_all, ignore };
using Actions = InlineVec<Action, 2>;

struct Step {
  State state;
  Actions actions;
};
Step step(const State& state, const Event& event, Time now, const Limits& limits);

}  // namespace sumac::proto::membership
