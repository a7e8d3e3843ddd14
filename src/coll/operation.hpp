#pragma once
// The one record of a collective: its kind and its buffers, in bytes. The team, shared memory and what goes between hosts pass it by
// reference and keep what they know besides in records of their own. Every member of a group posts operations of the same kind, size, fold
// and root in the same order; only the buffers, and the counts of an alltoallv, are a member's own.
#include <cstddef>
#include <cstdint>

#include "base/types.hpp"
#include "coll/collective.hpp"
#include "reduce/reduce.hpp"

namespace sumac::coll {

/// How two vectors become one: out[i] = a[i] op b[i]. `out` may be `a` or `b`, but must not overlap them otherwise.
/// The lower rank's values are always `a`.
struct Fold {
  std::size_t element_bytes = 1;
  reduce::Kernel kernel{};  ///< If it is set it is used; otherwise:
  void (*function)(const Fold&, void* out, const void* a, const void* b, std::size_t count) = nullptr;
  const void* context = nullptr;  ///< For `function`.
  Dtype dtype =
      Dtype::null;          ///< What the tree knows the fold by; null where it is `function`, which stays inside hosts
  Op op = Op::null;         ///< and among their leaders.
  Dtype tag = Dtype::null;  ///< MINLOC and MAXLOC only.

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

/// `in` of a member whose contribution lies where its result goes, in MPI's sense. allgather: in its block of `out`; alltoall(v): the
/// blocks of `out` are replaced; reduce, gather(v) and scatter(v): at the root only. in == out means the same, and is how a scatter's
/// root says that its own block stays in `in`. A member that gives nothing and is not in place passes any other address.
inline constexpr const void* kInPlace = nullptr;

struct Operation {
  Kind kind = Kind::barrier;
  int root = 0;  ///< Index in the group, of the kinds that have a root.
  const void* in =
      kInPlace;         ///< scatter(v): ignored but at the root. bcast: ignored; `out` is the buffer at every member.
  void* out = nullptr;  ///< reduce and gather(v): ignored but at the root.
  std::size_t bytes =
      0;  ///< Of the vector, or of one block (Collective::gives and keeps). gatherv and scatterv: of the
          ///< member's own block; the other v-forms: 0.
  const Fold* fold = nullptr;  ///< Reductions. `bytes` is a multiple of fold->element_bytes.
  Blocks in_blocks{};          ///< alltoallv and, at the root, scatterv.
  Blocks out_blocks{};  ///< allgatherv (the counts are the same at every member), alltoallv and, at the root, gatherv.

  bool in_place() const { return in == kInPlace || in == out; }
};

}  // namespace sumac::coll
