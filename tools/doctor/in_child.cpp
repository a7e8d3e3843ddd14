#include "tools/doctor/in_child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/fd.hpp"

namespace sumac::tools::doctor {
namespace {

constexpr std::size_t kTextMax = 1 << 20;

struct Child {
  pid_t pid = -1;
  UniqueFd out;
};

Child start(const std::function<void(int)>& task) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) < 0) return {};
  Child child{-1, UniqueFd(ends[0])};
  const UniqueFd theirs(ends[1]);
  child.pid = ::fork();
  if (child.pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Libraries of others may print what they like.
    if (const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC); null >= 0) ::dup2(null, 1), ::dup2(null, 2);
    task(theirs.get());
    ::_exit(0);
  }
  return child;
}

}  // namespace

std::vector<ChildAnswer> in_children(const std::vector<std::function<void(int fd)>>& tasks, Duration limit) {
  std::vector<Child> children;
  for (const auto& task : tasks) children.push_back(start(task));
  std::vector<ChildAnswer> answers(tasks.size());
  const Time deadline = deadline_after(monotonic_now(), limit);
  for (;;) {
    std::vector<pollfd> wait;
    for (const auto& child : children) wait.push_back({child.out.get(), POLLIN, 0});
    bool any = false;
    for (const auto& child : children) any |= static_cast<bool>(child.out);
    const auto left = std::chrono::ceil<Millis>(deadline - monotonic_now()).count();
    if (!any || left <= 0) break;
    if (::poll(wait.data(), wait.size(), static_cast<int>(left)) < 0 && errno != EINTR) break;
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (!children[i].out || wait[i].revents == 0) continue;
      std::array<char, 4096> part{};
      const auto got = ::read(children[i].out.get(), part.data(), part.size());
      if (got < 0 && errno == EINTR) continue;
      if (got > 0 && answers[i].text.size() < kTextMax)
        answers[i].text.append(part.data(), static_cast<std::size_t>(got));
      else
        children[i].out.reset();
    }
  }
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (children[i].pid <= 0) continue;
    if (children[i].out) ::kill(children[i].pid, SIGKILL);
    int status = 0;
    ::waitpid(children[i].pid, &status, 0);
    answers[i].ended = !children[i].out && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return answers;
}

}  // namespace sumac::tools::doctor
