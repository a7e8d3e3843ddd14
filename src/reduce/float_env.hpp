#pragma once
// Host programs turn subnormals off (-ffast-math, Intel's compilers), change the rounding mode or let exceptions trap.
// A reduction must give the same bits in every rank and node, so it runs under the default environment. Afterwards the
// guard restores the program's own environment, sticky flags included.
#if defined(__x86_64__)
#include <xmmintrin.h>
#elif defined(__aarch64__)
#include <cstdint>
#else
#include <cfenv>
#endif

namespace sumac::reduce {

class FloatEnvGuard {
 public:
  FloatEnvGuard(const FloatEnvGuard&) = delete;
  FloatEnvGuard& operator=(const FloatEnvGuard&) = delete;

#if defined(__x86_64__)
  // Reading MXCSR is cheap and writing it is not, so it is written only if that changes something.
  FloatEnvGuard() noexcept : saved_(_mm_getcsr()) {
    if ((saved_ & ~kStickyFlags) != kDefault) _mm_setcsr(kDefault);
  }
  ~FloatEnvGuard() {
    if (_mm_getcsr() != saved_) _mm_setcsr(saved_);
  }

 private:
  static constexpr unsigned kStickyFlags = 0x3f;
  static constexpr unsigned kDefault = 0x1f80;  // all exceptions masked, nearest even, no FTZ, no DAZ
  unsigned saved_;
#elif defined(__aarch64__)
  FloatEnvGuard() noexcept {
    asm volatile("mrs %0, fpcr" : "=r"(control_));
    asm volatile("mrs %0, fpsr" : "=r"(status_));
    if (control_ != 0) asm volatile("msr fpcr, %0" ::"r"(std::uint64_t{0}) : "memory");
  }
  ~FloatEnvGuard() {
    if (control_ != 0) asm volatile("msr fpcr, %0" ::"r"(control_) : "memory");
    asm volatile("msr fpsr, %0" ::"r"(status_) : "memory");
  }

 private:
  std::uint64_t control_, status_;
#else
  FloatEnvGuard() noexcept {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatEnvGuard() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
#endif
};

}  // namespace sumac::reduce
