#pragma once
// Memory for frames in flight comes in three sizes, so that a full port of 60-byte acknowledgements does not take the
// memory of as many full frames, nor these that of as many trains. The last buffer returned is taken first, since it is
// most likely still in the cache.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace sumac::lab {

struct Branch;

/// A frame, or a train: segments of one connection that the sender's adapter cuts when it sends them and the receiver's
/// joins again. Links treat it as its segments; in memory, and for the kernel, it is one unit.
struct Frame {
  const std::uint16_t* path = nullptr;  ///< The links that the frame must still cross.
  const Branch* flood = nullptr;        ///< Set for a multicast instead of a path: its routes to all ports.
  std::uint32_t at = 0;                 ///< Index of the flood's next branch.
  std::uint16_t hops = 0;               ///< Number of links still to cross.
  std::uint16_t to = 0;                 ///< The port that gets the frame.
  std::uint32_t bytes = 0;              ///< Bytes in `data`: the virtio-net header, then the Ethernet frame.
  std::uint32_t capacity = 0;
  std::uint32_t wire_bytes = 0;           ///< Bytes that a link carries: every segment has its headers.
  std::uint32_t first_segment_bytes = 0;  ///< Part of wire_bytes; equal to it if the frame is no train.
  std::uint32_t last_segment_bytes = 0;
  std::int64_t tail_at_ns = 0;  ///< The time at which the last segment is where the first was at the event's time.
  Frame* next_free = nullptr;
  std::uint8_t* data() { return reinterpret_cast<std::uint8_t*>(this + 1); }
};

class FramePool {
 public:
  static constexpr std::uint32_t kSmallBytes = 256;
  static constexpr std::uint32_t kFullBytes = 9344;    ///< MTU 9216, Ethernet and virtio-net headers, and some room.
  static constexpr std::uint32_t kTrainBytes = 65664;  ///< The kernel's largest IPv4 packet, with the same additions.

  Frame* take(std::uint32_t bytes) {
    if (bytes <= kSmallBytes) return take(small_, kSmallBytes);
    return bytes <= kFullBytes ? take(full_, kFullBytes) : take(train_, kTrainBytes);
  }

  /// Makes another frame with the same fields and data.
  Frame* copy(Frame& frame) {
    Frame* made = take(frame.bytes);
    const auto capacity = made->capacity;
    *made = frame;
    made->capacity = capacity;
    std::memcpy(made->data(), frame.data(), frame.bytes);
    return made;
  }

  void give(Frame* frame) {
    auto*& list = frame->capacity == kSmallBytes ? small_ : frame->capacity == kFullBytes ? full_ : train_;
    frame->next_free = list;
    list = frame;
  }

 private:
  Frame* take(Frame*& list, std::uint32_t capacity) {
    if (list == nullptr) grow(list, capacity);
    Frame* frame = list;
    list = frame->next_free;
    return frame;
  }

  void grow(Frame*& list, std::uint32_t capacity) {
    constexpr std::size_t kSlabBytes = std::size_t{1} << 20;
    const std::size_t step = sizeof(Frame) + capacity;
    auto& slab = slabs_.emplace_back(new std::byte[kSlabBytes]);
    for (std::size_t at = 0; at + step <= kSlabBytes; at += step) {
      auto* frame = new (slab.get() + at) Frame;
      frame->capacity = capacity;
      frame->next_free = list;
      list = frame;
    }
  }

  Frame* small_ = nullptr;
  Frame* full_ = nullptr;
  Frame* train_ = nullptr;
  std::vector<std::unique_ptr<std::byte[]>> slabs_;
};

}  // namespace sumac::lab
