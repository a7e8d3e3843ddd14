#pragma once
// The pure engines' view of the outside: links, and an outbox that takes their messages. The shell (sharp_an, the
// client library, the simulator) gives every connection a LinkId and delivers the messages; the engines have no socket,
// clock or thread.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/payload.hpp"
#include "base/result.hpp"
#include "wire/agg.hpp"

namespace sumac::proto {

/// A connection to a peer, as numbered by the shell (a net::ConnId's value, for instance); 0 is none. A value is not
/// used again while a message or an engine may still refer to the old connection.
struct LinkId {
  std::uint32_t value = 0;
  friend bool operator==(LinkId, LinkId) = default;
  explicit operator bool() const noexcept { return value != 0; }
};

/// Results that reach all members of a group at once, beside the copies on the links. A node implements the first two
/// functions, a member's process the third.
class Multicast {
 public:
  /// A group stands whose root this node is: fills in the address where its members may listen, and the key of its
  /// tags. Returns false when there is no multicast.
  virtual bool invite(GroupId /*group_id*/, wire::InvitedBody& /*to*/) { return false; }
  /// Sends the result of a number to all members that listen; nobody confirms its arrival. Returns false when sending
  /// failed: then nothing more is multicast for this group.
  virtual bool send(const wire::InvitedBody& /*to*/, const wire::AggHeader& /*header*/,
                    std::span<const std::byte> /*data*/) {
    return false;
  }
  /// A member of this group stopped listening: too few results came first by multicast.
  virtual void stopped_listening(LinkId /*leaf*/, GroupId /*group_id*/) {}

 protected:
  ~Multicast() = default;
};

class DatagramNode;

/// Takes an engine's messages. The engine calls it from inside: an implementation must not call back into the engine.
/// No call can report "full": the windows bound the messages in flight, so the shell queues.
class Outbox {
 public:
  /// Sends a contribute, supply, skip or result: a header and user data. Data with an owner are kept alive by reference
  /// and are not written again. Data without an owner belong to the user and stay unchanged until the peer has
  /// answered, or until the operation has failed (the shell then copies or forgets the queued data:
  /// Transport::detach()).
  virtual void send(LinkId to, const wire::AggHeader& header, const Payload& data) = 0;
  /// As send(), for data of an operation that is over at this member with the call: it waits for no answer. Such messages
  /// may share a packet.
  virtual void send_in_row(LinkId to, const wire::AggHeader& header, const Payload& data) { send(to, header, data); }
  /// Sends a contribution without data that only closes a number. It may be held back until another message goes on any link,
  /// until `most` are held, or until there is nothing to read.
  virtual void send_later(LinkId to, const wire::AggHeader& header, std::uint32_t /*most*/) { send(to, header, {}); }
  /// Sends all other kinds: a header and its body, already little-endian, at most 192 bytes. The implementation copies
  /// the body before it returns.
  virtual void send_control(LinkId to, const wire::AggHeader& header, std::span<const std::byte> body) = 0;
  /// The peer broke a rule (or ended the connection in an impossible state): close its connection after everything
  /// queued for it has been sent. The engine has forgotten the link already; on_link_closed() for it does nothing.
  virtual void drop(LinkId link, const Error& why) = 0;

  /// This link has proven its identity: a node, or a rank of this job. The shell may now serve it in rotation with
  /// other jobs and send heartbeats on it.
  virtual void greeted(LinkId /*link*/, wire::Role /*role*/, JobId /*job_id*/) {}
  /// The peer of this link may leave at most `bytes` of buffers unread (as BufferPool counts them): that is what the
  /// windows of its groups allow. More proves that it sends without reading; then its link ends, and on_link_closed()
  /// follows.
  virtual void allow(LinkId /*link*/, std::size_t /*bytes*/) {}
  /// Returns the bytes of buffers that wait to be sent on this link.
  virtual std::size_t held(LinkId /*link*/) const { return 0; }

  /// Returns null where there is no multicast.
  virtual Multicast* multicast() { return nullptr; }
  /// At a node: returns null where no kernel answers datagrams.
  virtual DatagramNode* datagram_node() { return nullptr; }
  /// At a member: sends a datagram to the node of this link. It may be lost.
  virtual void send_datagram(LinkId /*to*/, std::span<const std::byte> /*frame*/) {}
  /// At a member: the datagram of an operation may be lost. tick() is called in time also while the program computes. `is_over`: the
  /// operation is; otherwise its caller mostly waits for it soon.
  virtual void await_datagrams(bool /*is_over*/) {}
  /// At a member: from now on this group's operations go by the links alone.
  virtual void datagrams_fail(GroupId /*group_id*/) {}

 protected:
  ~Outbox() = default;
};

}  // namespace sumac::proto
