#pragma once
// How messages are cut out of a TCP stream: a frame header of 8 bytes, then `length` bytes of content. No I/O here, so that every
// byte that a stranger may send can be fuzzed. The content of a data frame lands at the start of a pooled buffer, 64-byte aligned;
// of a large one only what arrived together with its header is copied, the rest is received in place (target()).
//
// A connection begins with `hello` from the side that connected, answered by `welcome`; nothing else is believed before.
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
  BufferRef content;  ///< data only.
  Greeting greeting;  ///< hello and welcome only.
};

class FrameReader {
 public:
  enum class Got : std::uint8_t {
    more,       ///< All input is used up; the frame is not complete yet.
    frame,      ///< `out` is a frame; call again for the next.
    no_buffer,  ///< The pool is at its limit: keep the rest of the input, and call again with it when buffers came back.
    malformed,  ///< The stream can't be believed any more: flaw() says why. Final.
  };

  /// `greeting`: what the peer must say first, hello or welcome. The pool must outlive the reader.
  FrameReader(BufferPool& pool, FrameType greeting, std::size_t message_max) noexcept
      : pool_(&pool), message_max_(message_max), greeting_(greeting) {}

  /// Takes bytes off the front of `in`.
  Got feed(std::span<const std::byte>& in, Frame& out) noexcept;

  /// Where the rest of the current data frame's content belongs; empty unless in the middle of one. A receiver may write there
  /// directly and then say advance(); the following feed() (with whatever else arrived) returns the frame.
  std::span<std::byte> target() const noexcept;
  void advance(std::size_t bytes) noexcept { have_ += bytes; }

  /// True between frames: an end of the stream here is an orderly one.
  bool between_frames() const noexcept { return phase_ == Phase::header && have_ == 0; }
  const char* flaw() const noexcept { return flaw_; }
  /// After no_buffer: the size of the buffer that is missing.
  std::size_t missing_buffer() const noexcept { return header_.length; }
  /// "content 17 of 4096 bytes": where the stream stands, for messages to people.
  std::string position() const;

 private:
  enum class Phase : std::uint8_t { header, small, buffer, content, malformed };

  void take(std::span<const std::byte>& in, std::span<std::byte> to) noexcept;
  const char* check_header() const noexcept;
  const char* check_greeting(const Greeting& greeting) const noexcept;
  Got malformed(const char* why) noexcept;
  void next_frame() noexcept;

  BufferPool* pool_;
  std::size_t message_max_;
  const char* flaw_ = nullptr;
  FrameType greeting_;
  bool greeted_ = false;
  Phase phase_ = Phase::header;
  std::size_t have_ = 0;  ///< Bytes of the current header or content.
  std::array<std::byte, 8> small_{};
  FrameHeader header_;
  BufferRef content_;
};

}  // namespace sumac::net
