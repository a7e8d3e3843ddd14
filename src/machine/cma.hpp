#pragma once
// Single copy between processes (cross memory attach: process_vm_readv). Containers, Yama and hardened kernels each
// forbid it by other means, so settings prove nothing: the probe reads one word of the peer and compares it.
#include <sys/types.h>

#include <cstdint>

namespace sumac::machine {

enum class Cma : std::uint8_t {
  works,
  denied,       ///< EPERM: Yama's ptrace_scope, another user, a container's seccomp profile.
  unsupported,  ///< ENOSYS: the kernel lacks the call, or a seccomp profile pretends so.
  gone,         ///< ESRCH: no such process exists in this PID namespace.
  mistaken,     ///< The word was another one: that number belongs to another process here (PID namespaces).
};

/// Reads the word at `word` in process `pid`, compares it with `expected`, and writes it back if both are equal.
Cma probe_cma(pid_t pid, std::uint64_t* word, std::uint64_t expected) noexcept;

/// Explains the answer to a person: "not permitted (Yama's ptrace_scope, or a container's seccomp profile)".
const char* why(Cma answer) noexcept;

/// Lets any process of this user read our memory, with prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY). Yama at ptrace_scope
/// 1 would otherwise allow only a process's ancestors. It is harmless elsewhere.
void allow_cma() noexcept;

}  // namespace sumac::machine
