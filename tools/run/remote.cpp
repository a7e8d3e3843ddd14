#include "tools/run/remote.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <sstream>

#include "control/signals.hpp"
#include "tools/run/children.hpp"

namespace sumac::tools {

std::vector<std::string> launch_command(const std::string& launcher, const std::string& host,
                                        const std::vector<std::string>& what) {
  std::vector<std::string> command;
  std::istringstream words(launcher);
  bool named = false;
  for (std::string word; words >> word; command.push_back(word))
    for (auto at = word.find("{host}"); at != std::string::npos; at = word.find("{host}")) {
      word.replace(at, std::strlen("{host}"), host);
      named = true;
    }
  if (!named) command.push_back(host);
  command.insert(command.end(), what.begin(), what.end());
  return command;
}

Result<Remote> start_remote(const std::vector<std::string>& command, int error_fd) {
  if (auto there = check_program(command[0]); !there) return tl::unexpected(there.error());
  Remote remote;
  std::array<int, 2> to{}, from{};
  if (::pipe2(to.data(), O_CLOEXEC) < 0) return fail_errno("pipe");
  const UniqueFd their_in(to[0]);
  remote.in = UniqueFd(to[1]);
  if (::pipe2(from.data(), O_CLOEXEC) < 0) return fail_errno("pipe");
  remote.out = UniqueFd(from[0]);
  const UniqueFd their_out(from[1]);
  std::vector<char*> words;
  for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t parent = ::getpid();
  remote.pid = ::fork();
  if (remote.pid < 0) return fail_errno("fork");
  if (remote.pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // The lifeline ends too; this is for a launcher that does not pass its end on.
    if (::getppid() != parent) ::_exit(1);
    ::setpgid(0, 0);  // Ctrl-C at the terminal ends the program; the hosts end after it.
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const int in = ::fcntl(their_in.get(), F_DUPFD, 10), out = ::fcntl(their_out.get(), F_DUPFD, 10),
              err = ::fcntl(error_fd, F_DUPFD, 10);
    if (::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0) ::_exit(127);
    ::close_range(3, ~0u, 0);
    ::execvp(words[0], words.data());
    ::_exit(127);
  }
  return remote;
}

bool remote_ends_by(pid_t launcher, Time deadline, int& status) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, launcher, 0)));
  pollfd wait{process.get(), POLLIN, 0};
  bool ends = false;
  while (process && !ends) {
    const int got = ::poll(&wait, 1, control::poll_timeout(monotonic_now(), deadline));
    if (got == 0 || (got < 0 && errno != EINTR)) break;
    ends = got > 0;
  }
  if (!ends) ::kill(-launcher, SIGKILL);
  ::waitpid(launcher, &status, 0);
  return ends;
}

void send_to(const Remote& remote, const std::string& text) {
  const auto ignore = ::signal(SIGPIPE, SIG_IGN);
  [[maybe_unused]] const auto written = ::write(remote.in.get(), text.data(), text.size());
  ::signal(SIGPIPE, ignore);
}

}  // namespace sumac::tools
