#include "net/tcp_life.hpp"

#include "base/one_of.hpp"

namespace sumac::net::tcp_life {
namespace {

using Stage = Flushing::Stage;

Step ignore(const State& state) { return {state, {}}; }

Step end(State state, bool stranger) {
  return stranger ? Step{std::move(state), {ForgetStranger{}, End{}}} : Step{std::move(state), {End{}}};
}

Step late(const char* what, bool stranger, const Limits& limits) {
  return end(Ended{Error{Errc::timeout, fmt::format("{} in {} ms", what, limits.handshake_timeout.count())}}, stranger);
}

Actions opened(const Greeted& e) {
  if (!e.hello) return {SendAtMost{e.message_max}, TellOpened{}};
  return {Welcome{}, SendAtMost{e.message_max}, TellOpened{}};
}

Step flush(Stage stage, bool stranger, const Closed& e, const Limits& limits) {
  const Flushing next{deadline_after(e.now, limits.linger), stage, stranger};
  return stage == Stage::shut ? Step{next, {Disown{next.deadline}, Shut{}}} : Step{next, {Disown{next.deadline}}};
}

}  // namespace

bool is_stranger(const State& state) noexcept {
  return std::visit(
      []<class S>(const S& s) {
        if constexpr (requires { s.stranger; }) return s.stranger;
        return std::same_as<S, Unproven>;
      },
      state);
}

Time deadline(const State& state) noexcept {
  return std::visit(
      [](const auto& s) {
        if constexpr (requires { s.deadline; })
          return s.deadline;
        else
          return kNever;
      },
      state);
}

Step step(const State& state, const Event& event, const Limits& limits) {
  return std::visit(
      overloaded{
          [&](const Connecting& s, const Connected&) -> Step {
            return {Greeting{s.deadline}, {Start{}}};
          },
          [&](const Flushing& s, const Connected&) -> Step {
            if (s.stage != Stage::connecting) return ignore(s);
            return {Flushing{s.deadline, Stage::sending, s.stranger}, {Start{}}};
          },
          [&]<OneOf<Greeting, Unproven, Open, Gone, Ended> S>(const S& s, const Connected&) -> Step {
            return ignore(s);
          },

          [&](const Greeting& s, const Greeted& e) -> Step {
            if (s.stranger) return {Unproven{s.deadline}, opened(e)};
            return {Open{}, opened(e)};
          },
          // Only the side that connected can be closed before the greeting. It awaits a welcome, which needs no answer.
          [&]<OneOf<Connecting, Unproven, Open, Flushing, Gone, Ended> S>(const S& s, const Greeted&) -> Step {
            return ignore(s);
          },

          [&](const Unproven&, const Admitted&) -> Step {
            return {Open{}, {ForgetStranger{}, AcceptAtMost{limits.message_max}}};
          },
          [&](const Flushing& s, const Admitted&) -> Step {
            if (!s.stranger) return ignore(s);
            return {Flushing{s.deadline, s.stage, false}, {ForgetStranger{}, AcceptAtMost{limits.message_max}}};
          },
          [&]<OneOf<Connecting, Greeting, Open, Gone, Ended> S>(const S& s, const Admitted&) -> Step {
            return ignore(s);
          },

          [&](const Open&, const Estranged&) -> Step {
            return {Unproven{kNever}, {CountStranger{}}};
          },
          [&](const Flushing& s, const Estranged&) -> Step {
            if (s.stranger) return ignore(s);
            return {Flushing{s.deadline, s.stage, true}, {CountStranger{}}};
          },
          [&]<OneOf<Connecting, Greeting, Unproven, Gone, Ended> S>(const S& s, const Estranged&) -> Step {
            return ignore(s);
          },

          [&](const Connecting& s, const Closed& e) -> Step {
            if (!e.flush) return {s, {Drop{}}};
            return flush(Stage::connecting, false, e, limits);
          },
          [&]<OneOf<Greeting, Unproven, Open> S>(const S& s, const Closed& e) -> Step {
            if (!e.flush) return {s, {Drop{}}};
            return flush(e.all_sent ? Stage::shut : Stage::sending, is_stranger(s), e, limits);
          },
          [&]<OneOf<Flushing, Gone> S>(const S& s, const Closed& e) -> Step {
            return e.flush ? ignore(s) : Step{s, {Drop{}}};
          },
          [&](const Ended& s, const Closed&) -> Step {
            return {s, {Drop{}}};
          },

          // Closing now could destroy the bytes in flight, because a socket closed with unread input sends a reset. So
          // only our direction ends, and the peer's is read until it ends as well.
          [&](const Flushing& s, const AllSent&) -> Step {
            if (s.stage != Stage::sending) return ignore(s);
            return {Flushing{s.deadline, Stage::shut, s.stranger}, {Shut{}}};
          },
          [&]<OneOf<Connecting, Greeting, Unproven, Open, Gone, Ended> S>(const S& s, const AllSent&) -> Step {
            return ignore(s);
          },

          [&](const Connecting&, const Timeout&) -> Step { return late("no connection", false, limits); },
          [&](const Greeting& s, const Timeout&) -> Step { return late("no greeting", s.stranger, limits); },
          [&](const Unproven&, const Timeout&) -> Step { return late("it did not prove its identity", true, limits); },
          [&](const Flushing& s, const Timeout&) -> Step { return end(Gone{}, s.stranger); },
          [&]<OneOf<Open, Gone, Ended> S>(const S& s, const Timeout&) -> Step { return ignore(s); },

          [&]<OneOf<Connecting, Greeting, Unproven, Open> S>(const S& s, const Failed& e) -> Step {
            return end(Ended{e.why}, is_stranger(s));
          },
          [&](const Flushing& s, const Failed&) -> Step { return end(Gone{}, s.stranger); },
          // Only the first reason counts.
          [&]<OneOf<Gone, Ended> S>(const S& s, const Failed&) -> Step { return ignore(s); },
      },
      state, event);
}

}  // namespace sumac::net::tcp_life
