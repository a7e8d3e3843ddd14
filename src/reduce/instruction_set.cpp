#include "reduce/instruction_set.hpp"

#include <atomic>

namespace sumac::reduce::detail {
namespace {

// The compiler's runtime asks the processor, and the kernel whether it saves the wide registers. Two features that
// Highway's kernels use have no name in every compiler: F16C and LZCNT, which every processor with AVX2, FMA and BMI2
// has.
InstructionSet ask_processor() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool sse4 = __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
                    __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
                    __builtin_cpu_supports("aes");
  const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd");
  return avx512 ? InstructionSet::avx512
         : avx2 ? InstructionSet::avx2
         : sse4 ? InstructionSet::sse4
                : InstructionSet::baseline;
#else
  return InstructionSet::baseline;
#endif
}

std::atomic<InstructionSet>& chosen() noexcept {
  static std::atomic<InstructionSet> set = best_instruction_set();
  return set;
}

}  // namespace

InstructionSet best_instruction_set() noexcept {
  static const InstructionSet best = ask_processor();
  return best;
}

InstructionSet instruction_set() noexcept { return chosen().load(); }

void choose_instruction_set(InstructionSet set) noexcept { chosen().store(set); }

}  // namespace sumac::reduce::detail
