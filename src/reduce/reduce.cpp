#include "reduce/reduce.hpp"

#include "reduce/float_env.hpp"
#include "reduce/kernels.hpp"

namespace sumac::reduce {

void Kernel::combine(void* out, const void* a, const void* b, std::size_t count) const noexcept {
  if (!floating_) return function_(out, a, b, count);
  // The call goes through a pointer, so the compiler can move no arithmetic out of the guard's scope.
  const FloatEnvGuard guard;
  function_(out, a, b, count);
}

Kernel kernel_for(Op op, Dtype dtype, Dtype tag) noexcept {
  if (!legal(dtype, op, tag)) return {};
  const auto function = is_pair(op) ? detail::pair_kernel(op, dtype, tag) : detail::simd_kernel(op, dtype);
  return {function, element_bytes(dtype, op, tag), is_float(dtype)};
}

Errc reduce(Op op, Dtype dtype, Dtype tag, void* inout, const void* in, std::size_t count) noexcept {
  const Kernel kernel = kernel_for(op, dtype, tag);
  if (!kernel) return Errc::unsupported;
  kernel(inout, in, count);
  return Errc::ok;
}

}  // namespace sumac::reduce
