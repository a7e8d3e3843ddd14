#include "machine/memory_host.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/boot_id.hpp"
#include "base/fnv.hpp"
#include "base/host_name.hpp"

namespace sumac::machine {

std::uint64_t memory_host() {
  struct stat memory {};
  (void)::stat("/dev/shm", &memory);
  return fnv1a(fmt::format("{} {} {} {}", boot_id(), host_name(), memory.st_dev, memory.st_ino));
}

}  // namespace sumac::machine
