#include "tools/up/place.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/tell.hpp"
#include "control/places.hpp"

namespace sumac::tools {
namespace {

namespace fs = std::filesystem;
constexpr int kEndWaitMs = 5'000;
constexpr const char* kDaemons[] = {"sharp_am", "sharp_an", "sharpd"};

std::string set_or(const char* name, std::string otherwise) {
  const char* set = std::getenv(name);
  return set != nullptr && *set != '\0' ? set : otherwise;
}

/// Returns field 22 of /proc/PID/stat, which follows the name (the name may contain anything); nothing for a process
/// that is gone or a zombie.
std::optional<std::string> started_at(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= 22 && fields >> field; ++i)
    if (i == 3 && (field == "Z" || field == "X")) return std::nullopt;
  return field;
}

/// Another user who may write there could put a process of ours on record, or substitute a socket.
Result<> ours_alone(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) < 0) return fail_errno(path);
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 022) != 0)
    return fail(Errc::invalid,
                "{} is not a directory of yours alone: remove it, or set SUMAC_RUN_DIR to one that you may make", path);
  return {};
}

Result<> make_directory(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) < 0 && errno != EEXIST)
    return fail_errno(fmt::format("{}: set SUMAC_RUN_DIR to a directory that you may make", path));
  return ours_alone(path);
}

}  // namespace

std::string up_directory() {
  const auto user = ::geteuid();
  const auto otherwise = user == 0 ? std::string("/run/sumac") : fmt::format("/tmp/sumac-{}", user);
  auto path = set_or("SUMAC_RUN_DIR", "");
  if (path.empty() && user != 0) {
    const auto runtime = set_or("XDG_RUNTIME_DIR", "");
    if (!runtime.empty()) path = runtime + "/sumac";
  }
  if (path.empty()) path = otherwise;
  std::error_code error;
  const auto absolute = fs::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

std::string manager_socket_of_up() { return up_directory() + "/private/manager.sock"; }

Result<UpPlace> UpPlace::make() {
  UpPlace place;
  place.path_ = up_directory();
  if (place.inner("manager.sock").size() >= sizeof(sockaddr_un::sun_path))
    return fail(Errc::invalid, "{} is too long for the sockets in it: set SUMAC_RUN_DIR to a shorter path",
                place.path_);
  // Root's directory is for all users of the machine, who find sharpd's socket there. Files that only daemons need stay
  // private.
  if (auto made = make_directory(place.path_, ::geteuid() == 0 ? 0755 : 0700); !made)
    return tl::unexpected(made.error());
  if (auto made = make_directory(place.inner(""), 0700); !made) return tl::unexpected(made.error());
  return place;
}

Result<UpPlace> UpPlace::find() {
  UpPlace place;
  place.path_ = up_directory();
  if (::access(place.inner("").c_str(), F_OK) < 0)
    return fail(Errc::not_found, "nothing is up (looked in {})", place.path_);
  if (auto ours = ours_alone(place.path_); !ours) return tl::unexpected(ours.error());
  return place;
}

Result<> UpPlace::lock() {
  const auto file = inner("lock");
  for (;;) {
    lock_ = UniqueFd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock_)
      return errno == ENOENT ? fail(Errc::not_found, "nothing is up (looked in {})", path_) : fail_errno(file);
    while (::flock(lock_.get(), LOCK_EX) < 0)
      if (errno != EINTR) return fail_errno(file);
    // A `sumac down` that held it before us has removed it, so it locks nothing any more.
    struct stat held {
    }, there{};
    if (::fstat(lock_.get(), &held) == 0 && ::stat(file.c_str(), &there) == 0 && held.st_ino == there.st_ino) return {};
  }
}

Result<> UpPlace::record(const std::string& daemon, pid_t pid) const {
  const auto file = inner(daemon + ".pid");
  std::ofstream out(file);
  out << pid << ' ' << started_at(pid).value_or("0") << '\n';
  if (!out.flush()) return fail(Errc::io, "{}: can't be written", file);
  return {};
}

std::optional<UpPlace::Process> UpPlace::process(const std::string& daemon) const {
  std::ifstream file(inner(daemon + ".pid"));
  Process found;
  std::string started;
  if (!(file >> found.pid >> started)) return std::nullopt;
  found.alive = found.pid > 0 && started_at(found.pid) == started;
  return found;
}

void UpPlace::forget(const std::string& daemon) const {
  std::error_code gone;
  fs::remove(inner(daemon + ".pid"), gone);
}

Result<> UpPlace::remove() {
  std::error_code failed;
  for (const char* daemon : kDaemons) {
    fs::remove(log(daemon), failed);
    if (failed) return fail(Errc::io, "{}: {}", log(daemon), failed.message());
  }
  fs::remove(sharpd_socket(), failed);
  if (!failed) fs::remove(sharpd_socket() + ".jobs", failed);
  for (const char* const lock : {"", ".lock"})
    if (!failed) fs::remove(sharpd_socket() + control::kInspectSuffix + lock, failed);
  // Left by a sharpd that was killed as it began to listen.
  if (!failed) fs::remove(sharpd_socket() + ".lock", failed);
  if (!failed) fs::remove_all(path_ + "/private", failed);
  if (failed) return fail(Errc::io, "{}: {}", path_, failed.message());
  if (::rmdir(path_.c_str()) < 0 && errno != ENOTEMPTY && errno != EEXIST && errno != EACCES && errno != EBUSY)
    return fail_errno(path_);  // Other files may be there, as in /run/sumac.
  return {};
}

void end_process(const std::string& name, pid_t pid) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return;  // The process is gone.
  ::syscall(SYS_pidfd_send_signal, process.get(), SIGTERM, nullptr, 0);
  pollfd wait{process.get(), POLLIN, 0};
  if (::poll(&wait, 1, kEndWaitMs) > 0) return;
  tell("sumac: {} did not end in {} s: killed", name, kEndWaitMs / 1000);
  ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
  ::poll(&wait, 1, -1);
}

}  // namespace sumac::tools
