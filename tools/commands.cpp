#include "tools/commands.hpp"

#include <filesystem>

#include "base/tell.hpp"

namespace sumac::tools {

int complain(const std::string& text, int status) {
  tell("sumac: {}", text);
  return status;
}

std::string bin_directory() { return std::filesystem::read_symlink("/proc/self/exe").parent_path().string(); }

}  // namespace sumac::tools
