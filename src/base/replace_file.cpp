#include "base/replace_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/fd.hpp"
#include "base/write_all.hpp"

namespace sumac {

Result<> replace_file(const std::string& path, std::string_view text, unsigned mode) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0) {
    if (!S_ISREG(found.st_mode) || found.st_uid != ::geteuid())
      return fail(Errc::denied, "{} is {}: move it away, or name another file", path,
                  S_ISREG(found.st_mode) ? fmt::format("a file of user {}", found.st_uid) : "no plain file");
  } else if (errno != ENOENT) {
    return fail_errno(path);
  }
  const auto fresh = path + ".new";
  ::unlink(fresh.c_str());  // Removes the file of a writer that was killed.
  const UniqueFd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd) return fail_errno(fresh);
  auto done = write_all(fd.get(), text);
  // The data is not forced to the disk, so after a power cut the file may be empty.
  if (done && ::rename(fresh.c_str(), path.c_str()) != 0) done = fail_errno("rename");
  if (done) return {};
  ::unlink(fresh.c_str());
  return within(fresh, done.error());
}

}  // namespace sumac
