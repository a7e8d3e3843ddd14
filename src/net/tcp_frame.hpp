#pragma once
// Cuts a TCP stream into messages: a frame header of 8 bytes, then `length` bytes of content. There is no I/O here, so
// that every byte that a stranger may send can be fuzzed. The content of a data frame lands at the start of a pooled
// buffer, aligned to 64 bytes. Of a large frame only the part that arrived together with its header is copied; the rest
// is received in its final memory (target()). The caller may choose memory outside the pool for the rest of a large
// message (place()).
//
// A connection begins with `hello` from the side that connected, which the other side answers with `welcome`; nothing
// else is accepted before.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/buffer.hpp"
#include "base/result.hpp"

namespace sumac::net {

inline constexpr std::uint16_t kFrameMagic = 0x4653;  // This reads "SF" in the stream.
inline constexpr std::uint16_t kFrameVersion = 1;

enum class FrameType : std::uint8_t {
  hello = 1,    ///< The connector's greeting (Greeting).
  welcome = 2,  ///< The acceptor's greeting (Greeting).
  data = 3,     ///< A frame that carries one message.
  ping = 4,     ///< An empty frame that asks whether the peer is there.
  pong = 5,     ///< An empty frame that answers a ping.
};

struct FrameHeader {
  std::uint16_t magic = kFrameMagic;
  FrameType type = FrameType::data;
  std::uint8_t flags = 0;  ///< Must be zero.
  std::uint32_t length = 0;
};
static_assert(sizeof(FrameHeader) == 8 && std::has_unique_object_representations_v<FrameHeader>);
inline constexpr std::size_t kFrameHeaderBytes = sizeof(FrameHeader);

/// The first bytes of a message, which are known when its receiver chooses memory for the rest.
inline constexpr std::size_t kPlaceHead = 64;
inline constexpr std::size_t kExpectedHead = kFrameHeaderBytes + kPlaceHead;

struct Greeting {
  std::uint16_t version = kFrameVersion;
  std::uint16_t reserved = 0;
  std::uint32_t message_max = 0;  ///< The longest message that the sender of this greeting accepts.
};
static_assert(sizeof(Greeting) == 8 && std::has_unique_object_representations_v<Greeting>);
inline constexpr std::size_t kGreetingFrameBytes = kFrameHeaderBytes + sizeof(Greeting);

std::array<std::byte, kFrameHeaderBytes> encode_frame_header(FrameType type, std::uint32_t length) noexcept;
std::array<std::byte, kGreetingFrameBytes> encode_greeting(FrameType type, std::uint32_t message_max) noexcept;

/// A complete frame.
struct Frame {
  FrameType type = FrameType::data;
  BufferRef content;    ///< Only for data; for a placed message its first kPlaceHead bytes.
  bool placed = false;  ///< The rest of the message lies in the memory that place() named.
  Greeting greeting;    ///< Only for hello and welcome.
};

class FrameReader {
 public:
  enum class Got : std::uint8_t {
    more,   ///< All input is used up, and the frame is not complete yet.
    frame,  ///< `out` is a frame; call again for the next one.
    /// A message of at least place_from bytes has begun: keep the rest of the input, call place(), then feed() with it.
    head,
    /// The pool is at its limit: keep the rest of the input, and call again with it when buffers were released.
    no_buffer,
    malformed,  ///< The stream cannot be trusted any more; flaw() has the reason. This is final.
  };

  /// `greeting` is the greeting that the peer must send first: hello or welcome. The pool must outlive the reader. For
  /// a message of at least `place_from` bytes the reader asks for memory; 0 means for none.
  FrameReader(BufferPool& pool, FrameType greeting, std::size_t message_max, std::size_t place_from = 0) noexcept
      : pool_(&pool),
        message_max_(message_max),
        place_from_(place_from == 0 ? SIZE_MAX : std::max(place_from, kPlaceHead)),
        greeting_(greeting) {}

  /// Takes bytes off the front of `in`.
  Got feed(std::span<const std::byte>& in, Frame& out) noexcept;

  /// The memory for the rest of the current data frame's content; empty unless such a frame is in progress. A receiver
  /// may write there directly and then call advance(); the following feed() (with whatever else arrived) returns the
  /// frame.
  std::span<std::byte> target() const noexcept;
  void advance(std::size_t bytes) noexcept { have_ += bytes; }

  bool asks() const noexcept { return phase_ == Phase::asking; }
  /// After Got::head: the first bytes of the message, and its length including them.
  std::span<const std::byte, kPlaceHead> head() const noexcept { return head_; }
  std::size_t length() const noexcept { return header_.length; }
  /// Sets the limit for messages that begin from now on.
  void set_message_max(std::size_t bytes) noexcept { message_max_ = bytes; }
  /// Names the memory for all other bytes of the message. If it is empty, they go into a buffer with the head, as for
  /// any message. Call it once for each Got::head.
  void place(std::span<std::byte> to) noexcept;
  /// Takes back the memory that place() named: the bytes received there move into a buffer, and the rest follows them.
  /// Returns false if there is no buffer; then the reader cannot be used any more, and it does not touch that memory
  /// again.
  [[nodiscard]] bool displace() noexcept;
  /// Between frames: the next one is probably a message that begins with `head`, and `to` is the memory for its other
  /// bytes. They may be received there at once, behind kExpectedHead bytes that are received elsewhere; any other
  /// message overwrites `to`. It holds for one read: after that call meets() or expect_nothing().
  void expect(std::span<const std::byte, kPlaceHead> head, std::span<std::byte> to) noexcept;
  std::span<std::byte> expected() const noexcept { return expected_; }
  void expect_nothing() noexcept;
  /// True if this is the expected message. Then the message is in progress: call advance() with the number of bytes
  /// received in `to`.
  bool meets(std::span<const std::byte, kExpectedHead> begin) noexcept;
  /// True during a placed message and until another one begins: the next one is probably as long.
  bool places() const noexcept { return places_; }

  /// True between frames, where the stream may end in order.
  bool between_frames() const noexcept { return phase_ == Phase::header && have_ == 0; }
  const char* flaw() const noexcept { return flaw_; }
  /// After no_buffer: returns the size of the missing buffer.
  std::size_t missing_buffer() const noexcept { return buffer_bytes(); }
  /// Describes the position in the stream for people: "content 17 of 4096 bytes".
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
  std::size_t have_ = 0;  ///< The number of bytes read of the current header or content.
  std::array<std::byte, 8> small_{};
  FrameHeader header_;
  alignas(8) std::array<std::byte, kPlaceHead> head_{};
  std::span<std::byte> placed_;    ///< The memory of the current message.
  std::span<std::byte> expected_;  ///< The memory of the next message, whose head is in content_ already.
  BufferRef content_;
};

}  // namespace sumac::net
