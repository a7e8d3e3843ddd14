#include "machine/dev_shm.hpp"

#include <sys/statvfs.h>

namespace sumac::machine {

Result<std::uint64_t> free_bytes(const std::string& path) {
  struct statvfs info {};
  if (::statvfs(path.c_str(), &info) != 0) return fail_errno(path);
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

}  // namespace sumac::machine
