#pragma once
// One number at a member: sent when the window lets, answered, and complete in its turn.
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
struct Stashed {      ///< Its result came before that of an earlier number.
  bool owed = false;  ///< By multicast: the link's copy is still to come, and is asked for as before.
  Time resend_at = kNever;
  friend bool operator==(const Stashed&, const Stashed&) = default;
};
struct Owed {  ///< Complete, by multicast. Until the link's copy is here as well it counts in the window.
  Time resend_at = kNever;
  friend bool operator==(const Owed&, const Owed&) = default;
};
struct Complete {
  friend bool operator==(const Complete&, const Complete&) = default;
};
using State = std::variant<Waiting, Sent, Stashed, Owed, Complete>;

struct Room {};  ///< All numbers up to s - window are complete.
struct Result {
  bool in_turn = true;  ///< All earlier numbers are complete.
};
struct Early {  ///< Its result by multicast.
  bool in_turn = true;
};
struct Turn {};       ///< All earlier numbers have become complete.
struct Condemned {};  ///< A verdict: this number completes nowhere.
struct Timeout {};
using Event = std::variant<Room, Result, Early, Turn, Condemned, Timeout>;

struct Limits {
  Duration resend_after{0};
};

enum class Action : std::uint8_t {
  send,
  stash,      ///< Keep the result.
  settle,     ///< The link's copy of what came by multicast.
  ask_again,  ///< For the link's copy: what was contributed is no longer ours to read, and nobody looks at it.
  deliver,    ///< The result (this one, or the stashed one) goes to the user.
  forget,     ///< What was sent or stashed has no meaning any more.
  offence,    ///< The node answered what was never asked.
  ignore,
};

struct Step {
  State state;
  Action action;
};
Step step(const State& state, const Event& event, Time now, const Limits& limits);

}  // namespace sumac::proto::member_number
