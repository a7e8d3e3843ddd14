#include "lab/place_init.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/clock.hpp"
#include "lab/channel.hpp"
#include "lab/place.hpp"

namespace sumac::lab {

namespace {

constexpr Duration kPatience = Seconds{3};  ///< Time between SIGTERM and SIGKILL for a program whose starter is gone.
constexpr int kReadyFd = 3;                 ///< A daemon writes "ready" to this descriptor.

struct Program {
  pid_t pid = -1;
  UniqueFd connection;
  Time kill_at = kNever;
};

[[noreturn]] void fail_start(int connection, const std::string& text, int status) {
  (void)send_message(connection, "failed " + text);
  ::_exit(status);
}

/// Turns the new process into the program.
[[noreturn]] void become(const Message& request, const std::string& devices) {
  const int connection = request.fds[0].get();
  const auto command = unpack(request.fds[1].get());
  if (!command) fail_start(connection, command.error().context, 126);
  ::setsid();  // so that signals reach all of it, and nothing else
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int n = 1; n < NSIG; ++n) ::signal(n, SIG_DFL);
  if (::chdir(command->directory.c_str()) < 0) {
    fail_start(connection,
               "directory " + command->directory + ": " + std::strerror(errno) +
                   " (hosts of the lab have their own /tmp, /run and /dev/shm: start elsewhere, or `sumac lab up "
                   "--share DIR`)",
               126);
  }
  // Move all descriptors away first: a target number may be the source of another.
  std::vector<int> sources;
  for (std::size_t i = 2; i < request.fds.size(); ++i)
    sources.push_back(::fcntl(request.fds[i].get(), F_DUPFD_CLOEXEC, 64));
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i] < 0 || ::dup2(sources[i], static_cast<int>(i)) < 0)
      fail_start(connection, std::strerror(errno), 126);
  }
  std::vector<char*> arguments;
  for (const auto& text : command->arguments) arguments.push_back(const_cast<char*>(text.c_str()));
  arguments.push_back(nullptr);
  ::clearenv();
  for (const auto& text : command->environment) ::putenv(const_cast<char*>(text.c_str()));
  ::setenv("UCX_NET_DEVICES", devices.c_str(), 1);
  // sharp_cmd and similar tools find the manager's authority and a certificate of role admin there.
  if (::access(kTlsDirectory, F_OK) == 0) {
    ::setenv("SUMAC_TLS_DIR", kTlsDirectory, 1);
    for (const char* other : {"SUMAC_TLS_CA", "SUMAC_TLS_CERT", "SUMAC_TLS_KEY"}) ::unsetenv(other);
  }
  if (auto ok = send_message(connection, "started"); !ok) ::_exit(126);  // the program's starter is gone
  ::execvp(arguments[0], arguments.data());
  const int code = errno;
  fail_start(connection, command->arguments[0] + ": " + std::strerror(code), code == ENOENT ? 127 : 126);
}

/// Signals all of the program: its session's group, or the process alone while it has no group yet.
void signal_program(pid_t pid, int number) {
  if (::kill(-pid, number) < 0) ::kill(pid, number);
}

class Init {
 public:
  Init(int channel, const std::string& devices) : channel_(channel), devices_(devices) {
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &child, nullptr);
    children_ = UniqueFd{::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK)};
  }

  void turn() {
    std::vector<pollfd> fds{{channel_, POLLIN, 0}, {children_.get(), POLLIN, 0}};
    auto wake_at = kNever;
    for (const auto& program : programs_) {
      fds.push_back({program.connection.get(), POLLIN, 0});  // poll skips -1 (its starter is gone)
      wake_at = std::min(wake_at, program.kill_at);
    }
    if (::poll(fds.data(), fds.size(), wait_ms(wake_at)) < 0 && errno != EINTR) ::_exit(1);
    // Connections come first: starting a program changes the list that `fds` was made of.
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      if (fds[i + 2].revents != 0) hear(programs_[i]);
    }
    if (fds[1].revents != 0) reap();
    if (fds[0].revents != 0) start();
    for (auto& program : programs_) {
      if (program.kill_at > monotonic_now()) continue;
      signal_program(program.pid, SIGKILL);
      program.kill_at = kNever;
    }
  }

 private:
  static int wait_ms(Time at) {
    if (at == kNever) return -1;
    return static_cast<int>(std::max<std::int64_t>(0, std::chrono::ceil<Millis>(at - monotonic_now()).count()));
  }

  void start() {
    auto request = receive_message(channel_);
    if (!request) ::_exit(0);  // the lab is going down
    if (request->fds.size() < 5 || request->fds.size() > 6) return;
    static_assert(kReadyFd == 3, "the sixth descriptor of a request becomes number 3");
    const auto pid = ::fork();
    if (pid == 0) become(*request, devices_);
    if (pid < 0) {
      (void)send_message(request->fds[0].get(), std::string("failed no process: ") + std::strerror(errno));
      return;
    }
    programs_.push_back({pid, std::move(request->fds[0])});
  }

  static void hear(Program& program) {
    auto message = receive_message(program.connection.get());
    if (!message) {
      program.connection.reset();
      signal_program(program.pid, SIGTERM);
      program.kill_at = deadline_after(monotonic_now(), kPatience);
    } else if (message->text.starts_with("signal ")) {
      signal_program(program.pid, std::atoi(message->text.c_str() + 7));
    }
  }

  void reap() {
    signalfd_siginfo info{};
    while (::read(children_.get(), &info, sizeof info) > 0) {
    }
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto at = std::find_if(programs_.begin(), programs_.end(), [&](const Program& p) { return p.pid == pid; });
      if (at == programs_.end()) continue;  // the process is an orphan of some program
      if (at->connection) (void)send_message(at->connection.get(), "exited " + std::to_string(status));
      programs_.erase(at);
    }
  }

  int channel_;
  const std::string& devices_;
  UniqueFd children_;
  std::vector<Program> programs_;
};

}  // namespace

void serve_place(int channel, const std::string& devices) {
  Init init(channel, devices);
  for (;;) init.turn();
}

}  // namespace sumac::lab
