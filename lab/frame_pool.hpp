#pragma once
// Memory for frames in flight, in two sizes, so that a full port of 60-byte acknowledgements does not take the memory
// of as many full frames. Last in, first out: a frame's memory is most likely still in the cache.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sumac::lab {

struct Frame {
  const std::uint16_t* path = nullptr;  ///< Links still to cross.
  std::uint16_t hops = 0;               ///< How many of them.
  std::uint16_t to = 0;                 ///< Place that gets it.
  std::uint32_t bytes = 0;              ///< In `data`: the virtio-net header, then the Ethernet frame.
  std::uint32_t capacity = 0;
  Frame* next_free = nullptr;
  std::uint8_t* data() { return reinterpret_cast<std::uint8_t*>(this + 1); }
};

class FramePool {
 public:
  static constexpr std::uint32_t kSmallBytes = 256;
  static constexpr std::uint32_t kLargeBytes = 9344;  ///< MTU 9216, Ethernet and virtio-net headers, and some room.

  Frame* take(std::uint32_t bytes) { return bytes <= kSmallBytes ? take(small_, kSmallBytes) : take(large_, kLargeBytes); }

  void give(Frame* frame) {
    auto*& list = frame->capacity == kSmallBytes ? small_ : large_;
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
  Frame* large_ = nullptr;
  std::vector<std::unique_ptr<std::byte[]>> slabs_;
};

}  // namespace sumac::lab
