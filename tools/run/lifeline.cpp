#include "tools/run/lifeline.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sumac::tools {

Result<UniqueFd> watch_parent(const Settings& settings) {
  const auto text = get(settings, "parent");
  if (text.empty()) return UniqueFd();
  const pid_t parent = ::getppid();
  if (std::to_string(parent) != text) return fail(Errc::interrupted, "the process that started it has ended");
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, parent, 0)));
  if (!fd) return fail_errno("watching the process that started it");
  return fd;
}

void attend(std::vector<launch::Daemon>& daemons, int signal_fd, int parent_fd) {
  for (;;) {
    pollfd wait[] = {{STDIN_FILENO, POLLIN, 0}, {signal_fd, POLLIN, 0}, {parent_fd, POLLIN, 0}};
    if (::poll(wait, 3, -1) < 0 && errno != EINTR) return;
    if (wait[0].revents != 0 || wait[2].revents != 0) return;
    signalfd_siginfo info{};
    while (::read(signal_fd, &info, sizeof info) == sizeof info)
      if (info.ssi_signo != SIGCHLD) return;
    for (auto& daemon : daemons)
      if (const auto words = daemon.obituary(); words && !say("died " + *words)) return;
  }
}

}  // namespace sumac::tools
