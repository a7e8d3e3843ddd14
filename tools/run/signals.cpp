#include "tools/run/signals.hpp"

#include <signal.h>
#include <sys/signalfd.h>

namespace sumac::tools {

Result<UniqueFd> make_signal_fd() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) ::sigaddset(&set, each);
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) < 0) return fail_errno("sigprocmask");
  UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (fd.get() < 0) return fail_errno("signalfd");
  return fd;
}

Result<UniqueFd> make_interrupt_fd() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&set, each);
  UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (fd.get() < 0) return fail_errno("signalfd");
  return fd;
}

}  // namespace sumac::tools
