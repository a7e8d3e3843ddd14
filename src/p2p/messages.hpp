#pragma once
// Messages from one member of a group to another, beside the operations. The machine that carries them; which
// receive a message is for, its user decides.
//
// A short message goes at once, with its bytes. A long one is offered, and its bytes go in parts when the receiver has
// memory for them, straight into it. Messages of one sender come in the order in which they were posted. A member sends at
// most kMessagesAhead of them before the receiver has given the first to somebody; the others wait at the sender, so what
// comes too early is bounded. A receiver that waits for a message behind those extends this bound.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/payload.hpp"
#include "base/result.hpp"
#include "wire/peer.hpp"

namespace sumac::p2p {

class Carrier;

inline constexpr std::uint32_t kMessagesAhead = 64;

/// Receives the events of messages. It is called inside a group's calls, and must not call the group or its messages.
class MessageEvents {
 public:
  struct Answer {
    enum class What : std::uint8_t {
      later,  ///< Messages::take() or drop() follows.
      take,
      drop,
    } what = What::later;
    std::byte* memory = nullptr;  ///< For all bytes of the message, if it is taken.
    void* cookie = nullptr;
  };

  /// A short message has come. Returns false if nobody wants it yet: then the user keeps a copy, and Messages::release()
  /// follows.
  virtual bool on_arrived(std::uint32_t peer, std::uint32_t tag, std::span<const std::byte> bytes) = 0;
  /// A long message waits at its sender.
  virtual Answer on_offer(std::uint32_t peer, std::uint32_t number, std::uint32_t tag, std::uint64_t bytes) = 0;
  virtual void on_received(void* cookie) = 0;  ///< All bytes of a message that was taken are there.
  virtual void on_sent(void* cookie) = 0;      ///< The memory of a posted message is the user's again.
  virtual void on_note(std::uint32_t peer, std::uint32_t word, std::uint32_t number) = 0;
  /// The member sends and takes nothing any more: no further event comes for cookies of messages with it.
  virtual void on_left(std::uint32_t peer) = 0;
  virtual void on_failed(const Error& why) = 0;  ///< The group has failed; the same for all cookies.

 protected:
  ~MessageEvents() = default;
};

class Messages {
 public:
  struct Settings {
    std::uint32_t size = 1;
    std::uint64_t eager_max = 0;  ///< The longest payload that goes unasked.
    std::uint64_t part_max = 0;   ///< The bytes of one part; the same at all members.
  };
  /// Sends a message of the group; the result is that of Carrier::send().
  using Send = std::function<Errc(std::uint32_t peer, wire::PeerKind kind, std::uint32_t sequence, std::uint32_t index,
                                  const Payload& body)>;

  Messages(const Settings& settings, Carrier& carrier, BufferPool& pool, MessageEvents& events, Send send);

  // ---- the user's side
  /// on_sent() follows, perhaps inside this call. Returns false if the member has left.
  bool post(std::uint32_t peer, std::uint32_t tag, std::span<const std::byte> bytes, void* cookie);
  /// Takes an offered message; on_received() follows. Returns false if its sender has left.
  bool take(std::uint32_t peer, std::uint32_t number, std::byte* memory, void* cookie);
  void drop(std::uint32_t peer, std::uint32_t number);
  /// A short message that was kept has been given to its receiver.
  void release(std::uint32_t peer);
  /// True if the member may send no further message before one is released, taken or dropped.
  bool is_stuck(std::uint32_t peer) const noexcept;
  /// Lets a stuck member send further messages.
  void extend(std::uint32_t peer);
  /// on_note() follows there.
  void note(std::uint32_t peer, std::uint32_t word, std::uint32_t number);
  /// The memory behind this cookie is not used any more, and no event follows for it. A message that is on its way goes
  /// on from a copy, or is received and forgotten. Returns false if there is no such cookie.
  bool withdraw(const void* cookie);
  /// Withdraws everything at once, for the end of the group: nothing is sent or received any more.
  void close();

  // ---- the engine's side
  /// Returns a text if the message can't be right.
  const char* on_message(std::uint32_t peer, const wire::PeerHeader& header, std::span<const std::byte> body);
  /// The memory for a long part; empty if it comes whole. `flaw_p` is set if it can't be right.
  std::span<std::byte> on_head(std::uint32_t peer, const wire::PeerHeader& header, const char** flaw_p);
  /// Returns false if the placed message was no part of a message.
  bool on_placed(std::uint32_t peer);
  /// Sends to this member what can be sent.
  void pump(std::uint32_t peer);
  /// Ends sends whose bytes have left, and sends what found no buffer.
  void settle();
  /// Parts whose bytes have left, ever: a sender gets no event of them.
  std::uint64_t parts_left() const noexcept { return parts_left_; }
  void on_left(std::uint32_t peer);
  void fail(const Error& why);

 private:
  /// A message between this member and another one, as far as it has come.
  struct Transfer {
    std::uint32_t number = 0;
    void* cookie = nullptr;  ///< Null: it was withdrawn.
    std::uint64_t moved = 0;
    std::uint32_t parts = 0;
  };
  struct Out : Transfer {
    std::uint32_t tag = 0;
    std::span<const std::byte> bytes;
    std::vector<std::byte> own;
  };
  struct In : Transfer {
    std::uint64_t bytes = 0;
    std::byte* memory = nullptr;  ///< Null: its bytes are forgotten.
  };
  struct Control {
    wire::PeerKind kind;
    std::uint32_t sequence, index;
  };
  /// A part whose bytes may still be in use.
  struct Leaving {
    std::uint64_t mark = 0;
    std::unique_ptr<Out> last;  ///< The message, if this is its last part.
  };
  struct Peer {
    std::deque<std::unique_ptr<Out>> waiting, going;
    std::vector<std::unique_ptr<Out>> offered;
    std::deque<Leaving> leaving;
    std::deque<Control> owed;  ///< Short messages that the connection did not take.
    std::uint32_t posted = 0;  ///< Messages begun to this member.
    std::uint32_t credit = kMessagesAhead;
    std::uint32_t come = 0;                  ///< Messages that came.
    std::uint32_t held = 0;                  ///< Those of them that nobody got yet.
    std::uint32_t granted = kMessagesAhead;  ///< The member knows of so much credit.
    std::vector<In> offers;                  ///< Offered by the member, not answered.
    std::deque<In> taken;
    std::unique_ptr<std::byte[]> scratch;
    bool is_placing = false, has_left = false;
  };

  bool begin_next(std::uint32_t peer);
  void send_parts(std::uint32_t peer);
  void sweep(std::uint32_t peer);
  void owe(std::uint32_t peer, const Control& control);
  void answer(std::uint32_t peer, In offer, const MessageEvents::Answer& answer);
  void grant(std::uint32_t peer);
  const char* on_arrival(std::uint32_t peer, const wire::PeerHeader& header, std::span<const std::byte> body);
  const char* on_take(std::uint32_t peer, const wire::PeerHeader& header);
  const char* flaw_of_part(const Peer& peer, const wire::PeerHeader& header) const;
  void arrived(std::uint32_t peer);
  void detach(std::uint32_t peer);
  std::uint64_t part_bytes(std::uint64_t bytes, std::uint64_t moved) const noexcept;

  Settings settings_;
  Carrier& carrier_;
  BufferPool& pool_;
  MessageEvents& events_;
  Send send_;
  std::vector<Peer> peers_;
  std::uint64_t parts_left_ = 0;
  std::size_t leaving_ = 0;  ///< Parts whose bytes may be in use, to all members.
  bool is_starved_ = false, is_over_ = false;
};

}  // namespace sumac::p2p
