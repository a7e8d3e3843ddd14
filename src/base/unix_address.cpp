#include "base/unix_address.hpp"

#include <sys/socket.h>

#include <cstring>

namespace sumac {

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return fail(Errc::invalid, "socket path {} has {} bytes, 1 to {} are possible: choose a shorter directory", path,
                path.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

}  // namespace sumac
