#pragma once
// How messages are cut out of a TCP stream: a frame header of 8 bytes, then `length` bytes of content. No I/O here, so that every
// byte that a stranger may send can be fuzzed. The content of a data frame lands at the start of a pooled buffer, 64-byte aligned;
// of a large one only what arrived together with its header is copied, the rest is received in place (target()). Who reads may be
// asked where the rest of a large message belongs (place()): it then lands in memory that is not the pool's.
//
// A connection begins with `hello` from the side that connected, answered by `welcome`; nothing else is believed before.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/buffer.hpp"
#include "base/result.hpp"

namespace sumac::net {

inline constexpr std::uint16_t kFrameMagic = 0x4653;  // "SF"
inline constexpr std::uint16_t kFrameVersion = 1;

enum class FrameType : std::uint8_t {
  hello = 1,    ///< Connector's greeting (Greeting).
  welcome = 2,  ///< Acceptor's greeting (Greeting).
  data = 3,     ///< One message.
  ping = 4,     ///< "Are you there?" Empty.
  pong = 5,     ///< "Yes." Empty.
};

struct FrameHeader {
  std::uint16_t magic = kFrameMagic;
  FrameType type = FrameType::data;
  std::uint8_t flags = 0;  ///< Zero.
  std::uint32_t length = 0;
};
static_assert(sizeof(FrameHeader) == 8 && std::has_unique_object_representations_v<FrameHeader>);
inline constexpr std::size_t kFrameHeaderBytes = sizeof(FrameHeader);

/// What is known of a message when it is asked where the rest of it belongs.
inline constexpr std::size_t kPlaceHead = 64;
inline constexpr std::size_t kExpectedHead = kFrameHeaderBytes + kPlaceHead;

struct Greeting {
  std::uint16_t version = kFrameVersion;
  std::uint16_t reserved = 0;
  std::uint32_t message_max = 0;  ///< Longest message its sender accepts.
};
static_assert(sizeof(Greeting) == 8 && std::has_unique_object_representations_v<Greeting>);
inline constexpr std::size_t kGreetingFrameBytes = kFrameHeaderBytes + sizeof(Greeting);

std::array<std::byte, kFrameHeaderBytes> encode_frame_header(FrameType type, std::uint32_t length) noexcept;
std::array<std::byte, kGreetingFrameBytes> encode_greeting(FrameType type, std::uint32_t message_max) noexcept;

/// A complete frame, as FrameReader found it.
struct Frame {
  FrameType type = FrameType::data;
  BufferRef content;    ///< data only; of a placed message its first kPlaceHead bytes.
  bool placed = false;  ///< The rest of the message lies where place() said.
  Greeting greeting;    ///< hello and welcome only.
};

class FrameReader {
 public:
  enum class Got : std::uint8_t {
    more,   ///< All input is used up; the frame is not complete yet.
    frame,  ///< `out` is a frame; call again for the next.
    head,  ///< A message of at least place_from has begun: keep the rest of the input, say place(), and call again with it.
    no_buffer,  ///< The pool is at its limit: keep the rest of the input, and call again with it when buffers came back.
    malformed,  ///< The stream can't be believed any more: flaw() says why. Final.
  };

  /// `greeting`: what the peer must say first, hello or welcome. The pool must outlive the reader. `place_from`: bytes from which on a
  /// message is asked about; 0: none is.
  FrameReader(BufferPool& pool, FrameType greeting, std::size_t message_max, std::size_t place_from = 0) noexcept
      : pool_(&pool),
        message_max_(message_max),
        place_from_(place_from == 0 ? SIZE_MAX : std::max(place_from, kPlaceHead)),
        greeting_(greeting) {}

  /// Takes bytes off the front of `in`.
  Got feed(std::span<const std::byte>& in, Frame& out) noexcept;

  /// Where the rest of the current data frame's content belongs; empty unless in the middle of one. A receiver may write there
  /// directly and then say advance(); the following feed() (with whatever else arrived) returns the frame.
  std::span<std::byte> target() const noexcept;
  void advance(std::size_t bytes) noexcept { have_ += bytes; }

  bool asks() const noexcept { return phase_ == Phase::asking; }
  /// After Got::head: how the message begins, and how long it is with that.
  std::span<const std::byte, kPlaceHead> head() const noexcept { return head_; }
  std::size_t length() const noexcept { return header_.length; }
  /// For the messages that begin from now on.
  void set_message_max(std::size_t bytes) noexcept { message_max_ = bytes; }
  /// Where its other bytes belong, all of them; empty: into a buffer with its head, like those of any message. Once for each Got::head.
  void place(std::span<std::byte> to) noexcept;
  /// The memory that place() said is needed otherwise: what has landed moves into a buffer, where the rest follows it. False: there is none;
  /// the reader is of no use any more, and leaves that memory alone.
  [[nodiscard]] bool displace() noexcept;
  /// Between frames: the next one is probably a message that begins with `head`, and `to` is where its other bytes belong. They may be
  /// received there at once, behind kExpectedHead bytes received elsewhere; whatever else comes spoils what is in `to`. Once: after the next
  /// read say meets() or expect nothing.
  void expect(std::span<const std::byte, kPlaceHead> head, std::span<std::byte> to) noexcept;
  std::span<std::byte> expected() const noexcept { return expected_; }
  void expect_nothing() noexcept;
  /// Is this what was expected? Then we are in the middle of it: advance() by what is in place.
  bool meets(std::span<const std::byte, kExpectedHead> begin) noexcept;
  /// True in the middle of a placed message, and until another one comes: what follows is probably as long.
  bool places() const noexcept { return places_; }

  /// True between frames: an end of the stream here is an orderly one.
  bool between_frames() const noexcept { return phase_ == Phase::header && have_ == 0; }
  const char* flaw() const noexcept { return flaw_; }
  /// After no_buffer: the size of the buffer that is missing.
  std::size_t missing_buffer() const noexcept { return buffer_bytes(); }
  /// "content 17 of 4096 bytes": where the stream stands, for messages to people.
  std::string position() const;

 private:
  enum class Phase : std::uint8_t { header, small, head, asking, buffer, content, malformed };

  void take(std::span<const std::byte>& in, std::span<std::byte> to) noexcept;
  const char* check_header() const noexcept;
  const char* check_greeting(const Greeting& greeting) const noexcept;
  Got malformed(const char* why) noexcept;
  void next_frame() noexcept;
  Got complete(Frame& out) noexcept;
  std::size_t buffer_bytes() const noexcept { return placed_.empty() ? header_.length : kPlaceHead; }

  BufferPool* pool_;
  std::size_t message_max_, place_from_;
  const char* flaw_ = nullptr;
  FrameType greeting_;
  bool greeted_ = false, places_ = false;
  Phase phase_ = Phase::header;
  std::size_t have_ = 0;  ///< Bytes of the current header or content.
  std::array<std::byte, 8> small_{};
  FrameHeader header_;
  alignas(8) std::array<std::byte, kPlaceHead> head_{};
  std::span<std::byte> placed_;    ///< Of the current message.
  std::span<std::byte> expected_;  ///< Of the next one; its head is in content_ already.
  BufferRef content_;
};

}  // namespace sumac::net
