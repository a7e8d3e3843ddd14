#pragma once
// The machine of a group: operations and messages go in, messages come out. It has no socket and reads no clock; its
// shell (group.hpp) wraps it for a transport, the seeded world of the tests for virtual time.
//
// Short messages go at once, and a member that has not begun the operation keeps them: at most two for each of the
// operations in a window behind the last one that it is known to have begun. A longer message goes only after its
// receiver has announced memory, and is received there. So a member's memory is bounded however far others are ahead.
//
// A group fails as a whole and for good: when a connection is lost, when two members disagree on an operation, or when a
// member has ended an operation and another still waits for its message. Who notices reports it to all.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/payload.hpp"
#include "base/result.hpp"
#include "coll/across.hpp"
#include "p2p/messages.hpp"
#include "p2p/running.hpp"

namespace sumac::p2p {

/// The connections to the other members, all of them proven. Messages of one connection arrive in order.
class Carrier {
 public:
  /// Returns Errc::ok, Errc::again (engine.on_writable() follows) or Errc::lost (engine.on_lost() follows). A body
  /// without an owner is borrowed until its bytes are counted in left().
  virtual Errc send(std::uint32_t peer, std::span<const std::byte> head, const Payload& body) = 0;
  /// The bytes of all messages to this peer that send() took, and the part of them that has left their memory.
  virtual std::uint64_t taken(std::uint32_t peer) const = 0;
  virtual std::uint64_t left(std::uint32_t peer) const = 0;
  /// The group has failed: no memory of an operation may be used from now on. What was sent before still goes.
  virtual void on_failed() = 0;
  /// No memory that is lent to this connection may be used from now on: what is still to be sent is copied, and a message
  /// that is arriving in memory from on_head() comes whole.
  virtual void detach(std::uint32_t peer) = 0;

 protected:
  ~Carrier() = default;
};

struct EngineConfig {
  std::uint32_t rank = 0, size = 1;
  std::uint32_t group = 0;              ///< The group's number on the wire.
  std::uint64_t eager_max = 16 * 1024;  ///< The longest message that goes unannounced.
  std::uint32_t window = 16;  ///< As many operations behind the last one that a member is known to have begun.
  /// After this time without an end a member asks the others how far they are: an operation that they have ended, or
  /// called differently, would never end here.
  Duration ask_after = Seconds{1};
  MessageEvents* messages = nullptr;     ///< Null: the group carries no messages.
  std::uint64_t part_max = kMessageMax;  ///< The bytes of one part of a message.
  std::function<std::string(std::uint32_t)> name = [](std::uint32_t peer) { return fmt::format("rank {}", peer); };
};

class Engine {
 public:
  using Progress = coll::Across::Progress;

  Engine(const EngineConfig& config, Carrier& carrier, BufferPool& pool);

  // ---- the user's side
  /// `request` is set if the result is `pending`.
  Progress start(const coll::Operation& operation, Algorithm algorithm, void*& request, Time now) {
    return start(operation, algorithm, false, request, now);
  }
  /// An alltoallv whose blocks are known to two members only; not every member calls it.
  Progress start_direct(const coll::Operation& operation, void*& request, Time now) {
    return start(operation, Algorithm::exchange, true, request, now);
  }
  Progress test(void* request);
  /// Call it after events, and when next_due() has come.
  void settle(Time now);
  Time next_due() const;
  /// Reports to all that this member sends nothing more. Every operation has ended. Returns false while it must be
  /// called again, after settle().
  bool leave();
  /// Ends the group for this member and reports it to the others.
  void fail(Error why);

  /// True if the member has reported that it sends nothing more.
  bool has_left(std::uint32_t peer) const noexcept { return peers_[peer].has_left; }

  Messages* messages() noexcept { return messages_.get(); }

  bool is_idle() const noexcept { return live_.empty(); }
  std::size_t live() const noexcept { return live_.size(); }  ///< Operations under way.
  const std::optional<Error>& failure() const noexcept { return failure_; }

  // ---- the carrier's side
  void on_message(std::uint32_t peer, const BufferRef& frame);
  /// The memory for the bytes behind the head of a long message; empty if it is not one that may come.
  std::span<std::byte> on_head(std::uint32_t peer, std::span<const std::byte, wire::kPeerHeaderBytes> head,
                               std::size_t payload);
  void on_placed(std::uint32_t peer);
  void on_writable(std::uint32_t peer);
  void on_lost(std::uint32_t peer, const Error& why);

  /// The memory kept for messages that came too early.
  std::size_t early_bytes() const noexcept;

 private:
  /// A message for an operation that this member has not begun.
  struct Unexpected {
    std::uint32_t peer = 0;
    wire::PeerHeader header;
    BufferRef frame;
  };
  struct Leaving {
    Running* running = nullptr;
    std::uint32_t step = 0;
    std::uint64_t mark = 0;  ///< The send is over when so many bytes have left.
  };
  struct Peer {
    std::uint32_t begun = 0;  ///< Operations that it is known to have begun.
    std::uint32_t direct_out = 0, direct_in = 0;
    std::uint32_t unexpected = 0;
    std::optional<std::uint32_t> asked_begun;  ///< Answered when `begun` is greater.
    std::optional<std::uint32_t> wants_begun, wants_ended;
    std::optional<wire::PeerTerms> wants_terms;  ///< Its terms for the operation `wants_ended`, until we begin it.
    bool is_full = false, has_left = false, owes_tell = false;
    std::vector<Leaving> leaving;
    std::unique_ptr<std::byte[]> scratch;  ///< Receives long messages that are added to something.
    std::size_t scratch_bytes = 0;
    Running* placing = nullptr;  ///< The operation of the message that is arriving in memory of ours.
    bool is_told_to_leave = false;
  };

  Progress start(const coll::Operation& operation, Algorithm algorithm, bool is_direct, void*& request, Time now);
  wire::PeerTerms terms_of(const coll::Operation& operation, Algorithm algorithm, bool is_direct) const;
  wire::PeerHeader header(wire::PeerKind kind) const;
  Errc send(std::uint32_t peer, const wire::PeerHeader& header, const Payload& body = {});
  bool is_before_window(std::uint32_t peer, std::uint32_t sequence);
  Errc send_user_message(std::uint32_t peer, wire::PeerKind kind, std::uint32_t sequence, std::uint32_t index,
                         const Payload& body);
  void on_user_message(std::uint32_t peer, const wire::PeerHeader& header, const BufferRef& frame);

  void run(Running& running);
  void pump_out(Running& running, Lane& lane);
  bool send_next(Running& running, Lane& lane);
  void pump_in(Running& running, Lane& lane);
  void announce(Running& running, Lane& lane);
  void pump_peer(std::uint32_t peer);
  void sweep(std::uint32_t peer);
  bool complete(Running& running);
  std::optional<std::uint32_t> gone_peer_of(Running& running) const;
  void recycle(Running& running);

  Running* find(std::uint32_t peer, const wire::PeerHeader& header);
  void on_operation(std::uint32_t peer, const wire::PeerHeader& header, const BufferRef& frame);
  void deliver(Running& running, std::uint32_t peer, const wire::PeerHeader& header, const BufferRef& frame);
  void on_ask(std::uint32_t peer, const wire::PeerHeader& header);
  void on_tell(std::uint32_t peer, const wire::PeerHeader& header);
  void on_leave(std::uint32_t peer);
  void answer_asks();
  void ask(Time now);
  bool waits_for(Running& running, std::uint32_t peer);

  void malformed(std::uint32_t peer, std::string_view what);
  void disagree(std::uint32_t peer, std::uint32_t sequence, const wire::PeerTerms& theirs, const wire::PeerTerms& ours);
  void ended_before(std::uint32_t peer, const wire::PeerHeader& header);
  void unlike_sizes(std::uint32_t peer, const wire::PeerHeader& header, std::uint64_t awaited);

  EngineConfig config_;
  Carrier& carrier_;
  BufferPool& pool_;
  std::vector<Peer> peers_;
  std::unique_ptr<Messages> messages_;
  std::vector<std::unique_ptr<Running>> records_;
  std::vector<Running*> spare_, live_;  ///< `live_` is in the order of starting.
  std::vector<Unexpected> unexpected_;
  std::uint32_t begun_ = 0;      ///< Operations begun here, direct ones not counted.
  std::uint32_t all_begun_ = 0;  ///< Operations that every member has begun.
  std::size_t leaving_ = 0;      ///< Sends that are not over, with all peers.
  bool has_asks_ = false;
  bool is_starved_ = false;  ///< The pool had no buffer for a message.
  std::optional<Error> failure_;
  std::optional<std::pair<std::uint32_t, std::string>> faulty_;  ///< Found where the carrier must not be called.
};

/// "allreduce of 8 bytes, float32 sum, by doubling".
std::string text_of(const wire::PeerTerms& terms);

}  // namespace sumac::p2p
