#include "machine/memory_host.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "base/boot_id.hpp"
#include "base/fnv.hpp"

namespace sumac::machine {

std::uint64_t memory_host() {
  std::array<char, 256> name{};
  (void)::gethostname(name.data(), name.size() - 1);
  struct stat memory {};
  (void)::stat("/dev/shm", &memory);
  return fnv1a(fmt::format("{} {} {} {}", boot_id(), name.data(), memory.st_dev, memory.st_ino));
}

}  // namespace sumac::machine
