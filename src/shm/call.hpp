#pragma once
// What is asked of a group: the collective and its buffers, in bytes. Every member makes calls of the same kind, size,
// reduction and root in the same order; only the buffers, and the counts of alltoallv, are a member's own.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "reduce/reduce.hpp"

namespace sumac::shm {

enum class Coll : std::uint8_t {
  barrier,
  allreduce,
  reduce,
  bcast,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  reduce_scatter_block,
};
inline constexpr int kCollCount = 9;

/// "barrier", "allgatherv"; "?" for what is none of them.
std::string_view to_string(Coll coll) noexcept;

/// How two vectors become one: out[i] = a[i] op b[i]. `out` may be `a` or `b`, but must not overlap them otherwise.
/// The lower rank's values are always `a`.
struct Fold {
  std::size_t element_bytes = 1;
  reduce::Kernel kernel{};  ///< If it is set it is used; otherwise:
  void (*function)(const Fold&, void* out, const void* a, const void* b, std::size_t count) = nullptr;
  const void* context = nullptr;  ///< For `function`.

  void combine(void* out, const void* a, const void* b, std::size_t count) const {
    if (kernel) [[likely]]
      return kernel.combine(out, a, b, count);
    function(*this, out, a, b, count);
  }
};

/// The blocks of a v-form: block i has counts[i] * unit bytes and begins displacements[i] * unit bytes into the buffer.
struct Blocks {
  const int* counts = nullptr;
  const int* displacements = nullptr;
  std::size_t unit = 1;

  std::size_t bytes(int i) const { return static_cast<std::size_t>(counts[i]) * unit; }
  std::ptrdiff_t offset(int i) const {
    return static_cast<std::ptrdiff_t>(displacements[i]) * static_cast<std::ptrdiff_t>(unit);
  }
};

/// `in` of a member whose contribution lies where its result goes, in MPI's sense (allgather: in its block of `out`;
/// reduce: at the root only; alltoall(v): the blocks of `out` are replaced). in == out means the same. Whoever has a NULL
/// buffer of nothing, and is not in place, gives any other address.
inline constexpr const void* kInPlace = nullptr;

struct Call {
  Coll coll = Coll::barrier;
  int root = 0;               ///< reduce, bcast: index in the group.
  const void* in = kInPlace;  ///< bcast: not looked at; `out` is the buffer at every member.
  void* out = nullptr;        ///< reduce: not looked at but at the root.
  std::size_t bytes =
      0;  ///< allreduce, reduce, bcast: the vector. allgather, alltoall, reduce_scatter_block: one block.
  const Fold* fold = nullptr;  ///< Reductions. bytes is a multiple of fold->element_bytes.
  Blocks in_blocks{};          ///< alltoallv.
  Blocks out_blocks{};         ///< allgatherv (counts are the same at every member) and alltoallv.

  bool in_place() const { return in == kInPlace || in == out; }
};

}  // namespace sumac::shm
