#include "net/unix_path.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "base/clock.hpp"
#include "base/socket_directory.hpp"
#include "base/unix_address.hpp"

namespace sumac::net {
namespace {

/// Two servers that start at the same moment must not both find the old file dead, so looking and binding happen under
/// a lock. The lock is a file that only we may open, not the directory: any user who may read the directory could hold
/// its lock for ever.
class StartLock {
 public:
  static Result<StartLock> take(const std::string& path) {
    const Time deadline = monotonic_now() + Seconds{2};
    for (;;) {
      // These flags keep a FIFO at that path from blocking us, and a link from leading us elsewhere.
      UniqueFd fd{open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600)};
      if (!fd) return fail_errno(fmt::format("open lock file {} (remove it if it is not ours)", path));
      if (auto good = judge(fd.get(), path); !good) return tl::unexpected(good.error());
      if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
        if (is_still(fd.get(), path)) return StartLock{path, std::move(fd)};
        continue;  // The previous holder has removed it.
      }
      if (errno != EWOULDBLOCK && errno != EINTR) return fail_errno(fmt::format("lock {}", path));
      if (monotonic_now() > deadline) return fail(Errc::timeout, "{} is locked by another process of our user", path);
      const timespec pause{0, 1'000'000};
      nanosleep(&pause, nullptr);
    }
  }
  StartLock(StartLock&&) noexcept = default;
  StartLock(const StartLock&) = delete;
  ~StartLock() {
    if (fd_) unlink(path_.c_str());
  }

 private:
  StartLock(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  static Result<> judge(int fd, const std::string& path) {
    struct stat found {};
    if (fstat(fd, &found) != 0) return fail_errno(path);
    if (S_ISREG(found.st_mode) && found.st_uid == geteuid() && (found.st_mode & 0077) == 0) return {};
    return fail(Errc::denied,
                "lock file {} is of user {} with mode {:o}: it must be a plain file of ours that nobody else may open; "
                "remove it, and choose a directory where only we may write",
                path, found.st_uid, found.st_mode & 07777);
  }
  static bool is_still(int fd, const std::string& path) {
    struct stat ours {
    }, there{};
    return fstat(fd, &ours) == 0 && lstat(path.c_str(), &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
  }

  std::string path_;
  UniqueFd fd_;
};

/// Returns true if a process listens there.
bool answers(const sockaddr_un& address) {
  const UniqueFd probe{socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!probe) return true;  // Without a socket we cannot tell, so the file must stay.
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
  return errno != ECONNREFUSED && errno != ENOENT;
}

}  // namespace

Result<UniqueFd> listen_at(const std::string& path) {
  auto address = unix_address(path);
  if (!address) return tl::unexpected(address.error());
  const auto directory = std::filesystem::absolute(path).parent_path();
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return fail(Errc::io, "make directory {}: {}", directory.string(), error.message());
  if (const auto ours = own_socket_path(path); !ours) return tl::unexpected(ours.error());
  const auto lock = StartLock::take(path + ".lock");
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
  // Jobs of any user may attach; the kernel reports the user. The operator can restrict that by the mode of the
  // directory.
  if (chmod(path.c_str(), 0666) != 0 || listen(fd.get(), 1024) != 0) {
    auto failed = fail_errno(fmt::format("listen at {}", path));
    unlink(path.c_str());
    return failed;
  }
  return fd;
}

}  // namespace sumac::net
