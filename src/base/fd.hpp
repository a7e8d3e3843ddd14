#pragma once
// A file descriptor with one owner. Closing never changes errno, so that an error path may drop descriptors freely.
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace sumac {

class UniqueFd {
 public:
  UniqueFd() noexcept = default;
  explicit UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept {
    const int old = std::exchange(fd_, fd);
    if (old < 0) return;
    const int saved = errno;
    ::close(old);  // Linux has closed it even after EINTR; a second close could hit another owner's descriptor.
    errno = saved;
  }

 private:
  int fd_ = -1;
};

}  // namespace sumac
