#pragma once
// The life of one TCP connection, from connect or accept to its end. Pure: it knows no socket and reads no clock. The
// transport steps it when something happens to the connection and performs the actions. A message is no event here: it
// only asks the state, so the machine costs it nothing. testdata/tcp_machines.txt lists every state with every event.
#include <cstdint>
#include <variant>

#include "base/clock.hpp"
#include "base/inline_vec.hpp"
#include "base/result.hpp"

namespace sumac::net::tcp_life {

struct Connecting {  ///< The kernel's handshake is in progress.
  Time deadline = kNever;
  friend bool operator==(const Connecting&, const Connecting&) = default;
};
struct Greeting {  ///< Our handshake is in progress: hello or welcome is awaited.
  Time deadline = kNever;
  bool stranger = false;  ///< The peer was accepted and has to prove its identity.
  friend bool operator==(const Greeting&, const Greeting&) = default;
};
struct Unproven {          ///< The connection is open to a stranger.
  Time deadline = kNever;  ///< kNever after an earlier admission: then only other strangers can displace this one.
  friend bool operator==(const Unproven&, const Unproven&) = default;
};
struct Open {
  friend bool operator==(const Open&, const Open&) = default;
};
/// The user has closed the connection: the queue is still sent, then the peer's end of stream is awaited.
struct Flushing {
  enum class Stage : std::uint8_t {
    connecting,  ///< The kernel's handshake is in progress.
    sending,
    shut,  ///< Our direction of the stream has ended.
  };
  Time deadline = kNever;
  Stage stage = Stage::sending;
  bool stranger = false;
  friend bool operator==(const Flushing&, const Flushing&) = default;
};
struct Gone {  ///< The connection has ended after its user had closed it: nobody is informed.
  friend bool operator==(const Gone&, const Gone&) = default;
};
struct Ended {  ///< The connection has ended: its user learns why.
  Error why;
};
using State = std::variant<Connecting, Greeting, Unproven, Open, Flushing, Gone, Ended>;

template <class... States>
bool is_any(const State& state) noexcept {
  return (std::holds_alternative<States>(state) || ...);
}
inline bool is_over(const State& state) noexcept { return is_any<Gone, Ended>(state); }
inline bool is_disowned(const State& state) noexcept { return is_any<Flushing, Gone>(state); }
inline bool is_connecting(const State& state) noexcept {
  const auto* flushing = std::get_if<Flushing>(&state);
  return is_any<Connecting>(state) || (flushing != nullptr && flushing->stage == Flushing::Stage::connecting);
}
bool is_stranger(const State& state) noexcept;
Time deadline(const State& state) noexcept;

struct Connected {};
struct Greeted {       ///< The peer's greeting has arrived.
  bool hello = false;  ///< It awaits an answer.
  std::uint32_t message_max = 0;
};
struct Admitted {};   ///< The user knows who the peer is.
struct Estranged {};  ///< The user's reason for the admission is over.
struct Closed {       ///< The user has closed the connection.
  Time now{};
  bool flush = false;
  bool all_sent = false;
};
struct AllSent {};
struct Timeout {};  ///< The state's deadline has passed.
struct Failed {     ///< The socket, the peer's bytes or its silence end the connection.
  Error why;
};
using Event = std::variant<Connected, Greeted, Admitted, Estranged, Closed, AllSent, Timeout, Failed>;

struct Limits {
  Millis handshake_timeout{0}, linger{0};
  std::size_t message_max = 0;
};

struct Start {};    ///< Watch the socket in both directions and send the queue, in which the greeting is the first.
struct Welcome {};  ///< Answer the peer's greeting with ours.
struct SendAtMost {
  std::uint32_t bytes = 0;  ///< The longest message that the peer accepts; 0 means any.
};
struct AcceptAtMost {
  std::size_t bytes = 0;  ///< The longest message that this side accepts.
};
struct TellOpened {};      ///< Note on_accepted or on_connected.
struct CountStranger {};   ///< If there are too many strangers, displace the oldest.
struct ForgetStranger {};  ///< There is room for another stranger.
struct Disown {            ///< Copy the data that the queue borrowed, and expect the end until `deadline`.
  Time deadline = kNever;
};
struct Shut {};  ///< End our direction of the stream.
struct End {};   ///< Close the socket, empty the queue and note on_closed.
struct Drop {};  ///< Forget the connection at once.
using Action = std::variant<Start, Welcome, SendAtMost, AcceptAtMost, TellOpened, CountStranger, ForgetStranger, Disown,
                            Shut, End, Drop>;
using Actions = InlineVec<Action, 3>;

struct Step {
  State state;
  Actions actions;
};
Step step(const State& state, const Event& event, const Limits& limits);

}  // namespace sumac::net::tcp_life
