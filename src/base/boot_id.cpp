#include "base/boot_id.hpp"

#include <fstream>

namespace sumac {

std::string boot_id() {
  std::string text;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
  return text;
}

}  // namespace sumac
