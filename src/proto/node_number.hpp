#pragma once
// One number at a node: it collects its children's contributions, passes one up (or answers, at the group's root),
// passes the result down and keeps it until every child has shown that it has it. A prompt number (prompt.hpp) goes up
// and is answered as soon as all its data are in; the other children are counted afterwards. Pure: the engine moves the
// bytes (node_group.cpp).
#include <cstdint>
#include <variant>

#include "base/clock.hpp"
#include "base/inline_vec.hpp"
#include "proto/child_set.hpp"
#include "wire/agg.hpp"

namespace sumac::proto::node_number {

struct Idle {
  friend bool operator==(const Idle&, const Idle&) = default;
};
struct Collecting {
  ChildSet in;
  std::uint32_t members = 0;             ///< Members whose data are in the sum so far.
  std::uint32_t origin = wire::kNoRank;  ///< The lowest rank among them.
  friend bool operator==(const Collecting&, const Collecting&) = default;
};
struct Relaying {  ///< Prompt: the data are on their way up, and some children have not contributed.
  ChildSet in;
  std::uint32_t members = 0;
  std::uint32_t origin = wire::kNoRank;
  friend bool operator==(const Relaying&, const Relaying&) = default;
};
struct Unclosed {  ///< Prompt: the result has gone to all children, and some of them have not contributed.
  ChildSet in;
  std::uint32_t members = 0;
  std::uint32_t origin = wire::kNoRank;
  friend bool operator==(const Unclosed&, const Unclosed&) = default;
};
struct AwaitingParent {
  std::uint32_t members = 0;
  std::uint32_t origin = wire::kNoRank;
  Time resend_at = kNever;
  friend bool operator==(const AwaitingParent&, const AwaitingParent&) = default;
};
struct Answered {
  friend bool operator==(const Answered&, const Answered&) = default;
};
using State = std::variant<Idle, Collecting, Relaying, Unclosed, AwaitingParent, Answered>;

struct Contribution {
  std::uint32_t child = 0;
  std::uint32_t members = 1;
  std::uint32_t origin = 0;
  wire::Field differs = wire::Field::none;  ///< The first field in which it differs from the slot's agreed header.
  bool partial = false;                     ///< Reproducible: the sum of some of the child's members.
  bool repeated = false;                    ///< Reproducible: this partial sum has arrived already.
  bool last = false;                        ///< Reproducible: with this partial sum all members are in.
  bool completes = false;                   ///< Prompt: with it all data of the number are in.
  bool ahead = false;  ///< Prompt: it has data only; the child's members are counted by a later one.
};
struct ParentResult {
  bool prompt = false;  ///< It may come before the children's contributions.
};
struct Closed {};     ///< Every member has contributed, and the result goes to others only.
struct Condemned {};  ///< A verdict says that this number completes nowhere.
struct Proven {};     ///< Every child has shown that it has the result.
struct Timeout {};
using Event = std::variant<Contribution, ParentResult, Closed, Condemned, Proven, Timeout>;

struct Limits {
  ChildSet children;         ///< All children of the group at this node.
  bool decides = false;      ///< This node answers the number; otherwise its parent does.
  Duration resend_after{0};  ///< 0: no timer repeats anything.
};

struct Action {
  enum class Kind : std::uint8_t {
    take,        ///< This contribution's buffer becomes the accumulator, its header the agreed one.
    add,         ///< Add the contribution to the accumulator.
    send_up,     ///< Send the accumulator to the parent.
    relay,       ///< Send the data to the parent; the count of members follows by send_rest.
    send_rest,   ///< All children are in, and the data went before: send the count of members to the parent.
    answer_all,  ///< The accumulator is the result: send it to all children and keep it.
    forward,     ///< Send the parent's result to all children and keep it.
    answer_one,  ///< Send the kept result to `child` alone.
    report,      ///< `child` differs: send Trouble (or, at the root, give a verdict).
    release,     ///< Forget the buffers.
    ignore,      ///< The message is a late copy.
  } kind = Kind::ignore;
  std::uint32_t child = 0;
  friend bool operator==(const Action&, const Action&) = default;
};
using Actions = InlineVec<Action, 2>;

struct Step {
  State state;
  Actions actions;
};
Step step(const State& state, const Event& event, Time now, const Limits& limits);

}  // namespace sumac::proto::node_number
