#include "control/unfinished_calls.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace sumac::control {
namespace {

/// RFC 9113 sec. 3.4: a client's first bytes.
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::uint32_t big_endian(const std::byte* at, std::size_t count) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < count; ++i) number = number << 8 | std::to_integer<std::uint32_t>(at[i]);
  return number;
}

}  // namespace

/// RFC 9113 sec. 4.1: the length in 3 bytes, type, flags, and the stream in 4 bytes without the highest bit.
std::size_t UnfinishedCalls::Frames::take_header(std::span<const std::byte> bytes) {
  const auto count = std::min(bytes.size(), sizeof header - header_bytes);
  std::memcpy(header + header_bytes, bytes.data(), count);
  header_bytes += count;
  if (header_bytes < sizeof header) return count;
  left = big_endian(header, 3);
  type = std::to_integer<std::uint8_t>(header[3]);
  flags = std::to_integer<std::uint8_t>(header[4]);
  stream = big_endian(header + 5, 4) & 0x7fffffff;
  return count;
}

bool UnfinishedCalls::caller_sends(std::span<const std::byte> bytes) {
  for (; in_.preface_left > 0 && !bytes.empty(); bytes = bytes.subspan(1), --in_.preface_left)
    if (std::to_integer<char>(bytes[0]) != kPreface[kPreface.size() - in_.preface_left]) return false;
  while (!bytes.empty()) {
    if (in_.header_bytes < sizeof in_.header) {
      bytes = bytes.subspan(in_.take_header(bytes));
      if (in_.header_bytes == sizeof in_.header && !begins()) return false;
    } else {
      const auto count = std::min<std::size_t>(bytes.size(), in_.left);
      if (in_.type == kData && !message_bytes(bytes.first(count))) return false;
      in_.left -= static_cast<std::uint32_t>(count);
      bytes = bytes.subspan(count);
    }
    if (in_.is_whole()) {
      ends(in_);
      in_.header_bytes = 0;
    }
  }
  return true;
}

/// Judges the header of a caller's frame.
bool UnfinishedCalls::begins() {
  if (in_.type == kData) {
    // gRPC takes no padding.
    if ((in_.flags & ~kEndStream) != 0) return false;
    const auto stream = streams_.find(in_.stream);
    if (stream == streams_.end()) return true;  // gRPC has ended it, and drops what still comes.
    stream->second.cost += kFrameCost;
    bytes_ += kFrameCost;
    return true;
  }
  if (in_.left > kHeaderBytesMax) return false;
  if (in_.type != kHeaders && in_.type != kContinuation) return true;
  header_block_ += in_.left + kFrameCost;
  if (header_block_ > kHeaderBytesMax + kFrameCost) return false;
  if ((in_.flags & kEndHeaders) != 0) header_block_ = 0;
  if (in_.type == kHeaders) streams_.try_emplace(in_.stream);
  return streams_.size() <= limits_.streams_max;
}

/// Follows the payload of a caller's data: messages, each after a byte for compression and its length in four bytes.
bool UnfinishedCalls::message_bytes(std::span<const std::byte> bytes) {
  const auto found = streams_.find(in_.stream);
  if (found == streams_.end()) return true;
  auto& stream = found->second;
  while (!bytes.empty()) {
    std::size_t count = 0;
    if (stream.prefix_bytes < sizeof stream.prefix) {
      count = std::min(bytes.size(), sizeof stream.prefix - stream.prefix_bytes);
      std::memcpy(stream.prefix + stream.prefix_bytes, bytes.data(), count);
      stream.prefix_bytes += count;
      if (stream.prefix_bytes == sizeof stream.prefix) stream.left = big_endian(stream.prefix + 1, 4);
      if (stream.left > limits_.message_bytes_max) return false;
    } else {
      count = std::min<std::size_t>(bytes.size(), stream.left);
      stream.left -= static_cast<std::uint32_t>(count);
    }
    stream.cost += count;
    bytes_ += count;
    bytes = bytes.subspan(count);
    if (stream.prefix_bytes == sizeof stream.prefix && stream.left == 0) completed(stream);
  }
  return true;
}

void UnfinishedCalls::completed(Stream& stream) {
  bytes_ -= stream.cost;
  stream = {};
}

void UnfinishedCalls::grpc_sends(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (out_.header_bytes < sizeof out_.header) {
      bytes = bytes.subspan(out_.take_header(bytes));
    } else {
      const auto count = std::min<std::size_t>(bytes.size(), out_.left);
      out_.left -= static_cast<std::uint32_t>(count);
      bytes = bytes.subspan(count);
    }
    if (!out_.is_whole()) continue;
    if ((out_.type == kData || out_.type == kHeaders) && (out_.flags & kEndStream) != 0) forget(out_.stream);
    ends(out_);
    out_.header_bytes = 0;
  }
}

/// A caller's last frame of a stream ends its messages, not the call: gRPC answers it, and then forgets it.
void UnfinishedCalls::ends(const Frames& frames) {
  if (frames.type == kReset) return forget(frames.stream);
  if (&frames != &in_ || frames.type != kData || (frames.flags & kEndStream) == 0) return;
  if (const auto stream = streams_.find(frames.stream); stream != streams_.end()) completed(stream->second);
}

void UnfinishedCalls::forget(std::uint32_t stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  bytes_ -= found->second.cost;
  streams_.erase(found);
}

}  // namespace sumac::control
