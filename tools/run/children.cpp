#include "tools/run/children.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "tools/run/pki.hpp"

namespace sumac::tools {

namespace {

constexpr int kReadyWaitMs = 20'000;
constexpr int kEndWaitMs = 5'000;

/// Children must not inherit our blocked signals.
void unblock_signals() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
}

/// The parent may have died before the parent-death signal was requested.
void die_with(pid_t parent, int signal) {
  ::prctl(PR_SET_PDEATHSIG, signal);
  if (::getppid() != parent) ::_exit(1);
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const auto& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

std::string last_words(const std::string& log) {
  std::ifstream file(log);
  std::string line, last;
  while (std::getline(file, line))
    if (!line.empty()) last = line;
  return last.empty() ? "it said nothing" : "its last words: " + last;
}

/// Runs until the pipe's other end is closed; removes the directory unless a byte reported that this was done.
[[noreturn]] void guard(int pipe, const std::string& directory) {
  ::setsid();  // Ctrl-C at the terminal must not reach us, because we outlive the run to clean up.
  ::prctl(PR_SET_NAME, "sumac-guardian");
  char byte = 0;
  ssize_t got = 0;
  do {
    got = ::read(pipe, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got == 0) {
    std::error_code ignored;  // Nobody is left to report to.
    std::filesystem::remove_all(directory, ignored);
  }
  ::_exit(0);
}

}  // namespace

std::string describe_exit(int wait_status) {
  if (WIFSIGNALED(wait_status))
    return fmt::format("signal {} ({})", WTERMSIG(wait_status), ::strsignal(WTERMSIG(wait_status)));
  return fmt::format("status {}", WEXITSTATUS(wait_status));
}

Result<> check_program(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    if (::access(program.c_str(), X_OK) == 0) return {};
    return fail(Errc::not_found, "{}: {}", program, std::strerror(errno));
  }
  const char* path = std::getenv("PATH");
  std::istringstream directories(path != nullptr ? path : "/bin:/usr/bin");  // As execvp does.
  for (std::string directory; std::getline(directories, directory, ':');)
    if (::access(((directory.empty() ? "." : directory) + "/" + program).c_str(), X_OK) == 0) return {};
  return fail(
      Errc::not_found, "{} is not on the PATH{}", program,
      program == "mpirun" ? ": install Open MPI (Debian: openmpi-bin)" : ": name its file, such as ./" + program);
}

Result<RunDirectory> RunDirectory::make() {
  const char* base = std::getenv("TMPDIR");
  std::string path = fmt::format("{}/sumac-run-XXXXXX", base != nullptr && *base != '\0' ? base : "/tmp");
  if (path.size() + sizeof kHostsSuffix + sizeof "/manager.sock" > sizeof(sockaddr_un::sun_path))
    return fail(Errc::invalid, "{} is too long for the sockets in it: set TMPDIR to a shorter path, such as /tmp",
                path);
  if (::mkdtemp(path.data()) == nullptr)
    return fail_errno(fmt::format("a directory {} (set TMPDIR to one you may write in)", path));
  return guarded(path);
}

Result<RunDirectory> RunDirectory::make_at(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) < 0)
    return errno == EEXIST ? fail(Errc::io, "{} is there already: is this host named twice, by two names?", path)
                           : fail_errno(fmt::format("a directory {} (set TMPDIR to one that all hosts have)", path));
  return guarded(path);
}

Result<RunDirectory> RunDirectory::guarded(const std::string& path) {
  RunDirectory directory;
  directory.path_ = path;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) < 0) return fail_errno("pipe");
  UniqueFd read_end(ends[0]);
  directory.guardian_pipe_ = UniqueFd(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return fail_errno("fork");
  if (child == 0) {
    // A program that reads our output, or waits until a pipe of ours closes, must not wait for the guardian.
    ::dup2(ends[0], 0);
    ::close_range(1, ~0u, 0);
    guard(0, path);
  }
  directory.guardian_ = child;
  return directory;
}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      guardian_pipe_(std::move(other.guardian_pipe_)),
      guardian_(std::exchange(other.guardian_, -1)),
      keep_(other.keep_) {}

RunDirectory::~RunDirectory() {
  if (path_.empty()) return;
  std::error_code failed;
  std::filesystem::remove_all(keep_ ? path_ + kTlsSuffix : path_, failed);
  if (failed) fmt::print(stderr, "sumac run: {} is left: {}\n", path_, failed.message());
  if (guardian_ > 0) {
    const char done = 1;
    [[maybe_unused]] const auto told = ::write(guardian_pipe_.get(), &done, 1);  // It also ends when the pipe closes.
    guardian_pipe_ = UniqueFd();
    ::waitpid(guardian_, nullptr, 0);
  }
}

Result<RunDaemon> RunDaemon::start(const std::string& name, std::vector<std::string> command, const std::string& log,
                                   int signal_fd) {
  return launch(name, std::move(command), log, signal_fd, {});
}

Result<pid_t> start_lasting(const std::string& name, std::vector<std::string> command, const std::string& log,
                            int signal_fd, const std::function<Result<>(pid_t)>& recorded) {
  auto daemon = RunDaemon::launch(name, std::move(command), log, signal_fd, recorded);
  if (!daemon) return tl::unexpected(daemon.error());
  return std::exchange(daemon->pid_, -1);
}

Result<RunDaemon> RunDaemon::launch(const std::string& name, std::vector<std::string> command, const std::string& log,
                                    int signal_fd, const std::function<Result<>(pid_t)>& recorded) {
  std::array<int, 2> ends{}, leave{};
  if (::pipe2(leave.data(), O_CLOEXEC) < 0) return fail_errno("pipe");
  const UniqueFd wait_leave(leave[0]);
  UniqueFd give_leave(leave[1]);
  if (::pipe2(ends.data(), O_CLOEXEC) < 0) return fail_errno("pipe");
  UniqueFd ready(ends[0]), say_ready(ends[1]);
  UniqueFd output(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (output.get() < 0) return fail_errno(log);
  command.insert(command.end(), {"--ready-fd", "3"});
  const auto arguments = pointers(command);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return fail_errno("fork");
  if (child == 0) {
    if (recorded) {
      ::setsid();
      give_leave = UniqueFd();
      char byte = 0;
      if (::chdir("/") < 0 || ::read(wait_leave.get(), &byte, 1) != 1) ::_exit(127);
    } else {
      die_with(parent, SIGKILL);
      ::setpgid(0, 0);  // Ctrl-C at the terminal ends the program; daemons end after it.
    }
    unblock_signals();
    const UniqueFd nothing(::open("/dev/null", O_RDONLY));
    // The ready pipe may itself be one of 0..3: move it up before those are reused.
    const int said = ::fcntl(say_ready.get(), F_DUPFD, 10);
    const int out = ::fcntl(output.get(), F_DUPFD, 10);
    if (::dup2(nothing.get(), 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(out, 2) < 0 || ::dup2(said, 3) < 0) ::_exit(127);
    ::close_range(4, ~0u, 0);
    ::execv(arguments[0], arguments.data());
    fmt::print(stderr, "{}: {}\n", arguments[0], std::strerror(errno));
    ::_exit(127);
  }
  RunDaemon daemon;
  daemon.name_ = name;
  daemon.log_ = log;
  daemon.pid_ = child;
  say_ready = UniqueFd();
  if (recorded) {
    if (auto done = recorded(child); !done) return tl::unexpected(done.error());
    const char go = 1;
    if (::write(give_leave.get(), &go, 1) != 1) return fail_errno(name);
  }
  std::array<pollfd, 2> wait{pollfd{ready.get(), POLLIN, 0}, pollfd{signal_fd, POLLIN, 0}};
  const int got = ::poll(wait.data(), wait.size(), kReadyWaitMs);
  if (got > 0 && wait[1].revents != 0) return fail(Errc::interrupted, "interrupted while {} started", name);
  char byte = 0;
  if (got > 0 && ::read(ready.get(), &byte, 1) == 1) return daemon;
  if (got == 0)
    return fail(Errc::timeout, "{} is not ready after {} s; {}", name, kReadyWaitMs / 1000, last_words(log));
  int status = 0;
  ::waitpid(child, &status, 0);
  daemon.pid_ = -1;
  return fail(Errc::lost, "{} ended at once with {}; {}", name, describe_exit(status), last_words(log));
}

RunDaemon::RunDaemon(RunDaemon&& other) noexcept
    : name_(std::move(other.name_)), log_(std::move(other.log_)), pid_(std::exchange(other.pid_, -1)) {}

RunDaemon::~RunDaemon() {
  if (pid_ <= 0) return;
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  ::kill(pid_, SIGTERM);
  pollfd wait{process.get(), POLLIN, 0};
  if (process.get() < 0 || ::poll(&wait, 1, kEndWaitMs) <= 0) {
    fmt::print(stderr, "sumac run: {} did not end in {} s: killed\n", name_, kEndWaitMs / 1000);
    ::kill(pid_, SIGKILL);
  }
  ::waitpid(pid_, nullptr, 0);
}

std::optional<std::string> RunDaemon::obituary() {
  int status = 0;
  if (pid_ <= 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  return fmt::format("{} ended with {}; {}", name_, describe_exit(status), last_words(log_));
}

Result<GroupWitness> GroupWitness::start() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) < 0) return fail_errno("socketpair");
  GroupWitness witness;
  witness.talk_ = UniqueFd(ends[0]);
  const UniqueFd theirs(ends[1]);
  const pid_t parent = ::getpid();
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t child = ::fork();
  if (child == 0) {
    die_with(parent, SIGKILL);
    ::prctl(PR_SET_NAME, "sumac-witness");
    ::dup2(theirs.get(), 0);
    ::close_range(1, ~0u, 0);
    for (char asked = 0; ::read(0, &asked, 1) == 1;) {
      sigset_t one;
      ::sigemptyset(&one);
      ::sigaddset(&one, asked);
      const timespec now{};
      const char heard = ::sigtimedwait(&one, nullptr, &now) == asked ? 1 : 0;
      if (::write(0, &heard, 1) != 1) break;
    }
    ::_exit(0);
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) return fail_errno("fork");
  witness.pid_ = child;
  return witness;
}

GroupWitness::GroupWitness(GroupWitness&& other) noexcept
    : talk_(std::move(other.talk_)), pid_(std::exchange(other.pid_, -1)) {}

GroupWitness::~GroupWitness() {
  if (pid_ <= 0) return;
  talk_ = UniqueFd();
  ::waitpid(pid_, nullptr, 0);
}

bool GroupWitness::heard(int signal) {
  const char asked = static_cast<char>(signal);
  char answer = 0;
  return ::write(talk_.get(), &asked, 1) == 1 && ::read(talk_.get(), &answer, 1) == 1 && answer == 1;
}

Result<pid_t> start_program(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  const auto arguments = pointers(command);
  const auto variables = pointers(environment);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) < 0) return fail_errno("pipe");
  const UniqueFd failed(ends[0]);
  UniqueFd say_failed(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return fail_errno("fork");
  if (child == 0) {
    die_with(parent, SIGTERM);
    unblock_signals();
    ::execvpe(arguments[0], arguments.data(), variables.data());
    const int code = errno;
    [[maybe_unused]] const auto told = ::write(say_failed.get(), &code, sizeof code);
    ::_exit(127);
  }
  say_failed = UniqueFd();
  int code = 0;
  if (::read(failed.get(), &code, sizeof code) == sizeof code) {
    ::waitpid(child, nullptr, 0);
    return fail(Errc::not_found, "{}: {}", command[0], std::strerror(code));
  }
  return child;
}

}  // namespace sumac::tools
