#pragma once
// The messages that one connection still has to send: a ring of messages, each with a short head that is copied
// (including the frame header) and a body that is referenced. The ring grows to the depth that the connection once
// needed and keeps that size, so a message costs no allocation.
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/payload.hpp"

namespace sumac::net {

inline constexpr std::size_t kHeadMax = 256;  ///< The longest head that Transport::send() accepts.
/// The memory in front of user data, including the frame's header. A longer head occurs only in rare messages and is
/// allocated.
inline constexpr std::size_t kShortHead = 80;

struct OutMessage {
  std::array<std::byte, kShortHead> head;
  std::size_t head_bytes = 0;
  Payload body;
  std::vector<std::byte> copy;  ///< A copy of a borrowed body after detach(), or the whole message if its head is long.

  std::size_t bytes() const noexcept { return head_bytes + body.bytes.size(); }
};

class OutQueue {
 public:
  bool empty() const noexcept { return count_ == 0; }
  std::size_t count() const noexcept { return count_; }
  std::size_t bytes() const noexcept { return bytes_; }  ///< The bytes that the kernel has not accepted yet.
  /// The pool's bytes that messages keep until they are sent completely.
  std::size_t held() const noexcept { return held_; }
  static std::size_t held_by(const Payload& body) noexcept { return body.owner.footprint(); }

  /// Adds a message whose first `sent` bytes are already sent.
  void push(std::span<const std::byte> frame_header, std::span<const std::byte> head, const Payload& body,
            std::size_t sent) {
    assert(sent == 0 || empty());
    if (count_ == ring_.size()) grow();
    OutMessage& m = at(count_++);
    if (frame_header.size() + head.size() <= m.head.size()) {
      std::copy(head.begin(), head.end(), std::copy(frame_header.begin(), frame_header.end(), m.head.begin()));
      m.head_bytes = frame_header.size() + head.size();
      m.body = body;
      held_ += held_by(body);
    } else {
      m.head_bytes = 0;
      m.copy.clear();
      m.copy.reserve(frame_header.size() + head.size() + body.bytes.size());
      for (const auto part : {frame_header, head, body.bytes}) m.copy.insert(m.copy.end(), part.begin(), part.end());
      m.body = {m.copy, {}};
    }
    if (count_ == 1) sent_ = sent;
    bytes_ += m.bytes() - sent;
  }

  /// Adds a short message that overtakes all but the first: the first may be sent in part, or be the greeting.
  void push_urgent(std::span<const std::byte> frame_header) {
    push(frame_header, {}, {}, 0);
    for (std::size_t i = count_ - 1; i > 1; --i) std::swap(at(i), at(i - 1));
  }

  /// Fills `iov` with the next bytes to send; returns the number of entries used.
  std::size_t gather(std::span<iovec> iov) noexcept {
    std::size_t used = 0;
    std::size_t skip = sent_;
    for (std::size_t i = 0; i < count_ && used + 2 <= iov.size(); ++i) {
      OutMessage& m = at(i);
      const auto add = [&](const std::byte* data, std::size_t length) {
        const std::size_t cut = std::min(skip, length);
        skip -= cut;
        if (cut < length) iov[used++] = {const_cast<std::byte*>(data) + cut, length - cut};
      };
      add(m.head.data(), m.head_bytes);
      add(m.body.bytes.data(), m.body.bytes.size());
    }
    return used;
  }

  /// Called when the kernel has accepted `n` bytes: finished messages leave and release their bodies.
  void sent(std::size_t n) noexcept {
    assert(n <= bytes_);
    bytes_ -= n;
    sent_ += n;
    while (count_ > 0 && sent_ >= at(0).bytes()) {
      OutMessage& m = at(0);
      sent_ -= m.bytes();
      held_ -= held_by(m.body);
      m.body = {};
      m.copy = {};
      first_ = (first_ + 1) % ring_.size();
      --count_;
    }
  }

  /// Copies borrowed bodies, so that their owner may reuse the memory.
  void detach() {
    for (std::size_t i = 0; i < count_; ++i) {
      OutMessage& m = at(i);
      if (m.body.owner || m.body.bytes.empty() || !m.copy.empty()) continue;
      m.copy.assign(m.body.bytes.begin(), m.body.bytes.end());
      m.body.bytes = m.copy;
    }
  }

  void clear() noexcept {
    ring_.clear();
    first_ = count_ = sent_ = bytes_ = held_ = 0;
  }

 private:
  OutMessage& at(std::size_t i) noexcept { return ring_[(first_ + i) % ring_.size()]; }

  void grow() {
    std::vector<OutMessage> larger(std::max<std::size_t>(4, ring_.size() * 2));
    // A moved vector keeps its bytes at their address.
    for (std::size_t i = 0; i < count_; ++i) larger[i] = std::move(at(i));
    ring_ = std::move(larger);
    first_ = 0;
  }

  std::vector<OutMessage> ring_;
  std::size_t first_ = 0, count_ = 0;
  std::size_t sent_ = 0;  ///< The bytes of the first message that are sent.
  std::size_t bytes_ = 0, held_ = 0;
};

}  // namespace sumac::net
