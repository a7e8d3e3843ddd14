#include "tools/run/lifeline.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/run/signals.hpp"

namespace sumac::tools {
namespace {

/// Returns a descriptor that becomes readable when the parent ends; an empty one if `settings` has no "parent PID". A
/// child that the program forks later inherits the other end of our standard input, so its end says too little there.
/// Errc::interrupted: the parent has ended already.
Result<UniqueFd> watch_parent(const Settings& settings) {
  const auto text = get(settings, "parent");
  if (text.empty()) return UniqueFd();
  const pid_t parent = ::getppid();
  if (std::to_string(parent) != text) return fail(Errc::interrupted, "the process that started it has ended");
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, parent, 0)));
  if (!fd) return fail_errno("watching the process that started it");
  return fd;
}

}  // namespace

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

int serve(const Arguments& arguments, const char* usage,
          Result<Served> (*start)(Talk& talk, Settings settings, int interrupt_fd)) {
  if (!arguments.empty()) {
    fmt::print("{}", usage);
    return arguments[0] == "--help" || arguments[0] == "-h" ? 0 : 2;
  }
  ::signal(SIGPIPE, SIG_IGN);
  const auto failed = [](const Error& error) {
    (void)say("failed " + error.context);
    return 1;
  };
  auto signals = make_signal_fd();
  if (!signals) return failed(signals.error());
  auto interrupts = make_interrupt_fd();
  if (!interrupts) return failed(interrupts.error());
  Talk talk;
  auto settings = talk.read(interrupts->get());
  if (!settings) return failed(settings.error());
  auto parent = watch_parent(*settings);
  if (!parent) return failed(parent.error());
  auto served = start(talk, *std::move(settings), interrupts->get());
  if (!served) return failed(served.error());
  if (say("up")) attend(served->daemons, signals->get(), parent->get());
  while (!served->daemons.empty()) served->daemons.pop_back();
  return 0;
}

}  // namespace sumac::tools
