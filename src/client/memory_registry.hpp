#pragma once
// Handles of registered memory. Host memory needs no registration here, so a handle only tells its owner, whether it is
// alive, and whether the memory is a GPU's. Callers deregister from memory hooks, in any thread, perhaps inside
// malloc() or with locks held. Hence there is no lock, no allocation and no log, and the table exists from the start
// (untouched pages cost nothing).
#include <cstdint>

namespace sumac::client {

enum class MemoryKind : std::uint8_t { host, cuda };

/// The meaning of a value in a mem_handle field.
enum class Registration : std::uint8_t {
  none,  ///< NULL, or a value that we never returned: some callers leave garbage in the field, so it is ignored.
  host,
  cuda,
  gone,  ///< It was deregistered.
};

/// Never null for `host`: registrations beyond the table's size are not recorded. For `cuda` it returns null then.
void* register_memory(std::uint64_t context_word, MemoryKind kind) noexcept;

/// Returns false if it is not registered in this context, or was deregistered before.
bool deregister_memory(std::uint64_t context_word, const void* handle) noexcept;

/// Deregisters all memory of a context that ends.
void deregister_all(std::uint64_t context_word) noexcept;

Registration find_registration(const void* handle) noexcept;

}  // namespace sumac::client
