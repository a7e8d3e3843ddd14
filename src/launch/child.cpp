#include "launch/child.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/utf8.hpp"

extern char** environ;

namespace sumac::launch {
namespace {

constexpr Duration kEndWithin = Seconds{15}, kSilentEndWithin = Seconds{1};
constexpr Duration kCheckEvery = Millis{100};

int milliseconds_until(Time deadline) {
  return static_cast<int>(std::max<std::int64_t>(0, std::chrono::ceil<Millis>(deadline - monotonic_now()).count()));
}

/// The two ends of a stream. Programs that somebody starts meanwhile inherit neither. It is a socket and no pipe, because a
/// write to a command that has ended must not raise SIGPIPE, which a program may have left at its default.
struct Ends {
  UniqueFd ours, theirs;
  static Result<Ends> make() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) < 0) return fail_errno("socketpair");
    return Ends{UniqueFd(ends[0]), UniqueFd(ends[1])};
  }
};

struct SpawnSettings {
  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};
  SpawnSettings(int in, int out) {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    ::posix_spawnattr_init(&attributes);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
};

}  // namespace

Child::Child(Child&& other) noexcept { *this = std::move(other); }

Child& Child::operator=(Child&& other) noexcept {
  if (this == &other) return *this;
  end();
  name_ = std::move(other.name_);
  said_ = std::move(other.said_);
  is_silent_ = other.is_silent_;
  pid_ = std::exchange(other.pid_, -1);
  in_ = std::move(other.in_);
  out_ = std::move(other.out_);
  life_ = std::move(other.life_);
  return *this;
}

Result<Child> Child::start(const std::string& program, const std::string& name) {
  Child child;
  child.name_ = fmt::format("{} {}", program, name);
  auto to = Ends::make();
  if (!to) return tl::unexpected(to.error());
  auto from = Ends::make();
  if (!from) return tl::unexpected(from.error());
  const SpawnSettings settings(to->theirs.get(), from->theirs.get());
  std::string first = program, second = name;
  char* const words[] = {first.data(), second.data(), nullptr};
  const int error = ::posix_spawn(&child.pid_, program.c_str(), &settings.files, &settings.attributes, words, environ);
  if (error != 0) {
    child.pid_ = -1;
    return fail(Errc::not_found, "{}: {}", child.name_, std::strerror(error));
  }
  child.life_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, child.pid_, 0)));
  child.in_ = std::move(to->ours);
  child.out_ = std::move(from->ours);
  return child;
}

std::string Child::parent_line() { return fmt::format("parent {}\n", ::getpid()); }

Result<> Child::write(std::string_view text) {
  while (!text.empty()) {
    const auto written = ::send(in_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fail(Errc::lost, "{} has ended", name_);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

/// Waits until there is something to read.
Result<> Child::await(Time deadline, const std::function<Result<>()>& check) {
  for (;;) {
    pollfd wait{out_.get(), POLLIN, 0};
    const Time until = std::min(deadline, monotonic_now() + kCheckEvery);
    const int got = ::poll(&wait, 1, milliseconds_until(until));
    if (got > 0) return {};
    if (got < 0 && errno != EINTR) return fail_errno("poll");
    if (auto checked = check(); !checked) return checked;
    if (monotonic_now() >= deadline) return fail(Errc::timeout, "{} did not answer in time", name_);
  }
}

Result<std::string> Child::read_until(std::string_view end, Time deadline, const std::function<Result<>()>& check) {
  std::string lines;
  for (;;) {
    for (auto newline = said_.find('\n'); newline != std::string::npos; newline = said_.find('\n')) {
      const std::string line = said_.substr(0, newline);
      said_.erase(0, newline + 1);
      if (line == end) return lines;
      if (line.starts_with("failed ")) return fail(Errc::lost, "{}: {}", name_, printable(line.substr(7)));
      lines += line + "\n";
    }
    if (auto there = await(deadline, check); !there) {
      is_silent_ = true;
      return tl::unexpected(there.error());
    }
    char part[4096];
    const auto read = ::read(out_.get(), part, sizeof part);
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) return fail(Errc::lost, "{} ended without a reason", name_);
    said_.append(part, static_cast<std::size_t>(read));
  }
}

void Child::end() {
  if (pid_ <= 0) return;
  (void)write("end\n");  // The stream's end alone says nothing where a forked child has it as well.
  in_ = UniqueFd();
  out_ = UniqueFd();
  const Time deadline = deadline_after(monotonic_now(), is_silent_ ? kSilentEndWithin : kEndWithin);
  pollfd wait{life_.get(), POLLIN, 0};
  int got = -1;
  do {
    got = ::poll(&wait, 1, milliseconds_until(deadline));
  } while (got < 0 && errno == EINTR);
  if (got == 0) {
    std::fprintf(stderr, "sumac: %s does not end: killed\n", name_.c_str());
    ::kill(-pid_, SIGKILL);
  }
  // It fails where the program waits for all its children: then it has this one's end.
  (void)::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void Child::forget() noexcept {
  pid_ = -1;
  in_ = UniqueFd();
  out_ = UniqueFd();
}

}  // namespace sumac::launch
