#include "tools/commands.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <filesystem>

namespace sumac::tools {

int complain(const std::string& text, int status) {
  // Not by fmt::print, which throws where stderr is closed or full: the exit status must come all the same.
  std::fputs(fmt::format("sumac: {}\n", text).c_str(), stderr);
  return status;
}

std::string bin_directory() { return std::filesystem::read_symlink("/proc/self/exe").parent_path().string(); }

}  // namespace sumac::tools
