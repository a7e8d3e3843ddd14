#include "tools/run/ask.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/fd.hpp"

namespace sumac::tools {
namespace {

constexpr std::size_t kAnswerMax = 65536;

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const auto& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

/// Reads until the other end closes or the time is over; returns false then.
bool read_answer(int fd, Time deadline, std::string& answer) {
  for (;;) {
    const auto left = std::chrono::ceil<Millis>(deadline - monotonic_now()).count();
    if (left <= 0) return false;
    pollfd wait{fd, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    std::array<char, 4096> part{};
    const auto got = ::read(fd, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    answer.append(part.data(), std::min(static_cast<std::size_t>(got), kAnswerMax - answer.size()));
  }
}

}  // namespace

Result<std::string> ask(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                        Duration within_time) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) < 0) return fail_errno("pipe");
  const UniqueFd answer_end(ends[0]);
  UniqueFd their_end(ends[1]);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, their_end.get(), 1);
  ::posix_spawn_file_actions_adddup2(&files, their_end.get(), 2);
  // A process group of its own: what it starts is killed with it.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = -1;
  const int failed = ::posix_spawn(&child, command[0].c_str(), &files, &attributes, pointers(command).data(),
                                   pointers(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (failed != 0) return fail(Errc::io, "{}: {}", command[0], std::strerror(failed));
  their_end.reset();
  std::string answer;
  const bool ended = read_answer(answer_end.get(), monotonic_now() + within_time, answer);
  // After its answer nothing of it is needed: a process that closes its output and lives on must not hold us.
  ::kill(-child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  if (!ended) return fail(Errc::timeout, "{}: no answer in time", command[0]);
  return answer;
}

}  // namespace sumac::tools
