#pragma once
// What the pure engines know of the outside: links, and an outbox that takes what they say. The shell (sharp_an, the
// client library, the simulator) gives every connection a LinkId and brings the messages; no socket, clock or thread
// lives here.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/payload.hpp"
#include "base/result.hpp"
#include "wire/agg.hpp"

namespace sumac::proto {

/// A connection to a peer, in the shell's numbering (a net::ConnId's value, for instance). 0 is none. A value is not
/// used again while anything may still speak of the old connection.
struct LinkId {
  std::uint32_t value = 0;
  friend bool operator==(LinkId, LinkId) = default;
  explicit operator bool() const noexcept { return value != 0; }
};

/// Where an engine's messages go. Called from inside the engine: an implementation must not call back into it.
/// There is no way to say "full": the windows bound what is under way, so the shell queues.
class Outbox {
 public:
  /// contribute, supply, skip, result: a header and user data. With an owner the bytes are kept alive by reference
  /// and are not written again; without one they are the user's and stay as they are until the peer has answered, or
  /// until the operation has failed (the shell then copies or forgets what is still queued: Transport::detach()).
  virtual void send(LinkId to, const wire::AggHeader& header, const Payload& data) = 0;
  /// All other kinds: a header and its body, already little-endian, at most 136 bytes. Copy it before returning.
  virtual void send_control(LinkId to, const wire::AggHeader& header, std::span<const std::byte> body) = 0;
  /// The peer broke a rule (or said goodbye in an impossible way): close its connection, after what was sent to it
  /// has gone out. The engine has forgotten the link already; on_link_closed() for it does nothing.
  virtual void drop(LinkId link, const Error& why) = 0;

 protected:
  ~Outbox() = default;
};

}  // namespace sumac::proto
