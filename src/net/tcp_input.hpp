#pragma once
// Decides whether a TCP connection is read, and what it waits for otherwise. Pure, like tcp_life.hpp: the transport
// steps it when reading stops or goes on. Each large message does that twice, so the step is inline and its states,
// which have no data, are numbers. testdata/tcp_machines.txt lists every state with every event.
#include <cstdint>

namespace sumac::net::tcp_input {

enum class State : std::uint8_t {
  reading,
  asking,   ///< All earlier messages must be delivered first; then memory is chosen for the one that has begun.
  stalled,  ///< A message waits for a buffer.
  muted,    ///< The peer must first read the answers that wait for it.
};

/// Input that is not read is not watched either, because epoll would report it again and again. What `asking` waits for
/// happens in the same pass.
constexpr bool is_watched(State state) noexcept { return state == State::reading || state == State::asking; }

enum class Event : std::uint8_t {
  asked,      ///< A read has found a message whose memory must be chosen, or has to wait for deliveries.
  no_buffer,  ///< The pool has no buffer for the next message.
  went_on,    ///< All bytes that a read had left behind are processed.
  too_many_answers,
  answers_taken,
  hung_up,  ///< epoll reports input or an end, although the connection is not read.
};

/// The next state and what the transport does about it.
struct Step {
  enum class Watch : std::uint8_t { as_before, begin, stop };
  State state;
  bool listed = false;             ///< Put the connection on the list of those that ask, or that are stalled.
  Watch watch = Watch::as_before;  ///< Whether epoll reports input.
  const char* failure = nullptr;   ///< End the connection for this reason.
};

constexpr Step step(State state, Event event) noexcept {
  using enum State;
  using Watch = Step::Watch;
  const bool was_watched = is_watched(state);
  switch (event) {
    case Event::asked:
      if (state == muted) break;  // A muted connection left no bytes behind and is not read.
      return {.state = asking, .listed = true, .watch = was_watched ? Watch::as_before : Watch::begin};
    case Event::no_buffer:
      if (state == muted) break;
      return {.state = stalled, .listed = true, .watch = was_watched ? Watch::stop : Watch::as_before};
    case Event::went_on:
      if (state == muted) break;
      return {.state = reading, .watch = was_watched ? Watch::as_before : Watch::begin};
    case Event::too_many_answers:
      if (state != reading) break;
      return {.state = muted, .watch = Watch::stop};
    case Event::answers_taken:
      if (state != muted) break;
      return {.state = reading, .watch = Watch::begin};
    case Event::hung_up:
      // Nothing behind data that waits may be read, and epoll would report the end for ever.
      if (state == stalled)
        return {.state = state, .failure = "connection lost while its messages waited for a buffer"};
      if (state == muted) return {.state = state, .failure = "connection lost before the peer had read its answers"};
      break;  // The next read meets the end.
  }
  return {.state = state};
}

}  // namespace sumac::net::tcp_input
