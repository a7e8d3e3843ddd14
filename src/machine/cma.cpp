#include "machine/cma.hpp"

#include <sys/prctl.h>
#include <sys/uio.h>

#include <cerrno>

namespace sumac::machine {

Cma probe_cma(pid_t pid, std::uint64_t* word, std::uint64_t expected) noexcept {
  std::uint64_t found = ~expected;
  const iovec here{&found, sizeof found};
  const iovec there{word, sizeof *word};
  ssize_t got = ::process_vm_readv(pid, &here, 1, &there, 1, 0);
  if (got == sizeof found) {
    if (found != expected) return Cma::mistaken;
    got = ::process_vm_writev(pid, &here, 1, &there, 1, 0);
    if (got == sizeof found) return Cma::works;
  }
  if (got >= 0) return Cma::mistaken;
  switch (errno) {
    case ENOSYS: return Cma::unsupported;
    case ESRCH: return Cma::gone;
    case EFAULT: return Cma::mistaken;  // The address does not exist there, so this is not the expected process.
    default: return Cma::denied;
  }
}

const char* why(Cma answer) noexcept {
  switch (answer) {
    case Cma::works: return "works";
    case Cma::denied: return "not permitted (Yama's ptrace_scope, another user, or a container's seccomp profile)";
    case Cma::unsupported: return "not in this kernel, or hidden by a seccomp profile";
    case Cma::gone: return "the other process is not visible here (another PID namespace)";
    case Cma::mistaken: return "the process number means another process here (another PID namespace)";
  }
  return "?";
}

void allow_cma() noexcept {
  // EINVAL means that the kernel has no Yama, so nothing forbids the read.
  (void)::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

}  // namespace sumac::machine
