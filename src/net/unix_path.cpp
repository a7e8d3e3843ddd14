#include "net/unix_path.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/clock.hpp"

namespace sumac::net {
namespace {

/// Two servers that start at the same moment must not both find the old file dead: look and bind under the directory's lock.
Result<UniqueFd> lock_directory(const std::string& directory) {
  UniqueFd fd{open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!fd) return fail_errno(fmt::format("open directory {}", directory));
  // Held for an instant by others like us; but anybody who may read the directory could hold it for ever.
  const Time deadline = monotonic_now() + Seconds{2};
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return fail_errno(fmt::format("lock directory {}", directory));
    if (monotonic_now() > deadline) return fail(Errc::timeout, "directory {} is locked by another process", directory);
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  return fd;
}

/// Is somebody listening there?
bool answers(const sockaddr_un& address) {
  const UniqueFd probe{socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!probe) return true;  // can't tell: then it must not be removed
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
  return errno != ECONNREFUSED && errno != ENOENT;
}

}  // namespace

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return fail(Errc::invalid, "socket path {} has {} bytes, 1 to {} are possible: choose a shorter directory", path,
                path.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Result<UniqueFd> listen_at(const std::string& path) {
  auto address = unix_address(path);
  if (!address) return tl::unexpected(address.error());
  const auto directory = std::filesystem::absolute(path).parent_path();
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return fail(Errc::io, "make directory {}: {}", directory.string(), error.message());
  auto lock = lock_directory(directory.string());
  if (!lock) return tl::unexpected(lock.error());

  UniqueFd fd{socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!fd) return fail_errno("socket");
  struct stat found {};
  if (lstat(path.c_str(), &found) == 0) {
    if (!S_ISSOCK(found.st_mode)) return fail(Errc::exists, "{} is there and is no socket: move it away", path);
    if (answers(*address))
      return fail(Errc::exists, "another process listens at {}: stop it, or use another directory", path);
    if (unlink(path.c_str()) != 0) return fail_errno(fmt::format("remove the dead socket {}", path));
  }
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0)
    return fail_errno(fmt::format("bind {}", path));
  // Any user's job may attach; who it is the kernel tells. The directory's mode is the operator's means to restrict it.
  if (chmod(path.c_str(), 0666) != 0 || listen(fd.get(), 1024) != 0) {
    auto failed = fail_errno(fmt::format("listen at {}", path));
    unlink(path.c_str());
    return failed;
  }
  return fd;
}

}  // namespace sumac::net
