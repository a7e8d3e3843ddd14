#include "base/shared_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace sumac {
namespace {

/// Removes a number from the begin of the text. Returns false if there is none.
bool skip_number(std::string_view& text) {
  const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(end);
  return end > 0;
}

bool is_descriptor(std::string_view path) {
  constexpr std::string_view kProc = "/proc/", kFd = "/fd/";
  if (!path.starts_with(kProc)) return false;
  path.remove_prefix(kProc.size());
  if (!skip_number(path) || !path.starts_with(kFd)) return false;
  path.remove_prefix(kFd.size());
  return skip_number(path) && path.empty();
}

bool is_name(std::string_view path, const std::string& prefix) {
  const auto whole = "/dev/shm/" + prefix;
  return path.starts_with(whole) && path.find('/', whole.size()) == path.npos;
}

}  // namespace

Result<UniqueFd> open_shared(const std::string& path, const std::string& prefix, std::uint64_t bytes) {
  const bool has_name = is_name(path, prefix);
  if (!has_name && !is_descriptor(path)) return fail(Errc::denied, "{:.128} is no shared memory of ours", path);
  // Nonblocking, since a descriptor may be a pipe. /proc/PID/fd/N itself is a link.
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | (has_name ? O_NOFOLLOW : 0)));
  // Texts name no file: its name is another one for each communicator, and people read each text once.
  const std::string what = fmt::format("memory shared in {}", path.substr(0, path.rfind('/')));
  if (!fd) return fail_errno("open " + what);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return fail_errno("stat " + what);
  // A memfd has no name anywhere, a file in /dev/shm one.
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || info.st_nlink != (has_name ? 1 : 0))
    return fail(Errc::denied, "{} is not that of user {}", what, ::geteuid());
  if (static_cast<std::uint64_t>(info.st_size) != bytes)
    return fail(Errc::denied, "{} has {} bytes and should have {}", what, info.st_size, bytes);
  return fd;
}

int size_shared(int fd, std::uint64_t bytes, Pages pages) noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur) return EFBIG;
  const auto size = static_cast<off_t>(bytes);
  if (pages == Pages::when_touched) return ::ftruncate(fd, size) == 0 ? 0 : errno;
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(fd, 0, size);
  return error;
}

}  // namespace sumac
