#include "tools/lab/session.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "lab/client.hpp"

namespace sumac::tools {
namespace {

/// Starts `sumac lab up` with its standard output in a pipe. It has a process group of its own, so that Ctrl-C ends the
/// measurement first and the lab afterwards.
Result<pid_t> start_up(const std::string& sumac, const std::string& name, const std::string& fabric, int out) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return fail_errno("fork");
  if (child > 0) return child;
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(out, STDOUT_FILENO);
  ::execl(sumac.c_str(), sumac.c_str(), "lab", "up", "--foreground", "--name", name.c_str(), fabric.c_str(), nullptr);
  ::_exit(127);
}

/// Reads until the line that says that the lab is up.
Result<> await_up(int out, int interrupt_fd) {
  std::string text;
  for (;;) {
    std::array<pollfd, 2> wait{{{out, POLLIN, 0}, {interrupt_fd, POLLIN, 0}}};
    if (::poll(wait.data(), wait.size(), -1) < 0) continue;
    if (wait[1].revents != 0) return fail(Errc::interrupted, "interrupted while the lab came up");
    std::array<char, 4096> part{};
    const auto got = ::read(out, part.data(), part.size());
    if (got <= 0) return fail(Errc::lost, "the lab did not come up: see its own line above");
    text.append(part.data(), static_cast<std::size_t>(got));
    if (text.find(" is up: ") != std::string::npos) return {};
  }
}

}  // namespace

LabSession::LabSession(std::string name, pid_t pid, UniqueFd out)
    : name_(std::move(name)), pid_(pid), out_(std::move(out)) {}
LabSession::LabSession(LabSession&& other) noexcept
    : name_(std::move(other.name_)), pid_(std::exchange(other.pid_, -1)), out_(std::move(other.out_)) {}

LabSession::~LabSession() {
  if (pid_ < 0) return;
  if (auto down = lab::request(name_, "down"); !down) ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
}

Result<LabSession> LabSession::start(const std::string& sumac, const std::string& fabric, int interrupt_fd) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) < 0) return fail_errno("pipe");
  UniqueFd ours(ends[0]), theirs(ends[1]);
  const auto name = fmt::format("bench-{}", ::getpid());
  auto child = start_up(sumac, name, fabric, theirs.get());
  if (!child) return tl::unexpected(child.error());
  theirs.reset();
  LabSession session(name, *child, std::move(ours));
  if (auto up = await_up(session.out_.get(), interrupt_fd); !up) {
    // request() knows only labs that are up.
    ::kill(session.pid_, SIGTERM);
    ::waitpid(std::exchange(session.pid_, -1), nullptr, 0);
    return tl::unexpected(up.error());
  }
  return session;
}

}  // namespace sumac::tools
