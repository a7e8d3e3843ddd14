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
  return std::visit(
      overloaded{[](const Idle&) -> std::string { return "Idle"; },
                 [](const Collecting& s) {
                   return fmt::format("Collecting({} in, {} members, origin {})", s.in.size(), s.members, s.origin);
                 },
                 [](const Relaying& s) {
                   return fmt::format("Relaying({} in, {} members, origin {})", s.in.size(), s.members, s.origin);
                 },
                 [](const Unclosed& s) {
                   return fmt::format("Unclosed({} in, {} members, origin {})", s.in.size(), s.members, s.origin);
                 },
                 [](const AwaitingParent& s) {
                   return fmt::format("AwaitingParent({} members, origin {}, again at {})", s.members, s.origin,
                                      text(s.resend_at));
                 },
                 [](const Answered&) -> std::string { return "Answered"; }},
      state);
}
std::string text(const node_number::Action& action) {
  static constexpr const char* kNames[] = {"take",    "add",        "send_up", "relay",   "send_rest", "answer_all",
                                           "forward", "answer_one", "report",  "release", "ignore"};
  return kNames[static_cast<std::size_t>(action.kind)];
}

std::string text(const group_life::State& state) {
  using namespace group_life;
  static constexpr const char* kNames[] = {"Absent",    "Collecting", "AwaitingJoined", "Standing", "Condemned",
                                           "Departing", "Deserted",   "Refusing",       "Refused",  "Passing",
                                           "Left"};
  if (const auto* s = std::get_if<Deserted>(&state))
    return fmt::format("Deserted(over for {}, reported {}{}, again at {})", static_cast<int>(s->why.reason),
                       s->reported.culprit, s->leave ? fmt::format(", leaves with {}", *s->leave) : "",
                       text(s->resend_at));
  std::string held;
  const auto hold = [&](const std::string& one) { held += (held.empty() ? "" : ", ") + one; };
  std::visit(
      [&](const auto& s) {
        if constexpr (requires { s.verdict; }) hold(fmt::format("from {}", s.verdict.first_failed));
        if constexpr (requires { s.refused; }) hold(fmt::format("reason {}", static_cast<int>(s.refused.reason)));
        if constexpr (requires { s.from; }) hold(fmt::format("leave {} of link {}", s.leave.sequence, s.from.value));
        if constexpr (requires { s.why->reason; })
          if (s.why) hold(fmt::format("over for {}", static_cast<int>(s.why->reason)));
        if constexpr (requires { s.reported->culprit; })
          if (s.reported) hold(fmt::format("reported {}", s.reported->culprit));
        if constexpr (requires { s.resend_at; })
          if (s.resend_at != kNever || !requires { s.reported; }) hold("again at " + text(s.resend_at));
      },
      state);
  return kNames[state.index()] + (held.empty() ? "" : "(" + held + ")");
}
std::string text(const group_life::Action& action) {
  using namespace group_life;
  const auto reason = [](const auto& body) { return static_cast<int>(body.reason); };
  return std::visit(
      overloaded{
          [](const Ignore&) -> std::string { return "ignore"; },
          [](const Count& a) { return fmt::format("count link {}", a.from.value); },
          [](const JoinUp&) -> std::string { return "join up"; },
          [](const Stand& a) -> std::string { return a.above ? "stand as answered" : "stand as root"; },
          [](const JoinedOne& a) { return fmt::format("joined to link {}", a.to.value); },
          [&](const RefuseAll& a) { return fmt::format("refuse all for {}", reason(a.refused)); },
          [&](const RefuseOne& a) { return fmt::format("refuse link {} for {}", a.to.value, reason(a.refused)); },
          [&](const RefuseUp& a) { return fmt::format("refuse up for {}", reason(a.refused)); },
          [](const FreeId&) -> std::string { return "free id"; },
          [](const TroubleUp& a) { return fmt::format("trouble of {} up{}", a.body.culprit, a.again ? " again" : ""); },
          [](const VerdictAll& a) {
            return fmt::format("verdict on {} from {} to all", a.verdict.body.culprit, a.verdict.first_failed);
          },
          [](const VerdictOne& a) {
            return fmt::format("verdict on {} from {} to link {}", a.verdict.body.culprit, a.verdict.first_failed,
                               a.to.value);
          },
          [&](const OverAll& a) { return fmt::format("over all for {}", reason(a.why)); },
          [](const LeaveUp& a) { return fmt::format("leave {} up", a.leave); },
          [](const LeaveDone& a) { return fmt::format("leave {} done", a.leave); },
          [](const PassUp& a) { return fmt::format("pass up leave {}", a.leave.sequence); },
          [](const AnswerLeave& a) { return fmt::format("answer leave {} of link {}", a.leave.sequence, a.to.value); },
          [](const NumbersUp&) -> std::string { return "numbers up"; }},
      action);
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
  static constexpr const char* kNames[] = {"send",    "send_and_deliver", "stash",   "settle", "ask_again",
                                           "deliver", "forget",           "offence", "ignore"};
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
                                               Relaying{},
                                               Relaying{set_of({0, 1}), 2, 4},
                                               Unclosed{},
                                               Unclosed{set_of({0, 1}), 2, 4},
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
      {"the last data, by child 2", Contribution{.child = 2, .origin = 2, .completes = true}},
      {"the last data, ahead of child 2", Contribution{.child = 2, .origin = 2, .completes = true, .ahead = true}},
      {"the parent's result", ParentResult{}},
      {"the parent's result of a prompt number", ParentResult{true}},
      {"closed", Closed{}},
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
  using wire::RefuseReason;
  std::string out;
  // Values that tell apart what a state held before from what the event brings: links 1 and 2, numbers 5 to 9.
  const auto trouble = [](std::uint32_t culprit) {
    wire::TroubleBody body;
    body.culprit = culprit;
    return body;
  };
  const auto refused = [](RefuseReason reason) {
    wire::RefusedBody body;
    body.reason = reason;
    return body;
  };
  const auto leave = [](std::uint32_t number) {
    wire::AggHeader header;
    header.sequence = Sequence{number};
    return header;
  };
  const Verdict earlier{trouble(3), Sequence{5}};
  const auto no_ost = refused(RefuseReason::no_ost), lost = refused(RefuseReason::member_lost);
  const wire::OverBody by_manager{wire::OverReason::manager, {}, {}};
  const std::initializer_list<State> states = {Absent{},
                                               Collecting{},
                                               AwaitingJoined{kEarlier},
                                               AwaitingJoined{kLater},
                                               Standing{},
                                               Standing{trouble(3), kEarlier},
                                               Standing{trouble(3), kLater},
                                               Condemned{earlier},
                                               Departing{earlier, kEarlier},
                                               Departing{earlier, kLater},
                                               Deserted{by_manager, trouble(3), {}, kEarlier},
                                               Deserted{by_manager, trouble(3), Sequence{5}, kLater},
                                               Refusing{no_ost, kEarlier},
                                               Refusing{no_ost, kLater},
                                               Refused{no_ost},
                                               Passing{leave(6), LinkId{1}, kEarlier},
                                               Passing{leave(6), {}, kNever},
                                               Left{}};
  const std::initializer_list<Row<Event>> events = {
      {"a first join", Join{.from = LinkId{2}, .refused = refused(RefuseReason::bad_path)}},
      {"a join again", Join{.from = LinkId{2}, .counted = true}},
      {"a join that disagrees", Join{.from = LinkId{2}, .objected = true, .refused = refused(RefuseReason::bad_path)}},
      {"the last join", Join{.from = LinkId{2}, .completes = true, .refused = refused(RefuseReason::bad_path)}},
      {"joined from above", JoinedAbove{}},
      {"refused from above", RefusedAbove{lost}},
      {"refused from below", RefusedBelow{LinkId{2}, lost}},
      {"a child's link closed", ChildClosed{.trouble = trouble(4), .refused = lost, .first_unanswered = Sequence{7}}},
      {"a child's link closed, it had left",
       ChildClosed{.had_left = true, .trouble = trouble(4), .refused = lost, .first_unanswered = Sequence{7}}},
      {"the last child's link closed",
       ChildClosed{.all_left = true, .trouble = trouble(4), .refused = lost, .first_unanswered = Sequence{7}}},
      {"the parent's link closed", ParentClosed{.leave = leave(8), .refused = lost}},
      {"the parent's link closed during Leave",
       ParentClosed{.leave_under_way = true, .leave = leave(8), .refused = lost}},
      {"the parent is silent", ParentSilent{{.leave = leave(8), .refused = lost}, trouble(2)}},
      {"the parent is silent during Leave",
       ParentSilent{{.leave_under_way = true, .leave = leave(8), .refused = lost}, trouble(2)}},
      {"a daemon is gone and the kernels go on", DaemonGone{{}, trouble(2), leave(8)}},
      {"the parent is ready", ParentReady{}},
      {"over from above", OverAbove{lost, by_manager}},
      {"trouble", Trouble{LinkId{2}, trouble(4), Sequence{7}}},
      {"a verdict from above", VerdictAbove{{trouble(4), Sequence{9}}}},
      {"a leave after the verdict", LeaveAfterVerdict{}},
      {"the last leave after the verdict", LeaveAfterVerdict{true}},
      {"leave of a group below", LeaveBelow{LinkId{2}, leave(8)}},
      {"leave is answered", LeaveAnswered{Sequence{8}, refused(RefuseReason::unknown_group)}},
      {"the job is over", JobOver{refused(RefuseReason::unknown_job), by_manager}},
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
                       {"room, no result needed", Room{false}},
                       {"room too early, no result needed", Room{false, false}},
                       {"its result in turn", Result{true}},
                       {"its result too early", Result{false}},
                       {"closed", Closed{}},
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
                       {"group over", GroupOver{}},
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
