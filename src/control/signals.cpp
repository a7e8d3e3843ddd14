#include "control/signals.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace sumac::control {

Result<Signals> Signals::block(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0) {
    errno = error;
    return fail_errno("pthread_sigmask");
  }
  ::signal(SIGPIPE, SIG_IGN);
  UniqueFd fd(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd) return fail_errno("signalfd");
  return Signals(std::move(fd));
}

std::optional<int> Signals::take() noexcept {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

int poll_timeout(Time now, Time deadline) noexcept {
  if (deadline == kNever) return -1;
  if (deadline <= now) return 0;
  return static_cast<int>(std::min<std::int64_t>(std::chrono::ceil<Millis>(deadline - now).count(), 86'400'000));
}

Result<WakeEvent> WakeEvent::make() {
  UniqueFd fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!fd) return fail_errno("eventfd");
  return WakeEvent(std::move(fd));
}

void WakeEvent::set() const noexcept {
  const std::uint64_t one = 1;
  // EAGAIN means that the counter is full, so the sleeper wakes anyway.
  [[maybe_unused]] const auto n = ::write(fd_.get(), &one, sizeof one);
}

void WakeEvent::clear() const noexcept {
  std::uint64_t count = 0;
  // EAGAIN means that the event was clear already.
  [[maybe_unused]] const auto n = ::read(fd_.get(), &count, sizeof count);
}

}  // namespace sumac::control
