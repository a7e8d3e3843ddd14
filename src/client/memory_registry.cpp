#include "client/memory_registry.hpp"

#include <array>
#include <atomic>

#include "client/handles.hpp"

namespace sumac::client {
namespace {

constexpr std::uint32_t kSlots = 1u << 18;

struct Slot {
  /// The context's handle; 0: free. The thread that changes it from non-zero to 0 has freed the slot.
  std::atomic<std::uint64_t> owner{0};
  std::atomic<std::uint32_t> generation{0};
  std::atomic<std::uint32_t> next{0};  ///< The next number in the list of free slots, 0 at the end.
  std::atomic<MemoryKind> kind{MemoryKind::host};
};

std::array<Slot, kSlots> slots;
/// Upper half: raised at each change, so that a head that was removed and put back is detected. Lower half: a slot's
/// number, 0 if the list is empty.
std::atomic<std::uint64_t> free_head{0};
std::atomic<std::uint32_t> used_ever{0};

/// Returned when all slots are used.
constexpr std::uint64_t kUntraced = handle_word(HandleKind::memory, 0, 0);

void* as_handle(std::uint64_t word) noexcept { return reinterpret_cast<void*>(word); }

// An acquire load when a slot is taken from the list, and a release store when it is put back: its next owner sees the
// writes of its last one.
std::uint32_t take_number() noexcept {
  std::uint64_t head = free_head.load(std::memory_order_acquire);
  while (static_cast<std::uint32_t>(head) != 0) {
    const Slot& slot = slots[static_cast<std::uint32_t>(head) - 1];
    const std::uint64_t then = ((head >> 32) + 1) << 32 | slot.next.load(std::memory_order_relaxed);
    if (free_head.compare_exchange_weak(head, then, std::memory_order_acquire)) return static_cast<std::uint32_t>(head);
  }
  std::uint32_t fresh = used_ever.load(std::memory_order_relaxed);
  while (fresh < kSlots)
    if (used_ever.compare_exchange_weak(fresh, fresh + 1, std::memory_order_relaxed)) return fresh + 1;
  return 0;
}

void put_back(std::uint32_t number) noexcept {
  std::uint64_t head = free_head.load(std::memory_order_relaxed);
  std::uint64_t then = 0;
  do {
    slots[number - 1].next.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
    then = ((head >> 32) + 1) << 32 | number;
  } while (!free_head.compare_exchange_weak(head, then, std::memory_order_release));
}

/// Requires that this thread has already set the slot's owner to 0.
void retire(std::uint32_t number) noexcept {
  const auto next = slots[number - 1].generation.load(std::memory_order_relaxed) + 1;
  slots[number - 1].generation.store(next, std::memory_order_relaxed);
  if (next != 0) put_back(number);  // A generation is never used again.
}

/// Returns the slot that a handle names, or null.
Slot* slot_of(std::uint64_t word) noexcept {
  const std::uint32_t number = number_of_handle(word);
  if (kind_of_handle(word) != HandleKind::memory || number == 0 || number > used_ever.load(std::memory_order_relaxed))
    return nullptr;
  return &slots[number - 1];
}

}  // namespace

void* register_memory(std::uint64_t context_word, MemoryKind kind) noexcept {
  const std::uint32_t number = take_number();
  if (number == 0) return kind == MemoryKind::host ? as_handle(kUntraced) : nullptr;
  Slot& slot = slots[number - 1];
  slot.kind.store(kind, std::memory_order_relaxed);
  slot.owner.store(context_word, std::memory_order_release);
  return as_handle(handle_word(HandleKind::memory, slot.generation.load(std::memory_order_relaxed), number));
}

bool deregister_memory(std::uint64_t context_word, const void* handle) noexcept {
  const auto word = reinterpret_cast<std::uint64_t>(handle);
  if (word == kUntraced) return true;
  Slot* slot = slot_of(word);
  if (slot == nullptr || slot->generation.load(std::memory_order_relaxed) != generation_of_handle(word)) return false;
  std::uint64_t owner = context_word;
  if (!slot->owner.compare_exchange_strong(owner, 0, std::memory_order_acq_rel)) return false;
  retire(number_of_handle(word));
  return true;
}

void deregister_all(std::uint64_t context_word) noexcept {
  const std::uint32_t used = used_ever.load(std::memory_order_relaxed);
  for (std::uint32_t number = 1; number <= used; ++number) {
    std::uint64_t owner = context_word;
    if (slots[number - 1].owner.compare_exchange_strong(owner, 0, std::memory_order_acq_rel)) retire(number);
  }
}

Registration find_registration(const void* handle) noexcept {
  const auto word = reinterpret_cast<std::uint64_t>(handle);
  if (word == kUntraced) return Registration::host;
  const Slot* slot = slot_of(word);
  if (slot == nullptr) return Registration::none;
  const auto generation = slot->generation.load(std::memory_order_relaxed);
  if (generation != generation_of_handle(word) || slot->owner.load(std::memory_order_acquire) == 0) {
    // An older generation was ours once; a later one never was.
    return generation_of_handle(word) <= generation ? Registration::gone : Registration::none;
  }
  return slot->kind.load(std::memory_order_relaxed) == MemoryKind::cuda ? Registration::cuda : Registration::host;
}

}  // namespace sumac::client
