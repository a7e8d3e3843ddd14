#pragma once
// Single copy between processes (cross memory attach: process_vm_readv). Containers, Yama and hardened kernels forbid it
// in their own ways, so nothing is concluded from settings: one word of the peer is read, and is right or is not.
#include <sys/types.h>

#include <cstdint>

namespace sumac::machine {

enum class Cma : std::uint8_t {
  works,
  denied,       ///< EPERM: Yama's ptrace_scope, another user, a container's seccomp profile.
  unsupported,  ///< ENOSYS: the kernel has it not, or a seccomp profile says so.
  gone,         ///< ESRCH: no such process in this PID namespace.
  mistaken,     ///< Read something else: that number belongs to another process here (PID namespaces).
};

/// Reads the word at `word` in process `pid`, compares it with `expected`, and if it is that, writes it back.
Cma probe_cma(pid_t pid, std::uint64_t* word, std::uint64_t expected) noexcept;

/// What a person is told: "not permitted (Yama's ptrace_scope, or a container's seccomp profile)".
const char* why(Cma answer) noexcept;

/// Lets any process of this user read ours where Yama is at ptrace_scope 1, which allows only a process's ancestors:
/// prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY). Harmless elsewhere.
void allow_cma() noexcept;

}  // namespace sumac::machine
