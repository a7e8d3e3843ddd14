#pragma once
// For tests: counts every system call of this thread with the kernel's syscall user dispatch. While counting, each call
// becomes a SIGSYS whose handler makes the call instead. It needs x86-64 and Linux 5.11; elsewhere, and under
// sanitizers, it counts nothing and reports that. On a machine that can only read the clock by a system call, those
// calls are not counted.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__) && defined(PR_SET_SYSCALL_USER_DISPATCH) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define SUMAC_COUNTS_SYSTEM_CALLS 1
// The kernel lets calls between these two labels pass.
asm(R"(
  .pushsection .text
sumac_calls_begin:
sumac_system_call:
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  mov %r8, %r10
  mov %r9, %r8
  mov 8(%rsp), %r9
  syscall
  ret
sumac_restorer:
  mov $15, %rax
  syscall
  nop  # what counts is where a call returns to
sumac_calls_end:
  .popsection
)");
extern "C" {
extern const char sumac_calls_begin[], sumac_calls_end[];
long sumac_system_call(long number, long a, long b, long c, long d, long e, long f);
void sumac_restorer();
}
#endif

namespace sumac::test {

class SystemCalls {
 public:
#ifdef SUMAC_COUNTS_SYSTEM_CALLS
  /// Returns false if this kernel does not support it.
  static bool start() {
    struct {
      void (*handler)(int, siginfo_t*, void*);
      unsigned long flags;
      void (*restorer)();
      unsigned long mask;
    } action{on_call, SA_SIGINFO | SA_NODEFER | 0x04000000 /* SA_RESTORER */, sumac_restorer, 0};
    if (::syscall(SYS_rt_sigaction, SIGSYS, &action, nullptr, sizeof action.mask) != 0) return false;
    const auto bytes = static_cast<unsigned long>(sumac_calls_end - sumac_calls_begin);
    return ::prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, sumac_calls_begin, bytes, &selector) == 0;
  }
  static void count(bool on) { selector = on ? 1 /* BLOCK */ : 0; }

 private:
  static void on_call(int, siginfo_t*, void* context) {
    auto& r = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    if (r[REG_RAX] != SYS_clock_gettime) ++counted;
    r[REG_RAX] = sumac_system_call(r[REG_RAX], r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]);
  }
  static inline volatile char selector = 0;

 public:
#else
  static bool start() { return false; }
  static void count(bool) {}
#endif
  static inline std::uint64_t counted = 0;
};

}  // namespace sumac::test
