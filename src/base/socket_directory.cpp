#include "base/socket_directory.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace sumac {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOthersWrite = 022;

struct Place {
  fs::path path;
  uid_t owner = 0;
  mode_t mode = 0;
};

Result<Place> place_of(const fs::path& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return fail_errno(path.string());
  if (!S_ISDIR(info.st_mode)) return fail(Errc::invalid, "{} is no directory", path.string());
  return Place{path, info.st_uid, info.st_mode};
}

/// The owner of "/" counts as root: in a user namespace without its own root, the machine's root has another number.
Result<uid_t> root_here() {
  auto top = place_of("/");
  if (!top) return tl::unexpected(top.error());
  return top->owner;
}

/// Returns the socket's directory without symbolic links, and the socket's name in it.
Result<std::pair<fs::path, fs::path>> resolve(const std::string& path) {
  std::error_code error;
  const auto absolute = fs::absolute(path, error);
  if (error || !absolute.has_filename()) return fail(Errc::invalid, "{} is no path of a socket", path);
  auto directory = fs::canonical(absolute.parent_path(), error);
  if (error) return fail(Errc::not_found, "{}: {}", absolute.parent_path().string(), error.message());
  return std::pair{std::move(directory), absolute.filename()};
}

}  // namespace

Result<std::string> own_socket_path(const std::string& path) {
  auto parts = resolve(path);
  if (!parts) return tl::unexpected(parts.error());
  const auto root = root_here();
  if (!root) return tl::unexpected(root.error());
  const auto me = ::geteuid();
  const auto& directory = parts->first;
  auto own = place_of(directory);
  if (!own) return tl::unexpected(own.error());
  if (own->owner != me)
    return fail(Errc::denied,
                "directory {} belongs to user {}, this daemon runs as user {}: a socket there would be that user's to "
                "replace; name one in a directory of its own",
                directory.string(), own->owner, me);
  if ((own->mode & kOthersWrite) != 0)
    return fail(Errc::denied,
                "others may write directory {} (mode {:04o}) and so replace the socket in it: chmod go-w it, or name "
                "one in a directory of this daemon's own",
                directory.string(), own->mode & 07777);
  for (auto above = directory; above != above.root_path();) {
    above = above.parent_path();
    auto place = place_of(above);
    if (!place) return tl::unexpected(place.error());
    const bool trusted = place->owner == me || place->owner == 0 || place->owner == *root;
    // In a sticky directory only the directory's owner and we can rename our files.
    const bool closed = (place->mode & kOthersWrite) == 0 || (place->mode & S_ISVTX) != 0;
    if (!trusted || !closed)
      return fail(Errc::denied,
                  "{} could replace directory {}, where the socket is, from {} (mode {:04o}): name a socket in another "
                  "directory",
                  trusted ? "others" : fmt::format("user {}", place->owner), directory.string(), above.string(),
                  place->mode & 07777);
  }
  return (directory / parts->second).string();
}

Result<> check_listener(const std::string& path, uid_t listener) {
  if (listener == 0 || listener == ::geteuid()) return {};
  const auto root = root_here();
  if (!root) return tl::unexpected(root.error());
  auto parts = resolve(path);
  if (!parts) return tl::unexpected(parts.error());
  auto own = place_of(parts->first);
  if (!own) return tl::unexpected(own.error());
  const auto refused = [&](const std::string& why) {
    return fail(Errc::denied,
                "user {} listens at {}, and this process (user {}) takes no daemon's word from that user: {}", listener,
                path, ::geteuid(), why);
  };
  if (own->owner != listener) return refused(fmt::format("the socket's directory belongs to user {}", own->owner));
  if ((own->mode & kOthersWrite) != 0) return refused("others may write the socket's directory");
  for (auto above = parts->first; above != above.root_path();) {
    above = above.parent_path();
    auto place = place_of(above);
    if (!place) return tl::unexpected(place.error());
    if ((place->owner != 0 && place->owner != *root) || (place->mode & kOthersWrite) != 0)
      return refused(fmt::format("{}, above it, is not root's alone", above.string()));
  }
  return {};
}

Result<uid_t> peer_uid(int fd) {
  ucred who{};
  socklen_t length = sizeof who;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0) return fail_errno("SO_PEERCRED");
  return who.uid;
}

}  // namespace sumac
