#pragma once
// The facts about a datatype, kept from one call to the next.
#include <array>
#include <atomic>
#include <cstddef>

#include "bindings/pmpi/freeing.hpp"
#include "bindings/pmpi/mpi.hpp"
#include "rank/plan.h"

namespace sumac::pmpi {

struct Type {
  std::atomic<MPI_Datatype> handle{};
  sumac_layout layout{};
};

/// The handle stands for another type from now on, or for none. Operations that still use the type have copied what they need.
void forget(MPI_Datatype type, Type& record);
using FreeingType = Freeing<MPI_Datatype, Type>;

/// Returns null for a type that the MPI does not know; it finds the mistake by itself when the call is passed on.
const Type* find_type_slowly(MPI_Datatype type);

namespace detail {
constexpr std::size_t kTypesCached = 128;
extern std::array<std::atomic<Type*>, kTypesCached> types;
inline std::size_t type_at(MPI_Datatype type) {
  const auto bits = bits_of(type);
  return (bits ^ bits >> 4 ^ bits >> 8 ^ bits >> 14) % kTypesCached;
}
}  // namespace detail

inline const Type* find_type(MPI_Datatype type) {
  const Type* found = detail::types[detail::type_at(type)].load(std::memory_order_acquire);
  if (found != nullptr && found->handle.load(std::memory_order_relaxed) == type) [[likely]]
    return found;
  return find_type_slowly(type);
}

/// These serve as the functions of the runtime.
const sumac_layout* layout_of(std::uintptr_t type, sumac_layout* room);
int hold_type(std::uintptr_t* type);  ///< Makes a duplicate.
void release_type(std::uintptr_t type);
int pack(const void* user, std::size_t count, const sumac_layout* layout, void* bytes);
int unpack(const void* bytes, void* user, std::size_t count, const sumac_layout* layout);

/// Makes the key by which a type tells that it is freed. False if the MPI refuses.
bool make_type_key();

}  // namespace sumac::pmpi
