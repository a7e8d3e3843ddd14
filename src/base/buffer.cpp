#include "base/buffer.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <new>

namespace sumac {
namespace detail {

inline constexpr std::uint32_t kClassCount = std::size(BufferPool::kClasses);
inline constexpr std::uint32_t kExact = kClassCount;  // Buffers of an exact size are not kept on a free list.

struct PoolCore {
  BufferBlock* free[kClassCount] = {};
  std::size_t limit = 0;
  std::size_t large_limit = 0, large_in_use = 0;
  // True once the pool is destroyed: returned buffers are then freed, and the last one frees the core.
  bool orphaned = false;
  BufferPoolStats stats;
};

namespace {

std::size_t footprint(std::size_t capacity) { return sizeof(BufferBlock) + capacity; }

void release(PoolCore& core, BufferBlock* block) noexcept {
  core.stats.bytes_held -= footprint(block->capacity);
  ::operator delete (static_cast<void*>(block), std::align_val_t{kBufferAlignment});
}

/// Releases idle buffers to the system until `wanted` more bytes fit.
bool make_room(PoolCore& core, std::size_t wanted) noexcept {
  if (wanted > core.limit) return false;
  for (std::uint32_t i = kClassCount; i-- > 0 && core.stats.bytes_held > core.limit - wanted;) {
    while (core.free[i] != nullptr && core.stats.bytes_held > core.limit - wanted)
      release(core, std::exchange(core.free[i], core.free[i]->next_free));
  }
  return core.stats.bytes_held <= core.limit - wanted;
}

BufferBlock* allocate(PoolCore& core, std::uint32_t size_class, std::size_t capacity) noexcept {
  if (capacity > SIZE_MAX / 2 || !make_room(core, footprint(capacity))) return nullptr;
  void* raw = ::operator new (footprint(capacity), std::align_val_t{kBufferAlignment}, std::nothrow);
  if (raw == nullptr) return nullptr;
  core.stats.bytes_held += footprint(capacity);
  ++core.stats.allocations;
  return ::new (raw) BufferBlock{&core, nullptr, capacity, 0, 0, size_class};
}

std::uint32_t class_of(std::size_t size) {
  for (std::uint32_t i = 0; i < kClassCount; ++i)
    if (size <= BufferPool::kClasses[i]) return i;
  return kExact;
}

}  // namespace

void recycle(BufferBlock* block) noexcept {
  PoolCore& core = *block->core;
  core.stats.bytes_in_use -= footprint(block->capacity);
  if (block->capacity > BufferPool::kSmall) core.large_in_use -= footprint(block->capacity);
  --core.stats.buffers_in_use;
  if (block->size_class == kExact || core.orphaned) {
    release(core, block);
  } else {
    block->next_free = std::exchange(core.free[block->size_class], block);
  }
  if (core.orphaned && core.stats.buffers_in_use == 0) delete &core;
}

}  // namespace detail

BufferPool::BufferPool(std::size_t limit_bytes, std::size_t small_bytes) : core_(new detail::PoolCore) {
  core_->limit = limit_bytes;
  core_->large_limit = limit_bytes - std::min(limit_bytes, small_bytes);
}

BufferPool::~BufferPool() {
  if (core_ == nullptr) return;
  for (auto*& head : core_->free)
    while (head != nullptr) detail::release(*core_, std::exchange(head, head->next_free));
  core_->orphaned = true;
  if (core_->stats.buffers_in_use == 0) delete core_;
}

BufferRef BufferPool::acquire(std::size_t size) noexcept {
  const std::uint32_t size_class = detail::class_of(size);
  const std::size_t capacity = size_class == detail::kExact ? size : kClasses[size_class];
  detail::BufferBlock* block = nullptr;
  if (capacity > kSmall && detail::footprint(capacity) > core_->large_limit - core_->large_in_use) {
    ++core_->stats.refusals;
    return {};
  }
  if (size_class != detail::kExact && core_->free[size_class] != nullptr) {
    block = std::exchange(core_->free[size_class], core_->free[size_class]->next_free);
  } else {
    block = detail::allocate(*core_, size_class, capacity);
  }
  if (block == nullptr) {
    ++core_->stats.refusals;
    return {};
  }
  block->next_free = nullptr;
  block->refs = 1;
  block->size = size;
  core_->stats.bytes_in_use += detail::footprint(block->capacity);
  if (block->capacity > kSmall) core_->large_in_use += detail::footprint(block->capacity);
  ++core_->stats.buffers_in_use;
  return BufferRef(block);
}

void BufferPool::reserve(std::size_t size, std::size_t count) noexcept {
  const std::uint32_t size_class = detail::class_of(size);
  if (size_class == detail::kExact) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (core_->stats.bytes_held + detail::footprint(kClasses[size_class]) > core_->limit) return;
    auto* block = detail::allocate(*core_, size_class, kClasses[size_class]);
    if (block == nullptr) return;
    block->next_free = std::exchange(core_->free[size_class], block);
  }
}

BufferPoolStats BufferPool::stats() const noexcept { return core_->stats; }

}  // namespace sumac
