// Prints every state of every small machine with every event and compares it with testdata/machines.txt: a change of
// behaviour shows as a line in the diff. Accept it with SUMAC_UPDATE_GOLDEN=1 proto_test --gtest_filter='Machines.*'
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>

#include "base/result.hpp"
#include "base/test_golden.hpp"
#include "proto/group_life.hpp"
#include "proto/member_number.hpp"
#include "proto/membership.hpp"
#include "proto/node_number.hpp"
#include "proto/open_request.hpp"

namespace sumac::proto {
namespace {

constexpr Time kNow = at(Millis(100));
constexpr Duration kResend = Millis(20);
constexpr Time kEarlier = at(Millis(90)), kLater = at(Millis(110));

using sumac::test::Row;
using sumac::test::text;

ChildSet set_of(std::initializer_list<std::uint32_t> children) {
  ChildSet set;
  for (const auto child : children) set.add(child);
  return set;
}

std::string text(const node_number::State& state) {
  using namespace node_number;
  return std::visit(overloaded{[](const Idle&) -> std::string { return "Idle"; },
                               [](const Collecting& s) {
                                 return fmt::format("Collecting({} in, {} members, origin {})", s.in.size(), s.members,
                                                    s.origin);
                               },
                               [](const AwaitingParent& s) {
                                 return fmt::format("AwaitingParent({} members, origin {}, again at {})", s.members,
                                                    s.origin, text(s.resend_at));
                               },
                               [](const Answered&) -> std::string { return "Answered"; }},
                    state);
}
std::string text(const node_number::Action& action) {
  static constexpr const char* kNames[] = {"take",       "add",    "send_up", "answer_all", "forward",
                                           "answer_one", "report", "release", "ignore"};
  return kNames[static_cast<std::size_t>(action.kind)];
}

std::string text(const group_life::State& state) {
  using namespace group_life;
  static constexpr const char* kNames[] = {"Absent",    "Collecting", "AwaitingJoined", "Standing", "Condemned",
                                           "Departing", "Refusing",   "Refused",        "Passing",  "Left"};
  std::string name = kNames[state.index()];
  std::visit(
      [&](const auto& s) {
        if constexpr (requires { s.resend_at; }) name += fmt::format("(again at {})", text(s.resend_at));
      },
      state);
  return name;
}
std::string text(group_life::Action action) {
  static constexpr const char* kNames[] = {"count",       "join_up",   "stand",        "joined_one", "refuse_all",
                                           "refuse_one",  "refuse_up", "free_id",      "trouble_up", "verdict_all",
                                           "verdict_one", "void_all",  "leave_up",     "leave_done", "tell_later",
                                           "pass_up",     "pass_down", "answer_leave", "ignore"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(group_life::Action::ignore) + 1);
  return kNames[static_cast<std::size_t>(action)];
}

std::string text(const member_number::State& state) {
  static constexpr const char* kNames[] = {"Waiting", "Sent", "Stashed", "Owed", "Complete"};
  std::string name = kNames[state.index()];
  std::visit(
      [&](const auto& s) {
        if constexpr (requires { s.owed; }) {
          if (s.owed) name += fmt::format("(owed, again at {})", text(s.resend_at));
        } else if constexpr (requires { s.resend_at; }) {
          name += fmt::format("(again at {})", text(s.resend_at));
        }
      },
      state);
  return name;
}
std::string text(member_number::Action action) {
  static constexpr const char* kNames[] = {"send",    "stash",  "settle",  "ask_again",
                                           "deliver", "forget", "offence", "ignore"};
  return kNames[static_cast<std::size_t>(action)];
}

std::string text(const membership::State& state) {
  using namespace membership;
  return std::visit(
      overloaded{[](const Joining& s) {
                   return fmt::format("Joining(again at {}{})", text(s.resend_at), s.leaving ? ", leaving" : "");
                 },
                 [](const Standing& s) -> std::string { return s.leaving ? "Standing(leaving)" : "Standing"; },
                 [](const Condemned& s) {
                   return fmt::format("Condemned(from {}{})", s.first_failed, s.leaving ? ", leaving" : "");
                 },
                 [](const Departing& s) {
                   return fmt::format("Departing(number {}{}, again at {})", s.number, s.condemned ? ", condemned" : "",
                                      text(s.resend_at));
                 },
                 [](const Left&) -> std::string { return "Left"; },
                 [](const Refused&) -> std::string { return "Refused"; },
                 [](const Lost&) -> std::string { return "Lost"; }},
      state);
}
std::string text(membership::Action action) {
  static constexpr const char* kNames[] = {"send_join",  "stand",    "note_refusal", "note_verdict",
                                           "send_leave", "fail_all", "ignore"};
  return kNames[static_cast<std::size_t>(action)];
}

std::string text(const open_request::State& state) {
  static constexpr const char* kNames[] = {"Asking", "Opened", "Refused", "Lost"};
  std::string name = kNames[state.index()];
  if (const auto* s = std::get_if<open_request::Asking>(&state))
    name += fmt::format("(again at {})", text(s->resend_at));
  if (const auto* s = std::get_if<open_request::Opened>(&state)) name += fmt::format("({})", s->group_id);
  return name;
}
std::string text(open_request::Action action) {
  static constexpr const char* kNames[] = {"send", "note", "ignore"};
  return kNames[static_cast<std::size_t>(action)];
}

template <class Action, std::size_t N>
std::string text(const InlineVec<Action, N>& actions) {
  std::string line;
  for (const auto& action : actions) line += (line.empty() ? "" : ", ") + text(action);
  return line.empty() ? "nothing" : line;
}
template <class Step>
std::string outcome(const Step& step) {
  if constexpr (requires { step.actions; })
    return text(step.state) + ": " + text(step.actions);
  else
    return text(step.state) + ": " + text(step.action);
}

template <class State, class Event, class Limits, class Function>
void print(std::string& out, const char* title, std::initializer_list<State> states,
           std::initializer_list<Row<Event>> events, const Limits& limits, const Function& step) {
  out += fmt::format("\n== {} ==\n", title);
  for (const auto& state : states)
    for (const auto& event : events)
      out += fmt::format("{} + {} -> {}\n", text(state), event.name, outcome(step(state, event.value, kNow, limits)));
}

std::string node_numbers() {
  using namespace node_number;
  std::string out;
  const std::initializer_list<State> states = {Idle{},
                                               Collecting{set_of({0}), 1, 4},
                                               Collecting{set_of({0, 1}), 2, 4},
                                               AwaitingParent{3, 2, kEarlier},
                                               AwaitingParent{3, 2, kLater},
                                               Answered{}};
  const std::initializer_list<Row<Event>> events = {
      {"contribution of child 2", Contribution{2, 1, 2}},
      {"contribution of child 0 again", Contribution{0, 1, 4}},
      {"contribution of child 2 that differs", Contribution{2, 1, 2, wire::Field::count}},
      {"a partial sum of child 2", Contribution{.child = 2, .origin = 2, .partial = true}},
      {"the last partial sum", Contribution{.child = 2, .origin = 2, .partial = true, .last = true}},
      {"a partial sum of child 2 again", Contribution{.child = 2, .origin = 2, .partial = true, .repeated = true}},
      {"the parent's result", ParentResult{}},
      {"condemned", Condemned{}},
      {"proven", Proven{}},
      {"timeout", Timeout{}}};
  print<State, Event>(out, "a number at a node of three children", states, events,
                      Limits{set_of({0, 1, 2}), false, kResend}, step);
  print<State, Event>(out, "a number at the group's root", states, events, Limits{set_of({0, 1, 2}), true, Duration{0}},
                      step);
  return out;
}

std::string group_lives() {
  using namespace group_life;
  std::string out;
  const std::initializer_list<State> states = {Absent{},
                                               Collecting{},
                                               AwaitingJoined{kEarlier},
                                               AwaitingJoined{kLater},
                                               Standing{},
                                               Condemned{},
                                               Departing{kEarlier},
                                               Departing{kLater},
                                               Refusing{kEarlier},
                                               Refusing{kLater},
                                               Refused{},
                                               Passing{kEarlier},
                                               Passing{kNever},
                                               Left{}};
  const std::initializer_list<Row<Event>> events = {
      {"a first join", Join{}},
      {"a join again", Join{.counted = true}},
      {"a join that disagrees", Join{.objected = true}},
      {"the last join", Join{.completes = true}},
      {"joined from above", JoinedAbove{}},
      {"refused from above", RefusedAbove{}},
      {"refused from below", RefusedBelow{}},
      {"a child's link closed", ChildClosed{}},
      {"a child's link closed, it had left", ChildClosed{.had_left = true}},
      {"the last child's link closed", ChildClosed{.all_left = true}},
      {"the parent's link closed", ParentClosed{}},
      {"the parent's link closed during Leave", ParentClosed{true}},
      {"void from above", VoidAbove{}},
      {"trouble", Trouble{}},
      {"a verdict from above", VerdictAbove{}},
      {"a leave after the verdict", LeaveAfterVerdict{}},
      {"the last leave after the verdict", LeaveAfterVerdict{true}},
      {"leave of a group below", LeaveBelow{}},
      {"leave is answered", LeaveAnswered{}},
      {"the job is over", JobOver{}},
      {"timeout", Timeout{}}};
  print<State, Event>(out, "a group at a node between", states, events, Limits{false, false, kResend}, step);
  print<State, Event>(out, "a group at its root, below the tree's", states, events, Limits{true, false, kResend}, step);
  print<State, Event>(out, "a group at the tree's root", states, events, Limits{true, true, kResend}, step);
  return out;
}

std::string member_numbers() {
  using namespace member_number;
  std::string out;
  print<State, Event>(out, "a number at a member",
                      {Waiting{}, Sent{kEarlier}, Sent{kLater}, Stashed{}, Stashed{true, kEarlier},
                       Stashed{true, kLater}, Owed{kEarlier}, Owed{kLater}, Complete{}},
                      {{"room in the window", Room{}},
                       {"its result in turn", Result{true}},
                       {"its result too early", Result{false}},
                       {"by multicast in turn", Early{true}},
                       {"by multicast too early", Early{false}},
                       {"its turn", Turn{}},
                       {"condemned", Condemned{}},
                       {"timeout", Timeout{}}},
                      Limits{kResend}, step);
  return out;
}

std::string memberships() {
  using namespace membership;
  std::string out;
  print<State, Event>(out, "a member",
                      {Joining{kEarlier}, Joining{kLater, true}, Standing{}, Standing{true}, Condemned{Sequence{7}},
                       Condemned{Sequence{7}, true}, Departing{Sequence{9}, false, kEarlier},
                       Departing{Sequence{7}, true, kLater}, Left{}, Refused{}, Lost{}},
                      {{"joined", JoinedCame{}},
                       {"refused", RefusedCame{}},
                       {"verdict from 7", VerdictCame{Sequence{7}}},
                       {"epoch over", EpochOver{}},
                       {"leave wanted", LeaveWanted{}},
                       {"drained at 9", Drained{Sequence{9}}},
                       {"leave answered", LeaveAnswered{}},
                       {"number reused", NumberReused{}},
                       {"timeout", Timeout{}}},
                      Limits{kResend}, step);
  return out;
}

std::string open_requests() {
  using namespace open_request;
  std::string out;
  print<State, Event>(out, "an Open", {Asking{kEarlier}, Asking{kLater}, Opened{GroupId{65537}}, Refused{}, Lost{}},
                      {{"opened", OpenedCame{GroupId{131073}}},
                       {"refused", RefusedCame{}},
                       {"link closed", LinkClosed{}},
                       {"timeout", Timeout{}}},
                      Limits{kResend}, step);
  return out;
}

TEST(Machines, every_state_with_every_event_is_as_the_golden_file_says) {
  sumac::test::expect_golden(
      "src/proto/testdata/machines.txt",
      "Every state of every small machine with every event. The time is 100 ms, unanswered messages are sent again "
      "after 20 ms.\n" +
          node_numbers() + group_lives() + member_numbers() + memberships() + open_requests());
}

TEST(Machines, nothing_is_repeated_where_the_hop_is_reliable) {
  const node_number::Limits reliable{set_of({0}), false, Duration{0}};
  const auto step = node_number::step(node_number::Idle{}, node_number::Contribution{}, kNow, reliable);
  EXPECT_EQ(std::get<node_number::AwaitingParent>(step.state).resend_at, kNever);
  const auto join = group_life::step(group_life::Absent{}, group_life::Join{.completes = true}, kNow, {});
  EXPECT_EQ(std::get<group_life::AwaitingJoined>(join.state).resend_at, kNever);
  const auto sent = member_number::step(member_number::Waiting{}, member_number::Room{}, kNow, {});
  EXPECT_EQ(std::get<member_number::Sent>(sent.state).resend_at, kNever);
}

TEST(Machines, of_256_children_the_last_one_completes_the_number) {
  node_number::Limits limits;
  for (std::uint32_t child = 0; child < ChildSet::kMax; ++child) limits.children.add(child);
  node_number::State state = node_number::Idle{};
  for (std::uint32_t child = 0; child < ChildSet::kMax; ++child) {
    const auto [next, actions] = node_number::step(state, node_number::Contribution{child, 1, child}, kNow, limits);
    const bool last = child + 1 == ChildSet::kMax;
    ASSERT_EQ(actions.size(), last ? 2u : 1u) << child;
    state = next;
  }
  const auto& up = std::get<node_number::AwaitingParent>(state);
  EXPECT_EQ(up.members, 256u);
  EXPECT_EQ(up.origin, 0u);
}

}  // namespace
}  // namespace sumac::proto
