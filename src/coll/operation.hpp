#pragma once
// The one record of a collective: its kind and its buffers, in bytes. The team, shared memory and the code between
// hosts pass it by reference and keep further data in records of their own. Every member of a group posts operations of
// the same kind, size, fold and root in the same order; only the buffers, and the counts of an alltoallv, differ
// between members.
#include <cstddef>
#include <cstdint>

#include "base/types.hpp"
#include "coll/collective.hpp"
#include "reduce/reduce.hpp"

namespace sumac::coll {

/// Combines two vectors into one: out[i] = a[i] op b[i]. `out` may equal `a` or `b`, but must not overlap them
/// otherwise. The lower rank's values are always `a`.
struct Fold {
  std::size_t element_bytes = 1;
  reduce::Kernel kernel{};  ///< `kernel` is used if it is set; otherwise `function` is used.
  void (*function)(const Fold&, void* out, const void* a, const void* b, std::size_t count) = nullptr;
  const void* context = nullptr;  ///< An argument that `function` may use.
  /// The tree identifies the fold by dtype, op and tag. They are null for a `function`, which is used only inside hosts
  /// and among their leaders.
  Dtype dtype = Dtype::null;
  Op op = Op::null;
  Dtype tag = Dtype::null;  ///< Set for MINLOC and MAXLOC only.
  bool in_mpi = false;      ///< Only a thread that is inside MPI may call `function`.
  const char* type_name =
      nullptr;  ///< The caller's own names, for people ("MPI_2REAL", "MPI_MAXLOC"); null: it has none.
  const char* op_name = nullptr;

  void combine(void* out, const void* a, const void* b, std::size_t count) const {
    if (kernel) [[likely]]
      return kernel.combine(out, a, b, count);
    function(*this, out, a, b, count);
  }
};

/// True if the bits of a sum depend on the order in which operands are combined: floating-point sums and products, and
/// functions, of which nothing is known.
constexpr bool order_matters(const Fold& fold) noexcept {
  return fold.op == Op::null || ((fold.op == Op::sum || fold.op == Op::prod) && is_float(fold.dtype));
}

/// The blocks of a v-form: block i has count(i) * unit bytes and begins displacement(i) * unit bytes into the buffer. The
/// arrays are the caller's, in either of the widths that callers have.
struct Blocks {
  const void* counts = nullptr;         ///< [members] of int, or of std::int64_t if `is_wide`.
  const void* displacements = nullptr;  ///< The same.
  std::size_t unit = 1;
  bool is_wide = false;

  constexpr Blocks() = default;
  constexpr Blocks(const int* sizes, const int* places, std::size_t bytes)
      : counts(sizes), displacements(places), unit(bytes) {}
  constexpr Blocks(const std::int64_t* sizes, const std::int64_t* places, std::size_t bytes)
      : counts(sizes), displacements(places), unit(bytes), is_wide(true) {}

  std::int64_t count(int i) const { return at(counts, i); }
  std::int64_t displacement(int i) const { return at(displacements, i); }
  std::size_t bytes(int i) const { return static_cast<std::size_t>(count(i)) * unit; }
  std::ptrdiff_t offset(int i) const { return displacement(i) * static_cast<std::ptrdiff_t>(unit); }

 private:
  std::int64_t at(const void* numbers, int i) const {
    return is_wide ? static_cast<const std::int64_t*>(numbers)[i] : static_cast<const int*>(numbers)[i];
  }
};

/// The value of `in` at a member whose contribution lies where its result goes, as MPI_IN_PLACE means it (allgather: in
/// its block of `out`; alltoall(v): the blocks of `out` are replaced; reduce, gather(v) and scatter(v): at the root
/// only). in == out means the same, and is how a scatter's root says that its own block stays in `in`. A member that
/// contributes nothing and is not in place passes any other address.
inline constexpr const void* kInPlace = nullptr;

/// Returns where block `i` begins if the blocks follow each other, in bytes.
inline std::size_t begin_in_a_row(const Blocks& blocks, int i) {
  std::size_t begin = 0;
  for (int before = 0; before < i; ++before) begin += blocks.bytes(before);
  return begin;
}

struct Operation {
  Kind kind = Kind::barrier;
  /// A packed Meaning (base/meaning.hpp) of the caller's, the same at every member; 0: none. It goes with the data between hosts.
  std::uint16_t meaning = 0;
  int root = 0;  ///< Index in the group, for the kinds that have a root.
  /// Ignored for a bcast, where `out` is the buffer at every member, and for a scatter(v), except at the root.
  const void* in = kInPlace;
  void* out = nullptr;  ///< Ignored for a reduce and a gather(v), except at the root.
  /// The size of the vector or of one block (see Collective::gives and keeps). For gatherv and scatterv it is the size
  /// of the member's own block; for the other v-forms it is 0.
  std::size_t bytes = 0;
  const Fold* fold = nullptr;  ///< Set for reductions. `bytes` is a multiple of fold->element_bytes.
  /// Set for alltoallv and, at the root, for scatterv. For reduce_scatter its counts are set, the same at every member: the blocks
  /// follow each other.
  Blocks in_blocks{};
  /// Set for allgatherv (with the same counts at every member), alltoallv and, at the root, for gatherv.
  Blocks out_blocks{};

  bool in_place() const { return in == kInPlace || in == out; }
};

}  // namespace sumac::coll
