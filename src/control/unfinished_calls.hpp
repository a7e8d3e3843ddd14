#pragma once
// Counts what a caller's connection makes gRPC keep: gRPC 1.51 keeps a message until its last byte has come, and only
// then looks at its length. So this class follows the frames of HTTP/2 (RFC 9113) between a caller and gRPC, and
// reads the five bytes that precede each message. It does no I/O.
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

namespace sumac::control {

/// The limits of what one connection may have begun and not ended.
struct CallLimits {
  std::uint32_t message_bytes_max = 0;  ///< A longer message is refused when it begins.
  std::uint32_t streams_max = 0;        ///< Calls at once.
};

class UnfinishedCalls {
 public:
  /// Every frame of an unfinished message counts so much beside its payload: gRPC keeps a record of each.
  static constexpr std::size_t kFrameCost = 64;
  /// A block of headers, and a frame that is neither headers nor data, are no longer than this.
  static constexpr std::size_t kHeaderBytesMax = 16 << 10;

  explicit UnfinishedCalls(const CallLimits& limits) : limits_(limits) {}

  /// Follows bytes from the caller. Returns false if gRPC must not see them: they exceed a limit or are not HTTP/2 as
  /// gRPC speaks it. The connection has to be closed then.
  [[nodiscard]] bool caller_sends(std::span<const std::byte> bytes);
  /// Follows bytes from gRPC: they end streams, too. gRPC sends no bytes that could not be followed.
  void grpc_sends(std::span<const std::byte> bytes);

  /// The cost of all messages that have begun and not ended.
  std::size_t bytes() const noexcept { return bytes_; }
  std::size_t streams() const noexcept { return streams_.size(); }

 private:
  enum Type : std::uint8_t { kData = 0, kHeaders = 1, kReset = 3, kContinuation = 9 };
  enum Flag : std::uint8_t { kEndStream = 1, kEndHeaders = 4 };
  /// The frames of one direction.
  struct Frames {
    std::size_t preface_left = 0;
    std::byte header[9]{};
    std::size_t header_bytes = 0;
    std::uint32_t left = 0;  ///< The bytes of the frame's content that have not come.
    std::uint8_t type = 0, flags = 0;
    std::uint32_t stream = 0;

    std::size_t take_header(std::span<const std::byte> bytes);
    bool is_whole() const noexcept { return header_bytes == sizeof header && left == 0; }
  };
  /// The state of one call's messages.
  struct Stream {
    std::byte prefix[5]{};
    std::size_t prefix_bytes = 0;
    std::uint32_t left = 0;  ///< The bytes of the message that have not come.
    std::size_t cost = 0;
  };

  bool begins();
  bool message_bytes(std::span<const std::byte> bytes);
  void ends(const Frames& frames);
  void forget(std::uint32_t stream);
  void completed(Stream& stream);

  CallLimits limits_;
  Frames in_{.preface_left = 24}, out_;
  std::size_t header_block_ = 0;  ///< The bytes of a block of headers that has not ended.
  std::map<std::uint32_t, Stream> streams_;
  std::size_t bytes_ = 0;
};

}  // namespace sumac::control
