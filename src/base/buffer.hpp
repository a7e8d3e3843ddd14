#pragma once
// Buffers for messages. A transport receives a message into a buffer and passes on a reference; a node adds into that
// very buffer and sends it to many children, without a copy. So a buffer is counted, comes from a pool with free lists
// by size (no malloc in steady state), and is aligned to 64 bytes, so that the payload behind a 64-byte header is
// aligned as well.
//
// A pool and its buffers belong to one thread, so the count is a plain integer. The pool may be destroyed before its
// buffers: the state that they need lives until the last of them is gone.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace sumac {

inline constexpr std::size_t kBufferAlignment = 64;

namespace detail {
struct PoolCore;
struct alignas(kBufferAlignment) BufferBlock {  // The block stands directly before the data.
  PoolCore* core;
  BufferBlock* next_free;
  std::size_t capacity;
  std::size_t size;
  std::uint32_t refs;
  std::uint32_t size_class;
  std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};
static_assert(sizeof(BufferBlock) == kBufferAlignment);
void recycle(BufferBlock* block) noexcept;
}  // namespace detail

/// A counted reference to one buffer, or to none. Copies share the bytes, so write only if unique() is true or no other
/// holder minds.
class BufferRef {
 public:
  BufferRef() noexcept = default;
  BufferRef(const BufferRef& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) ++block_->refs;
  }
  BufferRef(BufferRef&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BufferRef& operator=(BufferRef other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~BufferRef() { reset(); }

  explicit operator bool() const noexcept { return block_ != nullptr; }
  void reset() noexcept {
    if (auto* block = std::exchange(block_, nullptr); block != nullptr && --block->refs == 0) detail::recycle(block);
  }
  std::byte* data() const noexcept { return block_ == nullptr ? nullptr : block_->data(); }
  std::size_t size() const noexcept { return block_ == nullptr ? 0 : block_->size; }
  std::size_t capacity() const noexcept { return block_ == nullptr ? 0 : block_->capacity; }
  /// Returns the bytes that this buffer takes of the pool's limit.
  std::size_t footprint() const noexcept { return block_ == nullptr ? 0 : sizeof *block_ + block_->capacity; }
  std::span<std::byte> bytes() const noexcept { return {data(), size()}; }
  /// Must stay within the capacity. Added bytes keep their old content.
  void resize(std::size_t size) noexcept {
    assert(block_ != nullptr && size <= block_->capacity);
    block_->size = size;
  }
  /// True if no other reference to this buffer exists: it may be overwritten, for instance used as the accumulator.
  bool unique() const noexcept { return block_ != nullptr && block_->refs == 1; }
  friend bool operator==(const BufferRef& a, const BufferRef& b) noexcept { return a.block_ == b.block_; }

 private:
  friend class BufferPool;
  explicit BufferRef(detail::BufferBlock* block) noexcept : block_(block) {}
  detail::BufferBlock* block_ = nullptr;
};

/// A part of a buffer that keeps the whole buffer alive, such as the payload inside a received frame.
class BufferSlice {
 public:
  BufferSlice() noexcept = default;
  explicit BufferSlice(BufferRef ref) noexcept : ref_(std::move(ref)), length_(ref_.size()) {}
  BufferSlice(BufferRef ref, std::size_t offset, std::size_t length) noexcept
      : ref_(std::move(ref)), offset_(offset), length_(length) {
    assert(offset <= ref_.capacity() && length <= ref_.capacity() - offset);
  }
  explicit operator bool() const noexcept { return static_cast<bool>(ref_); }
  std::byte* data() const noexcept { return ref_ ? ref_.data() + offset_ : nullptr; }
  std::size_t size() const noexcept { return length_; }
  std::size_t offset() const noexcept { return offset_; }
  std::span<std::byte> bytes() const noexcept { return {data(), length_}; }
  bool unique() const noexcept { return ref_.unique(); }
  const BufferRef& buffer() const noexcept { return ref_; }
  BufferSlice sub(std::size_t offset, std::size_t length) const noexcept {
    assert(offset <= length_ && length <= length_ - offset);
    return {ref_, offset_ + offset, length};
  }
  void reset() noexcept { *this = {}; }

 private:
  BufferRef ref_;
  std::size_t offset_ = 0;
  std::size_t length_ = 0;
};

struct BufferPoolStats {
  std::size_t bytes_held = 0;    ///< In use and on free lists, with 64 bytes of bookkeeping per buffer.
  std::size_t bytes_in_use = 0;  ///< The part of them that is in use.
  std::size_t buffers_in_use = 0;
  std::size_t allocations = 0;  ///< Calls of the system's allocator so far; constant in steady state.
  std::size_t refusals = 0;     ///< Calls of acquire() that failed at the pool's limit.
};

class BufferPool {
 public:
  /// The sizes that have free lists; the largest holds a 64 KiB chunk with its header. A larger buffer gets its exact
  /// size and is not kept.
  static constexpr std::size_t kClasses[] = {256, 2048, 16384, 65536 + 256};

  /// Returns the bytes that a buffer for `size` bytes takes of the limit.
  static constexpr std::size_t footprint(std::size_t size) noexcept {
    for (const std::size_t capacity : kClasses)
      if (size <= capacity) return sizeof(detail::BufferBlock) + capacity;
    return sizeof(detail::BufferBlock) + size;
  }

  /// A buffer of at most this capacity counts as small.
  static constexpr std::size_t kSmall = kClasses[1];

  /// `limit_bytes` limits the memory that the pool holds at any time, idle buffers included. `small_bytes` of it are
  /// reserved for small buffers, so that large ones never keep a small one waiting.
  explicit BufferPool(std::size_t limit_bytes, std::size_t small_bytes = 0);
  ~BufferPool();
  BufferPool(BufferPool&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  BufferPool& operator=(BufferPool&& other) noexcept {
    std::swap(core_, other.core_);
    return *this;
  }

  /// Returns a unique buffer of this size and at least this capacity; its bytes are not cleared. Returns an empty
  /// reference at the limit or if memory is exhausted: the caller then waits until a buffer is released and must not
  /// fail the operation.
  [[nodiscard]] BufferRef acquire(std::size_t size) noexcept;

  /// Allocates `count` buffers of the class of `size` in advance, within the limit.
  void reserve(std::size_t size, std::size_t count) noexcept;

  BufferPoolStats stats() const noexcept;

 private:
  detail::PoolCore* core_;
};

}  // namespace sumac
