#include "tools/run/stderr_filter.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/thread.hpp"
#include "base/write_all.hpp"

namespace sumac::tools {

namespace {

constexpr int kUnfinishedMs = 100;

/// If nobody reads our stderr, a failure of this write does not matter.
void pass_on(int fd, std::string_view text) { static_cast<void>(write_all(fd, text)); }

}  // namespace

Result<std::unique_ptr<StderrFilter>> StderrFilter::start(std::function<bool(std::string_view)> unwanted) {
  std::unique_ptr<StderrFilter> made{new StderrFilter};
  made->unwanted_ = std::move(unwanted);
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) < 0) return fail_errno("make a pipe");
  made->pipe_ = UniqueFd{fds[0]};
  const UniqueFd writer{fds[1]};
  made->stop_ = UniqueFd{::eventfd(0, EFD_CLOEXEC)};
  made->real_ = UniqueFd{::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)};
  if (!made->stop_ || !made->real_) return fail_errno("keep stderr");
  try {
    made->thread_ = start_thread([filter = made.get()] { filter->run(); });
  } catch (const std::system_error& e) {
    return fail(Errc::io, "start a thread: {}", e.what());
  }
  ::dup2(writer.get(), STDERR_FILENO);
  return made;
}

StderrFilter::~StderrFilter() {
  if (!thread_.joinable()) return;
  ::dup2(real_.get(), STDERR_FILENO);
  const std::uint64_t one = 1;
  // This cannot fail, because the counter is at 0.
  [[maybe_unused]] const auto n = ::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void StderrFilter::run() {
  pollfd fds[2] = {{pipe_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  for (;;) {
    const int ready = ::poll(fds, 2, held_.empty() ? -1 : kUnfinishedMs);
    if (ready < 0 && errno != EINTR) return;
    if (ready == 0) pass(true);
    if ((fds[0].revents & POLLIN) != 0) {
      char bytes[4096];
      const auto got = ::read(pipe_.get(), bytes, sizeof bytes);
      if (got > 0) held_.append(bytes, static_cast<std::size_t>(got));
      pass(false);
    } else if (fds[1].revents != 0 || fds[0].revents != 0) {  // It should stop, and nothing is left to read.
      pass(true);
      return;
    }
  }
}

void StderrFilter::pass(bool unfinished_too) {
  std::size_t at = 0;
  for (std::size_t end = 0; (end = held_.find('\n', at)) != std::string::npos; at = end + 1) {
    const auto line = std::string_view(held_).substr(at, end + 1 - at);
    if (!unwanted_(line)) pass_on(real_.get(), line);
  }
  held_.erase(0, at);
  if (unfinished_too && !held_.empty()) {
    pass_on(real_.get(), held_);
    held_.clear();
  }
}

}  // namespace sumac::tools
