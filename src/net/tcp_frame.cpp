#include "net/tcp_frame.hpp"

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"

namespace sumac::net {

std::array<std::byte, kFrameHeaderBytes> encode_frame_header(FrameType type, std::uint32_t length) noexcept {
  std::array<std::byte, kFrameHeaderBytes> bytes;
  store_le<std::uint16_t>(bytes.data(), kFrameMagic);
  bytes[2] = static_cast<std::byte>(type);
  bytes[3] = std::byte{0};
  store_le<std::uint32_t>(bytes.data() + 4, length);
  return bytes;
}

std::array<std::byte, kGreetingFrameBytes> encode_greeting(FrameType type, std::uint32_t message_max) noexcept {
  std::array<std::byte, kGreetingFrameBytes> bytes;
  const auto header = encode_frame_header(type, sizeof(Greeting));
  std::copy(header.begin(), header.end(), bytes.begin());
  store_le<std::uint16_t>(bytes.data() + 8, kFrameVersion);
  store_le<std::uint16_t>(bytes.data() + 10, 0);
  store_le<std::uint32_t>(bytes.data() + 12, message_max);
  return bytes;
}

const char* FrameReader::check_header() const noexcept {
  if (header_.magic != kFrameMagic) return "frame: magic is not 0x4653";
  if (header_.flags != 0) return "frame: flags are not zero";
  if (!greeted_) {
    if (header_.type != greeting_) return "frame: the greeting is missing";
    return header_.length == sizeof(Greeting) ? nullptr : "frame: the greeting has a wrong length";
  }
  switch (header_.type) {
    case FrameType::data:
      return header_.length <= message_max_ ? nullptr : "frame: the message is longer than message_max";
    case FrameType::ping:
    case FrameType::pong: return header_.length == 0 ? nullptr : "frame: ping or pong has a length";
    case FrameType::hello:
    case FrameType::welcome: return "frame: a second greeting";
  }
  return "frame: type is unknown";
}

const char* FrameReader::check_greeting(const Greeting& greeting) const noexcept {
  if (greeting.version != kFrameVersion) return "greeting: this frame version is not spoken here";
  if (greeting.reserved != 0) return "greeting: reserved is not zero";
  return nullptr;
}

FrameReader::Got FrameReader::malformed(const char* why) noexcept {
  phase_ = Phase::malformed;
  flaw_ = why;
  content_.reset();
  return Got::malformed;
}

void FrameReader::next_frame() noexcept {
  phase_ = Phase::header;
  have_ = 0;
}

void FrameReader::take(std::span<const std::byte>& in, std::span<std::byte> to) noexcept {
  const std::size_t n = std::min(in.size(), to.size());
  if (n == 0) return;
  std::memcpy(to.data(), in.data(), n);
  in = in.subspan(n);
  have_ += n;
}

FrameReader::Got FrameReader::feed(std::span<const std::byte>& in, Frame& out) noexcept {
  if (phase_ == Phase::header) {
    take(in, std::span(small_).subspan(have_));
    if (have_ < kFrameHeaderBytes) return Got::more;
    header_.magic = load_le<std::uint16_t>(small_.data());
    header_.type = static_cast<FrameType>(small_[2]);
    header_.flags = std::to_integer<std::uint8_t>(small_[3]);
    header_.length = load_le<std::uint32_t>(small_.data() + 4);
    if (const char* why = check_header(); why != nullptr) return malformed(why);
    have_ = 0;
    phase_ = header_.type == FrameType::data ? Phase::buffer : Phase::small;
  }
  if (phase_ == Phase::buffer) {
    content_ = pool_->acquire(header_.length);
    if (!content_) return Got::no_buffer;
    phase_ = Phase::content;
  }
  if (phase_ == Phase::content) {
    take(in, target());
    if (have_ < header_.length) return Got::more;
    out.type = FrameType::data;
    out.content = std::move(content_);
    next_frame();
    return Got::frame;
  }
  if (phase_ == Phase::small) {
    take(in, std::span(small_).first(header_.length).subspan(have_));
    if (have_ < header_.length) return Got::more;
    out.type = header_.type;
    out.content.reset();
    if (!greeted_) {
      out.greeting.version = load_le<std::uint16_t>(small_.data());
      out.greeting.reserved = load_le<std::uint16_t>(small_.data() + 2);
      out.greeting.message_max = load_le<std::uint32_t>(small_.data() + 4);
      if (const char* why = check_greeting(out.greeting); why != nullptr) return malformed(why);
      greeted_ = true;
    }
    next_frame();
    return Got::frame;
  }
  return Got::malformed;
}

std::span<std::byte> FrameReader::target() const noexcept {
  if (phase_ != Phase::content) return {};
  return content_.bytes().subspan(have_);
}

std::string FrameReader::position() const {
  switch (phase_) {
    case Phase::header: return fmt::format("frame header {} of {} bytes", have_, kFrameHeaderBytes);
    case Phase::small:
    case Phase::buffer:
    case Phase::content: return fmt::format("content {} of {} bytes", have_, header_.length);
    case Phase::malformed: break;
  }
  return "malformed";
}

}  // namespace sumac::net
