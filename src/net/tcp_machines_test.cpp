// Prints every state of the machines of a TCP connection with every event and compares it with
// testdata/tcp_machines.txt: a change of behaviour shows as a line in the diff. Accept it with SUMAC_UPDATE_GOLDEN=1
// net_test --gtest_filter='TcpMachines.*'
#include <gtest/gtest.h>

#include <string>

#include "base/test_golden.hpp"
#include "net/tcp_input.hpp"
#include "net/tcp_life.hpp"

namespace sumac::net {
namespace {

constexpr tcp_life::Limits kLimits{Millis{5000}, Millis{2000}, 4096};
constexpr Time kNow = at(Millis(100)), kLater = at(Millis(900));

using test::Row;
using test::text;

std::string text(const tcp_life::State& state) {
  using namespace tcp_life;
  static constexpr const char* kStages[] = {"connecting", "sending", "shut"};
  const auto stranger = [](bool is_one) { return is_one ? ", stranger" : ""; };
  return std::visit(overloaded{
                        [](const Connecting& s) { return fmt::format("Connecting(until {})", text(s.deadline)); },
                        [&](const Greeting& s) {
                          return fmt::format("Greeting(until {}{})", text(s.deadline), stranger(s.stranger));
                        },
                        [](const Unproven& s) { return fmt::format("Unproven(until {})", text(s.deadline)); },
                        [](const Open&) -> std::string { return "Open"; },
                        [&](const Flushing& s) {
                          return fmt::format("Flushing({}, until {}{})", kStages[static_cast<std::size_t>(s.stage)],
                                             text(s.deadline), stranger(s.stranger));
                        },
                        [](const Gone&) -> std::string { return "Gone"; },
                        [](const Ended& s) { return fmt::format("Ended({})", s.why.context); },
                    },
                    state);
}

std::string text(const tcp_life::Action& action) {
  using namespace tcp_life;
  return std::visit(overloaded{
                        [](const Start&) -> std::string { return "start"; },
                        [](const Welcome&) -> std::string { return "welcome"; },
                        [](const SendAtMost& a) { return fmt::format("send at most {} bytes", a.bytes); },
                        [](const AcceptAtMost& a) { return fmt::format("accept at most {} bytes", a.bytes); },
                        [](const TellOpened&) -> std::string { return "tell opened"; },
                        [](const CountStranger&) -> std::string { return "count stranger"; },
                        [](const ForgetStranger&) -> std::string { return "forget stranger"; },
                        [](const Disown& a) { return fmt::format("disown until {}", text(a.deadline)); },
                        [](const Shut&) -> std::string { return "shut"; },
                        [](const End&) -> std::string { return "end"; },
                        [](const Drop&) -> std::string { return "drop"; },
                    },
                    action);
}

std::string text(tcp_input::State state) {
  static constexpr const char* kNames[] = {"reading", "asking", "stalled", "muted"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string texts(const tcp_input::Step& step) {
  static constexpr const char* kWatch[] = {"", ", watch input", ", ignore input"};
  const std::string line =
      fmt::format("{}{}{}{}", step.listed ? ", list" : "", kWatch[static_cast<std::size_t>(step.watch)],
                  step.failure == nullptr ? "" : ", fail: ", step.failure == nullptr ? "" : step.failure);
  return line.empty() ? "nothing" : line.substr(2);
}

std::string texts(const tcp_life::Step& step) {
  std::string line;
  for (const auto& action : step.actions) line += (line.empty() ? "" : ", ") + text(action);
  return line.empty() ? "nothing" : line;
}

template <std::size_t N, class State, std::size_t M, class Event, class Function>
std::string table(const char* title, const State (&states)[N], const Row<Event> (&events)[M], const Function& step) {
  std::string out = fmt::format("\n== {} ==\n", title);
  for (const auto& state : states)
    for (const auto& [name, event] : events) {
      const auto next = step(state, event);
      out += fmt::format("{} + {} -> {}: {}\n", text(state), name, text(next.state), texts(next));
    }
  return out;
}

std::string lives() {
  using namespace tcp_life;
  using Stage = Flushing::Stage;
  const State states[] = {Connecting{kLater},
                          Greeting{kLater},
                          Greeting{kLater, true},
                          Unproven{kLater},
                          Unproven{kNever},
                          Open{},
                          Flushing{kLater, Stage::connecting},
                          Flushing{kLater, Stage::sending},
                          Flushing{kLater, Stage::sending, true},
                          Flushing{kLater, Stage::shut},
                          Flushing{kLater, Stage::shut, true},
                          Gone{},
                          Ended{{Errc::lost, "first reason"}}};
  const Row<Event> events[] = {{"connected", Connected{}},
                               {"hello", Greeted{true, 1024}},
                               {"welcome", Greeted{false, 1024}},
                               {"admitted", Admitted{}},
                               {"estranged", Estranged{}},
                               {"closed at once", Closed{kNow}},
                               {"closed with a queue", Closed{kNow, true, false}},
                               {"closed, all sent", Closed{kNow, true, true}},
                               {"all sent", AllSent{}},
                               {"timeout", Timeout{}},
                               {"failed", Failed{{Errc::lost, "reset"}}}};
  return table("the life of a connection", states, events,
               [](const auto& s, const auto& e) { return step(s, e, kLimits); });
}

std::string inputs() {
  using namespace tcp_input;
  const State states[] = {State::reading, State::asking, State::stalled, State::muted};
  const Row<Event> events[] = {{"asked", Event::asked},
                               {"no buffer", Event::no_buffer},
                               {"went on", Event::went_on},
                               {"too many answers", Event::too_many_answers},
                               {"answers taken", Event::answers_taken},
                               {"hung up", Event::hung_up}};
  return table("what a connection reads", states, events, [](State s, Event e) { return step(s, e); });
}

TEST(TcpMachines, EveryStateWithEveryEventIsAsTheGoldenFileSays) {
  test::expect_golden(
      "src/net/testdata/tcp_machines.txt",
      "Every state of the machines of a TCP connection with every event. The time is 100 ms, a handshake may take 5000 "
      "ms, a flush 2000 ms.\n" +
          lives() + inputs());
}

/// Each step that makes or ends a stranger has exactly one such action, or the count of strangers would drift.
TEST(TcpMachines, AStrangerIsForgottenExactlyWhenItIsNoStrangerAnyMore) {
  using namespace tcp_life;
  const State states[] = {Greeting{kLater, true},
                          Unproven{kLater},
                          Unproven{kNever},
                          Open{},
                          Flushing{kLater, Flushing::Stage::sending, true},
                          Flushing{kLater, Flushing::Stage::sending, false}};
  const Event events[] = {Connected{}, Greeted{true, 9}, Admitted{}, Estranged{}, Closed{kNow, true, true},
                          AllSent{},   Timeout{},        Failed{}};
  for (const auto& state : states)
    for (const auto& event : events) {
      const auto [next, actions] = step(state, event, kLimits);
      int change = 0;
      for (const auto& action : actions) {
        change += std::holds_alternative<CountStranger>(action) ? 1 : 0;
        change -= std::holds_alternative<ForgetStranger>(action) ? 1 : 0;
      }
      EXPECT_EQ(change, is_stranger(next) - is_stranger(state)) << text(state) << " -> " << text(next);
    }
}

}  // namespace
}  // namespace sumac::net
