#pragma once
// One number at a member: it is sent when the window allows, answered, and complete in order.
#include <variant>

#include "base/clock.hpp"
#include "base/inline_vec.hpp"

namespace sumac::proto::member_number {

struct Waiting {
  friend bool operator==(const Waiting&, const Waiting&) = default;
};
struct Sent {
  Time resend_at = kNever;
  friend bool operator==(const Sent&, const Sent&) = default;
};
struct Stashed {      ///< It has all that it needs, and an earlier number has not.
  bool owed = false;  ///< The link's result is still to come: what it has came by multicast, or it needs none.
  Time resend_at = kNever;
  friend bool operator==(const Stashed&, const Stashed&) = default;
};
/// Complete without the link's result: it came by multicast, or the member needs none. It counts in the window until the
/// link's result arrives as well.
struct Owed {
  Time resend_at = kNever;
  friend bool operator==(const Owed&, const Owed&) = default;
};
struct Complete {
  friend bool operator==(const Complete&, const Complete&) = default;
};
using State = std::variant<Waiting, Sent, Stashed, Owed, Complete>;

struct Room {                ///< All numbers up to s - window are complete.
  bool needs_result = true;  ///< false: this member's part in the number is over when it is sent (prompt.hpp).
  bool in_turn = true;
};
struct Result {
  bool in_turn = true;  ///< All earlier numbers are complete.
};
struct Early {  ///< Its result came by multicast.
  bool in_turn = true;
};
struct Closed {};     ///< Every member has contributed, and the link brings no result.
struct Turn {};       ///< All earlier numbers have become complete.
struct Condemned {};  ///< A verdict: this number completes nowhere.
struct Timeout {};
using Event = std::variant<Room, Result, Closed, Early, Turn, Condemned, Timeout>;

struct Limits {
  Duration resend_after{0};
};

enum class Action : std::uint8_t {
  send,
  send_and_deliver,  ///< The number needs no result: it is complete when it is sent.
  stash,             ///< Keep the result.
  settle,            ///< The link's copy of a number that needed none has arrived.
  ask_again,  ///< Ask for the link's copy. The contributed buffer belongs to the user again, so zeros go instead; the
              ///< node ignores them.
  deliver,    ///< The result (this one, or the stashed one) goes to the user.
  forget,     ///< Drop the sent or stashed data: the number fails.
  offence,    ///< The node answered a number that was never sent.
  ignore,
};

struct Step {
  State state;
  Action action;
};
Step step(const State& state, const Event& event, Time now, const Limits& limits);

}  // namespace sumac::proto::member_number
