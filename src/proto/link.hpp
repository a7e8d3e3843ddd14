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
  /// All other kinds: a header and its body, already little-endian, at most 192 bytes. Copy it before returning.
  virtual void send_control(LinkId to, const wire::AggHeader& header, std::span<const std::byte> body) = 0;
  /// The peer broke a rule (or said goodbye in an impossible way): close its connection, after what was sent to it
  /// has gone out. The engine has forgotten the link already; on_link_closed() for it does nothing.
  virtual void drop(LinkId link, const Error& why) = 0;

  /// This link has proven who it is: a node, or a rank of this job. Jobs take turns with one another; everybody hears that this node
  /// lives.
  virtual void greeted(LinkId /*link*/, wire::Role /*role*/, std::uint64_t /*job_id*/) {}
  /// The peer of this link may leave at most so many bytes of buffers lying (as BufferPool counts them): what the windows of its groups
  /// allow. More proves that it sends without reading; its link ends, and on_link_closed() follows.
  virtual void allow(LinkId /*link*/, std::size_t /*bytes*/) {}
  /// Bytes of buffers that wait to go out on this link.
  virtual std::size_t held(LinkId /*link*/) const { return 0; }

  // Multicast; who has none leaves these as they are.

  /// A member of this group that listened does so no longer: too little came that way first.
  virtual void stopped_listening(LinkId /*leaf*/, std::uint32_t /*group_id*/) {}
  /// A group stands whose root this node is: where its members may listen, and the key of its tags. False: there is no multicast.
  virtual bool invite(std::uint32_t /*group_id*/, wire::InvitedBody& /*to*/) { return false; }
  /// The result of a number, to all who listen: nobody hears whether it came. False: it can't be sent, and will not be for this group.
  virtual bool multicast(const wire::InvitedBody& /*to*/, const wire::AggHeader& /*header*/,
                         std::span<const std::byte> /*data*/) {
    return false;
  }

 protected:
  ~Outbox() = default;
};

}  // namespace sumac::proto
