#pragma once
// This header belongs to src/reduce and its tests alone. Highway compiles a kernel for each instruction set; the choice
// among them is made here. Highway's own choice is in libhwy, whose load measures the processor's clock for 3.5 ms in
// every process, before main() and inside MPI_Init (docs/adr/0068).
namespace sumac::reduce::detail {

enum class InstructionSet {
  baseline,  ///< Whatever the compiler may use everywhere: SSE2 on x86-64, NEON on arm64.
  sse4,
  avx2,
  avx512,
};

/// Returns the best instruction set of this processor for which there are kernels.
InstructionSet best_instruction_set() noexcept;

/// Returns the one to use: the best, unless a test has chosen another.
InstructionSet instruction_set() noexcept;

/// For tests: `set` must not be better than best_instruction_set(). Kernels that callers hold already do not change.
void choose_instruction_set(InstructionSet set) noexcept;

}  // namespace sumac::reduce::detail
