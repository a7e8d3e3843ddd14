#pragma once
// The messages between two members of a group that has no tree (src/p2p). A connection begins with the handshake of the
// tree's hops, in which the member that connects is the child: hello, welcome and proof with the bodies of agg.hpp, under
// the group's key. Every later message of an operation names it, so that members that disagree on an operation find out
// with the first message of it. Messages go from one member to another beside the operations.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "base/types.hpp"
#include "wire/layout.hpp"

namespace sumac::wire {

inline constexpr std::uint16_t kPeerMagic = 0x5053;  // This reads "SP" in the stream.
inline constexpr std::uint8_t kPeerVersion = 1;

enum class PeerKind : std::uint8_t {
  hello = 1,     ///< From the member that connected: HelloBody.
  welcome = 2,   ///< The answer, with the acceptor's proof: WelcomeBody.
  proof = 3,     ///< The connector's proof: ProofBody.
  data = 4,      ///< One message of an operation.
  ready = 5,     ///< There is memory for the first `index` messages of an operation.
  ask = 6,       ///< Wants to be told when the receiver has begun, or ended, an operation.
  tell = 7,      ///< The answer: `begun` and `ended`.
  abort = 8,     ///< The group is broken: AbortBody says why.
  leave = 9,     ///< The sender has ended all its operations and sends nothing more.
  message = 10,  ///< A short message: MessageBody and the message's bytes.
  offer = 11,    ///< A long message, whose bytes wait at the sender: MessageBody.
  take = 12,     ///< The answer to an offer: there is memory for the bytes, or nobody wants them.
  part = 13,     ///< The next bytes of a message that was taken.
  credit = 14,   ///< The receiver may send the messages before number `sequence`.
  note = 15,     ///< For the receiver's user: a word and a number, `index` and `sequence`.
};

/// Everything that the members must agree on for one operation.
struct PeerTerms {
  std::uint8_t coll = 0;       ///< A coll::Kind.
  std::uint8_t algorithm = 0;  ///< A p2p::Algorithm.
  Op op = Op::null;
  Dtype dtype = Dtype::null;
  Dtype tag = Dtype::null;
  std::uint8_t direct = 0;    ///< 1: a block between two members that no third one sees; it has numbers of its own.
  std::uint16_t meaning = 0;  ///< A packed Meaning (base/meaning.hpp) of the callers', or 0.
  std::uint32_t root = 0;
  std::uint32_t element_bytes = 0;
  std::uint64_t bytes = 0;  ///< The size of the whole vector or of one block; 0 where members have different sizes.
  friend bool operator==(const PeerTerms&, const PeerTerms&) = default;
};
static_assert(sizeof(PeerTerms) == 24 && std::has_unique_object_representations_v<PeerTerms>);

struct PeerHeader {
  std::uint16_t magic = kPeerMagic;
  std::uint8_t version = kPeerVersion;
  PeerKind kind = PeerKind::data;
  std::uint32_t group = 0;
  std::uint32_t sequence = 0;  ///< Number of the operation, or of the message from this sender to this receiver.
  /// data: number of this message among those from this sender to this receiver in the operation; ready: how many of
  /// them may come; ask: 1 when begun, 2 when ended; take: 1 send it, 2 drop it; part: number of this part of the message.
  std::uint32_t index = 0;
  std::uint32_t begun = 0;  ///< The number of operations that the sender has begun.
  std::uint32_t ended = 0;  ///< The number of the first operation that the sender has not ended.
  std::uint32_t payload_bytes = 0;
  std::uint32_t reserved = 0;
  PeerTerms terms{};  ///< data, ready, ask; else zero.
  std::uint64_t reserved2 = 0;
};
static_assert(sizeof(PeerHeader) == 64 && std::has_unique_object_representations_v<PeerHeader>);
inline constexpr std::size_t kPeerHeaderBytes = sizeof(PeerHeader);

inline constexpr std::uint32_t kAskBegun = 1, kAskEnded = 2;
inline constexpr std::uint32_t kTakeSend = 1, kTakeDrop = 2;

/// A message is for a receive with the same tag.
struct MessageBody {
  std::uint64_t bytes = 0;  ///< The message's size.
  std::uint32_t tag = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(MessageBody) == 16 && std::has_unique_object_representations_v<MessageBody>);

struct AbortBody {
  std::uint32_t code = 0;        ///< An Errc, for people.
  std::array<char, 508> text{};  ///< The reason, filled up with zeros.
};
static_assert(sizeof(AbortBody) == 512 && std::has_unique_object_representations_v<AbortBody>);

/// Reads the body behind the header, of a message that flaw() has found long enough.
template <class Body>
Body peer_body(const std::byte* message) noexcept {
  Body body;
  load(body, message + kPeerHeaderBytes);
  return body;
}

std::string_view to_string(PeerKind kind) noexcept;

/// Checks every field. `payload` bytes follow the header; data, message and part have at most `payload_max`.
Errc decode_peer(std::span<const std::byte, kPeerHeaderBytes> head, std::size_t payload, std::uint32_t payload_max,
                 PeerHeader& out) noexcept;
/// Returns null if every field is right, else a static text on the first wrong one.
const char* flaw(const PeerHeader& header, std::size_t payload, std::uint32_t payload_max) noexcept;
/// The same for the body of a message or an offer; `payload` bytes as in its header.
const char* flaw(const MessageBody& body, PeerKind kind, std::size_t payload) noexcept;

}  // namespace sumac::wire
