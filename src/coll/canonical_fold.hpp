#pragma once
// Folds operands along the canonical tree over their numbers (canonical.hpp), so that the bits of a sum depend neither
// on who adds it nor on where the operands lie. It takes as many calls of Fold::combine() as a fold one after the other.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>

#include "coll/operation.hpp"
#include "reduce/float_env.hpp"

namespace sumac::coll {

/// The number of buffers that a fold of `operands` needs beside its result: a right half with more than one operand is
/// added up beside the left one. 0 for up to 3 operands, 1 up to 6, 2 for 8, 6 for 168.
constexpr std::size_t spare_buffers(int operands) noexcept {
  std::size_t most = 0;
  while (operands > 3) {
    const int left = static_cast<int>(std::bit_floor(static_cast<unsigned>(operands - 1)));
    most = std::max(most, 1 + spare_buffers(operands - left));
    operands = left;
  }
  return most;
}

/// The memory for the spare buffers, which fits on the stack.
inline constexpr std::size_t kSpareBytes = std::size_t{64} * 1024;

/// The most bytes that an element of so many operands may have: the spare buffers and one more must hold it.
constexpr std::size_t folded_element_max(int operands) noexcept { return kSpareBytes / (spare_buffers(operands) + 1); }

namespace detail {

template <class Source>
struct CanonicalFold {
  const Fold& fold;
  const Source& source;
  std::size_t bytes;  ///< The size of each operand, and of each spare buffer.

  /// Returns the place of the sum of [first, first + operands): `to`, or that of the operand if it is one. Null: an
  /// operand could not be had. `free` are the spare buffers that may be used.
  const std::byte* sum(int first, int operands, std::byte* to, std::byte* free) const {
    return operands == 1 ? source(first, to) : halves(first, operands, to, to, free);
  }
  /// The same for at least two operands, whose left half grows in `between`.
  const std::byte* halves(int first, int operands, std::byte* between, std::byte* to, std::byte* free) const {
    const int left = static_cast<int>(std::bit_floor(static_cast<unsigned>(operands - 1)));
    const std::byte* const a = sum(first, left, between, free);
    if (a == nullptr) return nullptr;
    // The right half comes where the sum goes, if nothing lies there yet.
    const bool is_free = a != between;
    const std::byte* const b =
        sum(first + left, operands - left, is_free ? between : free, is_free ? free : free + bytes);
    if (b == nullptr) return nullptr;
    combine(to, a, b);
    return to;
  }
  void combine(void* to, const std::byte* a, const std::byte* b) const {
    // fold_fetched() holds the guard for all combinations.
    if (fold.kernel.is_floating()) return fold.kernel.combine_guarded(to, a, b, bytes / fold.element_bytes);
    fold.combine(to, a, b, bytes / fold.element_bytes);
  }
};

}  // namespace detail

/// The number of buffers that fold_fetched() needs beside its result: also the right half of two operands may need one.
constexpr std::size_t fetch_buffers(int operands) noexcept {
  return operands < 2 ? 0 : static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(operands - 1)));
}

/// The same as fold_canonical() where operands are fetched: source(i, place) returns where operand i lies, after it has
/// fetched it into `place` if it was elsewhere, or null if that failed. Returns false then. `spare` has room for
/// fetch_buffers(operands) buffers. All of it runs under one FloatEnvGuard if the fold is a floating-point kernel's, so
/// `source` does no arithmetic of the program's.
template <class Source>
bool fold_fetched(const Fold& fold, int operands, std::byte* out, std::byte* between, std::byte* spare,
                  std::size_t bytes, const Source& source) {
  std::optional<reduce::FloatEnvGuard> guard;
  if (fold.kernel.is_floating()) guard.emplace();
  const detail::CanonicalFold<Source> folding{fold, source, bytes};
  const std::byte* const sum = operands == 1 ? source(0, between) : folding.halves(0, operands, between, out, spare);
  if (sum != nullptr && sum != out) std::memcpy(out, sum, bytes);  // Only a lone operand lies elsewhere.
  return sum != nullptr;
}

/// Stores source(0) op source(1) op ... of `bytes` (whole elements) each in `out`; source(i) returns a `const
/// std::byte*`. `out` may be any of the operands if `between` is another buffer, which then holds the left half of the
/// sum; otherwise `between` is `out`, which may be one of the first two operands. `spare` has room for
/// spare_buffers(operands) buffers of `bytes`.
template <class Source>
void fold_canonical(const Fold& fold, int operands, std::byte* out, std::byte* between, std::byte* spare,
                    std::size_t bytes, const Source& source) {
  (void)fold_fetched(fold, operands, out, between, spare, bytes,
                     [&](int i, std::byte*) -> const std::byte* { return source(i); });
}

}  // namespace sumac::coll
