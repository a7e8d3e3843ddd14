#include "net/tcp_frame.hpp"

#include <cassert>
#include <cstring>
#include <utility>

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
  if (greeting.version != kFrameVersion)
    return "greeting: the peer speaks another frame version: install the same version everywhere";
  if (greeting.reserved != 0) return "greeting: reserved is not zero";
  return nullptr;
}

FrameReader::Got FrameReader::malformed(const char* why) noexcept {
  phase_ = Phase::malformed;
  flaw_ = why;
  content_.reset();
  placed_ = {};
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
    if (header_.type != FrameType::data)
      phase_ = Phase::small;
    else
      phase_ = header_.length < place_from_ ? Phase::buffer : Phase::head;
  }
  if (phase_ == Phase::head) {
    take(in, std::span(head_).subspan(have_));
    if (have_ < kPlaceHead) return Got::more;
    phase_ = Phase::asking;
  }
  if (phase_ == Phase::asking) return Got::head;
  if (phase_ == Phase::buffer) {
    content_ = pool_->acquire(buffer_bytes());
    if (!content_) return Got::no_buffer;
    // If the message's head was read before, it lies in head_.
    std::memcpy(content_.data(), head_.data(), have_);
    phase_ = Phase::content;
  }
  if (phase_ == Phase::content) {
    take(in, target());
    return have_ < header_.length ? Got::more : complete(out);
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

FrameReader::Got FrameReader::complete(Frame& out) noexcept {
  out.type = FrameType::data;
  out.content = std::move(content_);
  out.placed = places_ = !placed_.empty();
  placed_ = {};
  next_frame();
  return Got::frame;
}

void FrameReader::expect(std::span<const std::byte, kPlaceHead> head, std::span<std::byte> to) noexcept {
  assert(between_frames() && greeted_ && !to.empty() && to.size() <= message_max_ - kPlaceHead);
  content_ = pool_->acquire(kPlaceHead);
  if (!content_) return;
  std::ranges::copy(head, content_.data());
  expected_ = to;
}

void FrameReader::expect_nothing() noexcept {
  if (std::exchange(expected_, {}).empty()) return;
  content_.reset();
}

bool FrameReader::meets(std::span<const std::byte, kExpectedHead> begin) noexcept {
  const auto length = static_cast<std::uint32_t>(kPlaceHead + expected_.size());
  const auto head = begin.last<kPlaceHead>();
  const bool is_it =
      std::ranges::equal(begin.first<kFrameHeaderBytes>(), encode_frame_header(FrameType::data, length)) &&
      std::ranges::equal(head, content_.bytes());
  if (!is_it) return expect_nothing(), false;
  header_ = {.length = length};
  std::ranges::copy(head, head_.begin());
  placed_ = std::exchange(expected_, {});
  places_ = true;
  have_ = kPlaceHead;
  phase_ = Phase::content;
  return true;
}

void FrameReader::place(std::span<std::byte> to) noexcept {
  assert(phase_ == Phase::asking && (to.empty() || to.size() == header_.length - kPlaceHead));
  placed_ = to;
  places_ = !to.empty();
  phase_ = Phase::buffer;
}

bool FrameReader::displace() noexcept {
  const auto landed = std::exchange(placed_, {});
  if (landed.empty() || phase_ != Phase::content) return true;  // Nothing has landed there yet.
  BufferRef whole = pool_->acquire(header_.length);
  if (!whole) return malformed("no buffer for a message whose memory was taken back"), false;
  std::memcpy(whole.data(), head_.data(), kPlaceHead);
  std::memcpy(whole.data() + kPlaceHead, landed.data(), have_ - kPlaceHead);
  content_ = std::move(whole);
  return true;
}

std::span<std::byte> FrameReader::target() const noexcept {
  if (phase_ != Phase::content) return {};
  return placed_.empty() ? content_.bytes().subspan(have_) : placed_.subspan(have_ - kPlaceHead);
}

std::string FrameReader::position() const {
  switch (phase_) {
    case Phase::header: return fmt::format("frame header {} of {} bytes", have_, kFrameHeaderBytes);
    case Phase::small:
    case Phase::head:
    case Phase::asking:
    case Phase::buffer:
    case Phase::content: return fmt::format("content {} of {} bytes", have_, header_.length);
    case Phase::malformed: break;
  }
  return "malformed";
}

}  // namespace sumac::net
