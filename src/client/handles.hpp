#pragma once
// Handles of contexts and communicators, which callers hold as numbers, not pointers. The upper half is a generation;
// the lower half has a kind and a slot. So a handle that was destroyed, made up or of another kind is detected instead
// of followed. A generation is never used again: a slot that has used all of them is retired. Requests have a table of
// their own (requests.hpp), of kind 0.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace sumac::client {

enum class HandleKind : std::uint32_t { request = 0, comm = 1, context = 2, memory = 3 };

inline constexpr std::uint32_t kHandleIndexBits = 28;

constexpr std::uint64_t handle_word(HandleKind kind, std::uint32_t generation, std::uint32_t number) noexcept {
  return static_cast<std::uint64_t>(generation) << 32 | static_cast<std::uint32_t>(kind) << kHandleIndexBits | number;
}
constexpr HandleKind kind_of_handle(std::uint64_t word) noexcept {
  return static_cast<HandleKind>(static_cast<std::uint32_t>(word) >> kHandleIndexBits);
}
constexpr std::uint32_t number_of_handle(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word) & ((1u << kHandleIndexBits) - 1);
}
constexpr std::uint32_t generation_of_handle(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word >> 32);
}

/// The objects `T` belong to the caller; `Handle` is the opaque struct of the C interface.
template <class T, class Handle, HandleKind kKind>
class HandleTable {
 public:
  static constexpr std::uint32_t kBatch = 64, kBatches = 4096;

  /// Returns null if a quarter of a million are alive.
  Handle* put(T* object) {
    const std::lock_guard lock(mutex_);
    if (free_.empty() && !grow()) return nullptr;
    const std::uint32_t number = free_.back();
    free_.pop_back();
    Slot& slot = *slot_of(number);
    // A release store: another thread that finds the handle sees the complete object.
    slot.object.store(object, std::memory_order_release);
    // Relaxed, because it changes only under the mutex.
    return as_handle(handle_word(kKind, slot.generation.load(std::memory_order_relaxed), number + 1));
  }

  /// Returns null if there is no such object, or never was. It costs two loads and a comparison.
  T* find(const Handle* handle) const noexcept {
    const auto word = reinterpret_cast<std::uint64_t>(handle);
    const std::uint32_t number = number_of_handle(word);
    if (kind_of_handle(word) != kKind || number == 0 || number > kBatch * kBatches) return nullptr;
    const Slot* slot = slot_of(number - 1);
    if (slot == nullptr) return nullptr;
    // Relaxed: the caller has the handle from the call that made it, and passed it to this thread with its own
    // synchronisation.
    if (slot->generation.load(std::memory_order_relaxed) != generation_of_handle(word)) return nullptr;
    return slot->object.load(std::memory_order_acquire);
  }

  /// Makes the handle invalid. A second call does nothing.
  void remove(const Handle* handle) noexcept {
    const std::lock_guard lock(mutex_);
    if (find(handle) != nullptr) retire(number_of_handle(reinterpret_cast<std::uint64_t>(handle)) - 1);
  }

  /// Does the same for each object for which `dead` returns true.
  template <class Predicate>
  void remove_if(Predicate&& dead) {
    const std::lock_guard lock(mutex_);
    for (std::uint32_t number = 0; number < made_ * kBatch; ++number) {
      T* object = slot_of(number)->object.load(std::memory_order_relaxed);  // It changes only under the mutex.
      if (object != nullptr && dead(*object)) retire(number);
    }
  }

 private:
  struct Slot {
    std::atomic<std::uint32_t> generation{1};
    std::atomic<T*> object{nullptr};
  };

  static Handle* as_handle(std::uint64_t word) noexcept { return reinterpret_cast<Handle*>(word); }

  Slot* slot_of(std::uint32_t number) const noexcept {
    // An acquire load: it pairs with the release in grow(), so that a slot that is found is a complete slot.
    Slot* batch = batches_[number / kBatch].load(std::memory_order_acquire);
    return batch == nullptr ? nullptr : batch + number % kBatch;
  }

  bool grow() {
    if (made_ == kBatches) return false;
    free_.reserve((made_ + 1) * std::size_t{kBatch});  // Then retire() need not allocate.
    owned_.push_back(std::make_unique<Slot[]>(kBatch));
    batches_[made_].store(owned_.back().get(), std::memory_order_release);
    for (std::uint32_t i = kBatch; i > 0; --i) free_.push_back(made_ * kBatch + i - 1);
    ++made_;
    return true;
  }

  void retire(std::uint32_t number) noexcept {
    Slot& slot = *slot_of(number);
    slot.object.store(nullptr, std::memory_order_relaxed);  // Under the mutex; no valid handle leads here any more.
    const auto next = slot.generation.load(std::memory_order_relaxed) + 1;
    slot.generation.store(next, std::memory_order_relaxed);
    if (next != 0) free_.push_back(number);
  }

  std::array<std::atomic<Slot*>, kBatches> batches_{};
  std::mutex mutex_;
  std::uint32_t made_ = 0;
  std::vector<std::uint32_t> free_;
  std::vector<std::unique_ptr<Slot[]>> owned_;
};

}  // namespace sumac::client
