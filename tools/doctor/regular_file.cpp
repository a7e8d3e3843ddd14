#include "tools/doctor/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.hpp"

namespace sumac::tools::doctor {

std::string read_regular_file(const std::string& path, std::size_t bytes_max) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
  std::string text;
  char part[4096];
  while (text.size() < bytes_max) {
    const auto got = ::read(fd.get(), part, sizeof part);
    if (got <= 0) break;
    text.append(part, static_cast<std::size_t>(got));
  }
  return text.substr(0, bytes_max);
}

}  // namespace sumac::tools::doctor
