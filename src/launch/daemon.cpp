#include "launch/daemon.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <tuple>

#include "base/fd.hpp"
#include "base/tell.hpp"
#include "launch/log_file.hpp"

namespace sumac::launch {

namespace {

constexpr int kReadyWaitMs = 30'000;
constexpr int kEndWaitMs = 5'000;
constexpr int kReadyFd = 3;

/// Holds all that the child needs between fork and exec. It was made before, because between vfork and exec a child must
/// not allocate.
struct Birth {
  std::vector<char*> arguments, environment;
  std::vector<std::string> words;  ///< The memory of `arguments` and `environment`.
  UniqueFd output, nothing, say_ready;
  pid_t parent = ::getpid();
};

std::vector<char*> pointers(std::vector<std::string>& words, std::size_t from, std::size_t to) {
  std::vector<char*> found;
  for (std::size_t i = from; i < to; ++i) found.push_back(words[i].data());
  found.push_back(nullptr);
  return found;
}

Result<Birth> prepare(const Launch& launch) {
  Birth birth;
  birth.output = UniqueFd(::open(launch.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!birth.output) return fail_errno(launch.log);
  birth.nothing = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!birth.nothing) return fail_errno("/dev/null");
  birth.words = launch.command;
  if (launch.reports_ready) birth.words.insert(birth.words.end(), {"--ready-fd", std::to_string(kReadyFd)});
  const std::size_t arguments = birth.words.size();
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view entry(*variable);
    const bool is_set = std::ranges::any_of(launch.environment, [&](const auto& one) {
      return entry.starts_with(one.first) && entry.substr(one.first.size()).starts_with('=');
    });
    if (!is_set) birth.words.emplace_back(entry);
  }
  for (const auto& [name, value] : launch.environment) birth.words.push_back(name + "=" + value);
  birth.arguments = pointers(birth.words, 0, arguments);
  birth.environment = pointers(birth.words, arguments, birth.words.size());
  return birth;
}

/// Runs in the child and makes it the daemon.
[[noreturn]] void become(const Birth& birth) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);  // A child must not inherit our blocked signals.
  ::signal(SIGPIPE, SIG_DFL);
  // A descriptor that the child keeps may itself be one of 0..3: move it up before those are reused.
  const int said = birth.say_ready ? ::fcntl(birth.say_ready.get(), F_DUPFD, 10) : -1;
  const int out = ::fcntl(birth.output.get(), F_DUPFD, 10), in = ::fcntl(birth.nothing.get(), F_DUPFD, 10);
  if (::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(out, 2) < 0) ::_exit(127);
  if (said >= 0 && ::dup2(said, kReadyFd) < 0) ::_exit(127);
  ::close_range(said >= 0 ? kReadyFd + 1 : 3, ~0u, 0);
  ::execve(birth.arguments[0], birth.arguments.data(), birth.environment.data());
  const char* why = ::strerrordesc_np(errno);
  for (const char* text : {static_cast<const char*>(birth.arguments[0]), ": ", why, "\n"})
    [[maybe_unused]] const auto told = ::write(2, text, std::strlen(text));
  ::_exit(127);
}

/// vfork, because this process may hold the memory of thousands of threads and connections, which fork would map anew.
[[gnu::noinline]] pid_t bear_child_that_dies_with_us(const Birth& birth) {
  const pid_t child = ::vfork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != birth.parent) ::_exit(1);  // We died before that.
  ::setpgid(0, 0);
  become(birth);
}

pid_t bear_child_that_stays(const Birth& birth, UniqueFd& wait_leave, UniqueFd& give_leave) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::setsid();
  give_leave.reset();
  char byte = 0;
  if (::chdir("/") < 0 || ::read(wait_leave.get(), &byte, 1) != 1) ::_exit(127);
  become(birth);
}

Result<std::pair<UniqueFd, UniqueFd>> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) < 0) return fail_errno("make a pipe");
  return std::pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace

Result<> Daemon::await_ready(const Launch& launch, int ready_fd) {
  std::array<pollfd, 2> events{pollfd{ready_fd, POLLIN, 0}, pollfd{launch.interrupt_fd, POLLIN, 0}};
  const int got = ::poll(events.data(), events.size(), kReadyWaitMs);
  if ((got > 0 && events[1].revents != 0) || (got < 0 && errno == EINTR))
    return fail(Errc::interrupted, "interrupted while {} started", name_);
  char byte = 0;
  if (got > 0 && ::read(ready_fd, &byte, 1) == 1) return {};
  if (got == 0)
    return fail(Errc::timeout, "{} is not ready after {} s; {}", name_, kReadyWaitMs / 1000, last_words(log_));
  return fail(Errc::lost, "{} ended at once with {}; {}", name_, describe_exit(wait()), last_words(log_));
}

Result<Daemon> Daemon::start(const Launch& launch) {
  auto birth = prepare(launch);
  if (!birth) return tl::unexpected(birth.error());
  UniqueFd ready;
  if (launch.reports_ready) {
    auto pipe = make_pipe();
    if (!pipe) return tl::unexpected(pipe.error());
    std::tie(ready, birth->say_ready) = std::move(*pipe);
  }
  const pid_t child = bear_child_that_dies_with_us(*birth);
  if (child < 0) return fail_errno(launch.name);
  Daemon daemon(launch, child);
  birth->say_ready.reset();
  if (launch.reports_ready)
    if (auto is_ready = daemon.await_ready(launch, ready.get()); !is_ready) return tl::unexpected(is_ready.error());
  return daemon;
}

Result<pid_t> start_lasting(const Launch& launch, const std::function<Result<>(pid_t)>& recorded) {
  auto birth = prepare(launch);
  if (!birth) return tl::unexpected(birth.error());
  auto ready = make_pipe(), leave = make_pipe();
  if (!ready || !leave) return tl::unexpected(ready ? leave.error() : ready.error());
  birth->say_ready = std::move(ready->second);
  const pid_t child = bear_child_that_stays(*birth, leave->first, leave->second);
  if (child < 0) return fail_errno(launch.name);
  Daemon daemon(launch, child);
  birth->say_ready.reset();
  if (auto done = recorded(child); !done) {
    leave->second.reset();  // It ends without having begun, also where it has inherited that SIGTERM is blocked.
    return tl::unexpected(done.error());
  }
  const char go = 1;
  if (::write(leave->second.get(), &go, 1) != 1) return fail_errno(launch.name);
  if (auto is_ready = daemon.await_ready(launch, ready->first.get()); !is_ready)
    return tl::unexpected(is_ready.error());
  return std::exchange(daemon.pid_, -1);
}

Daemon::Daemon(Daemon&& other) noexcept
    : name_(std::move(other.name_)), log_(std::move(other.log_)), pid_(std::exchange(other.pid_, -1)) {}

Daemon::~Daemon() {
  if (pid_ <= 0) return;
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  signal(SIGTERM);
  pollfd end{process.get(), POLLIN, 0};
  if (!process || ::poll(&end, 1, kEndWaitMs) <= 0) {
    tell("sumac: {} did not end in {} s: killed", name_, kEndWaitMs / 1000);
    signal(SIGKILL);
  }
  wait();
}

void Daemon::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

int Daemon::wait() {
  int status = 0;
  if (pid_ > 0) ::waitpid(std::exchange(pid_, -1), &status, 0);
  return status;
}

std::optional<std::string> Daemon::obituary() {
  int status = 0;
  if (pid_ <= 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  return fmt::format("{} ended with {}; {}", name_, describe_exit(status), last_words(log_));
}

}  // namespace sumac::launch
