#pragma once
// Handles of registered memory. Host memory needs no registration here, so all that a handle says is whose it is, that it is alive, and
// whether the memory is a GPU's. Callers take registrations back from memory hooks, in any thread, perhaps from inside malloc() or with
// locks held: hence no lock, no allocation, no log, and a table that is there from the start (untouched pages cost nothing).
#include <cstdint>

namespace sumac::client {

enum class MemoryKind : std::uint8_t { host, cuda };

/// What a value in a mem_handle field is.
enum class Registration : std::uint8_t {
  none,  ///< NULL, or nothing that we ever gave out: some callers leave the field as garbage, so it is not looked at.
  host,
  cuda,
  gone,  ///< It was taken back.
};

/// Never null. More registrations than the table holds are host memory without a trace: `kind` cuda then gives null.
void* register_memory(std::uint64_t context_word, MemoryKind kind) noexcept;

/// False: not registered in this context, or taken back before.
bool deregister_memory(std::uint64_t context_word, const void* handle) noexcept;

/// All of a context that ends.
void deregister_all(std::uint64_t context_word) noexcept;

Registration find_registration(const void* handle) noexcept;

}  // namespace sumac::client
