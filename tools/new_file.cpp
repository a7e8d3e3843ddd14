#include "tools/new_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.hpp"
#include "base/write_all.hpp"

namespace sumac::tools {
Result<> create_file(const std::string& path, std::string_view text, mode_t mode) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd && errno == EEXIST) return fail(Errc::exists, "{} exists: it is left as it is", path);
  if (!fd) return within(path, fail_errno("open").value());
  auto written = write_all(fd.get(), text);
  if (written && ::fsync(fd.get()) != 0) written = fail_errno("fsync");
  if (written) return {};
  ::unlink(path.c_str());
  return within(path, written.error());
}

}  // namespace sumac::tools
