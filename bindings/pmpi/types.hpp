#pragma once
// The facts about a datatype, kept from one call to the next. A team moves bytes: an element of a type
// without gaps is used where it lies, any other is packed.
#include <array>
#include <atomic>
#include <cstddef>

#include "bindings/pmpi/mpi.hpp"
#include "rank/plan.h"

namespace sumac::pmpi {

struct Type {
  std::atomic<MPI_Datatype> handle{};
  std::size_t size = 0;  ///< Bytes of data in one element.
  std::ptrdiff_t extent = 0, true_lb = 0, true_extent = 0;
  bool is_dense = false;    ///< One element lies without a gap, in the order of its signature, from true_lb on.
  bool is_flat = false;     ///< So do several elements one after the other.
  bool has_gaps = true;     ///< Several elements leave gaps, whatever their order is.
  bool is_orderly = false;  ///< Elements do not reach into each other.
  int row = -1;             ///< In the table of folds, for a predefined type that reductions know.
};

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

/// Returns the address of the first byte of data.
inline char* data_at(const void* buffer, const Type& type) {
  return static_cast<char*>(const_cast<void*>(buffer)) + type.true_lb;
}

/// The facts that packing needs of a type: a request may hold a duplicate of a type that the program has freed.
inline sumac_layout layout_of(const Type& type) {
  return {bits_of(type.handle.load(std::memory_order_relaxed)), type.size, type.extent, type.true_lb};
}

/// These serve as the functions of the runtime's `packing`.
int pack(const void* user, std::size_t count, const sumac_layout* layout, void* bytes);
int unpack(const void* bytes, void* user, std::size_t count, const sumac_layout* layout);

/// Makes the key by which a type tells that it is freed. False if the MPI refuses.
bool make_type_key();

}  // namespace sumac::pmpi
