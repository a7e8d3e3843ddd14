#include "tools/run/children.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>

#include "base/tell.hpp"
#include "tools/run/pki.hpp"

namespace sumac::tools {

namespace {

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

constexpr const char* kLock = "/lock";

/// The lock appears under its name when it is held, so that no other run takes the directory for one that was left.
Result<UniqueFd> lock_in(const std::string& directory) {
  const auto early = directory + kLock + "-new";
  UniqueFd fd(::open(early.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return fail_errno(early);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) (void)::rename(early.c_str(), (directory + kLock).c_str());
  return fd;
}

/// Removes what runs of this user have left in the folder of `path` that were killed together with their guardian, as batch systems
/// do. A directory without a lock is one that the user keeps, or lies where nobody can lock.
void remove_abandoned(const std::string& path) {
  std::error_code ignored;
  const auto folder = std::filesystem::path(path).parent_path();
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().filename().string().starts_with("sumac-run-") && entry.path() != path)
      found.push_back(entry.path());
  for (const auto& directory : found) {
    struct stat status {};
    if (::lstat(directory.c_str(), &status) < 0 || !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid()) continue;
    const UniqueFd lock(::open((directory + kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) std::filesystem::remove_all(directory, ignored);
  }
}

}  // namespace

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

std::string directory_on_hosts(const std::string& directory) {
  return "/tmp" + directory.substr(directory.rfind('/')) + kHostsSuffix;
}

Result<RunDirectory> RunDirectory::make() {
  const char* base = std::getenv("TMPDIR");
  const auto in = [](const char* folder) { return fmt::format("{}/sumac-run-XXXXXX", folder); };
  std::string path = in(base != nullptr && *base != '\0' ? base : "/tmp");
  // Batch systems have folders whose names are too long for the sockets in it.
  if (path.size() + sizeof kHostsSuffix + sizeof "/manager.sock" > sizeof(sockaddr_un::sun_path)) path = in("/tmp");
  if (::mkdtemp(path.data()) == nullptr)
    return fail_errno(fmt::format("a directory {} (set TMPDIR to one you may write in)", path));
  return guarded(path);
}

Result<RunDirectory> RunDirectory::make_at(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) < 0)
    return errno == EEXIST ? fail(Errc::io, "{} is there already: is this host named twice, by two names?", path)
                           : fail_errno(fmt::format("a directory {}", path));
  return guarded(path);
}

Result<RunDirectory> RunDirectory::guarded(const std::string& path) {
  remove_abandoned(path);
  RunDirectory directory;
  directory.path_ = path;
  auto lock = lock_in(path);
  if (!lock) return tl::unexpected(lock.error());
  directory.lock_ = *std::move(lock);
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
      lock_(std::move(other.lock_)),
      guardian_pipe_(std::move(other.guardian_pipe_)),
      guardian_(std::exchange(other.guardian_, -1)),
      keep_(other.keep_) {}

void RunDirectory::keep() noexcept {
  keep_ = true;
  (void)::unlink((path_ + kLock).c_str());
}

RunDirectory::~RunDirectory() {
  if (path_.empty()) return;
  std::error_code failed;
  std::filesystem::remove_all(keep_ ? path_ + kTlsSuffix : path_, failed);
  if (failed) tell("sumac run: {} is left: {}", path_, failed.message());
  if (guardian_ > 0) {
    const char done = 1;
    [[maybe_unused]] const auto told = ::write(guardian_pipe_.get(), &done, 1);  // It also ends when the pipe closes.
    guardian_pipe_ = UniqueFd();
    ::waitpid(guardian_, nullptr, 0);
  }
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
