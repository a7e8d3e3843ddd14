#pragma once
// Reductions of vectors of any legal type and operation (base/types.hpp; docs/reference.md defines each). Look the kernel
// up once per operation, then apply it to any number of fragments; neither allocates, locks or fails.
//
//   const Kernel kernel = kernel_for(op, dtype, tag);
//   if (!kernel) return Errc::unsupported;
//   kernel(accumulator, received, count);          // accumulator[i] = accumulator[i] op received[i]
//   kernel.combine(out, first, second, count);     // out[i] = first[i] op second[i]: saves copying the first
//
// Pointers need no alignment. `out` may be one of the operands, but must not overlap one otherwise.
#include <cstddef>

#include "base/result.hpp"
#include "base/types.hpp"

namespace sumac::reduce {

class Kernel {
 public:
  using Function = void (*)(void* out, const void* a, const void* b, std::size_t count);

  constexpr Kernel() noexcept = default;
  constexpr Kernel(Function function, std::size_t element_bytes, bool floating) noexcept
      : function_(function), element_bytes_(element_bytes), floating_(floating) {}

  explicit constexpr operator bool() const noexcept { return function_ != nullptr; }
  constexpr std::size_t element_bytes() const noexcept { return element_bytes_; }
  /// Does its result depend on the floating-point environment?
  constexpr bool is_floating() const noexcept { return floating_; }

  void operator()(void* inout, const void* in, std::size_t count) const noexcept { combine(inout, inout, in, count); }
  void combine(void* out, const void* a, const void* b, std::size_t count) const noexcept;
  /// The same within a FloatEnvGuard of the caller, which a series of calls shares if is_floating(): each guard takes
  /// some 20 ns.
  void combine_guarded(void* out, const void* a, const void* b, std::size_t count) const noexcept {
    function_(out, a, b, count);
  }

 private:
  Function function_ = nullptr;
  std::size_t element_bytes_ = 0;
  bool floating_ = false;
};

/// Returns the kernel for this processor; an empty one if the combination is not legal.
Kernel kernel_for(Op op, Dtype dtype, Dtype tag = Dtype::null) noexcept;

/// Does both steps at once, for callers that reduce only once. Errc::unsupported if the combination is not legal.
Errc reduce(Op op, Dtype dtype, Dtype tag, void* inout, const void* in, std::size_t count) noexcept;

}  // namespace sumac::reduce
