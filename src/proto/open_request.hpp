#pragma once
// A client's request for a group id.
#include <cstdint>
#include <variant>

#include "base/clock.hpp"
#include "base/ids.hpp"

namespace sumac::proto::open_request {

struct Asking {
  Time resend_at = kNever;
  friend bool operator==(const Asking&, const Asking&) = default;
};
struct Opened {
  GroupId group_id{};
  friend bool operator==(const Opened&, const Opened&) = default;
};
struct Refused {
  friend bool operator==(const Refused&, const Refused&) = default;
};
struct Lost {
  friend bool operator==(const Lost&, const Lost&) = default;
};
using State = std::variant<Asking, Opened, Refused, Lost>;

struct OpenedCame {
  GroupId group_id{};
};
struct RefusedCame {};
struct LinkClosed {};
struct Timeout {};
using Event = std::variant<OpenedCame, RefusedCame, LinkClosed, Timeout>;

struct Limits {
  Duration resend_after{0};
};
enum class Action : std::uint8_t { send, note, ignore };

struct Step {
  State state;
  Action action;
};
Step step(const State& state, const Event& event, Time now, const Limits& limits);

}  // namespace sumac::proto::open_request
