#include "base/shared_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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
  if (!fd) return fail_errno("open " + path);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return fail_errno("stat " + path);
  // A memfd has no name anywhere, a file in /dev/shm one.
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || info.st_nlink != (has_name ? 1 : 0))
    return fail(Errc::denied, "{} is not shared memory of user {}", path, ::geteuid());
  if (static_cast<std::uint64_t>(info.st_size) != bytes)
    return fail(Errc::denied, "{} has {} bytes and should have {}", path, info.st_size, bytes);
  return fd;
}

}  // namespace sumac
