#pragma once
// For tests: a folder of the test's own, which is gone with the test, also when the test fails or throws.
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace sumac {

class TestFolder {
 public:
  /// `name` says whose folder it is. It lies in /tmp, since the path of a socket has at most 107 characters.
  explicit TestFolder(const std::string& name, const std::string& parent = "/tmp")
      : path(parent + "/sumac-" + name + "-XXXXXX") {
    if (::mkdtemp(path.data()) == nullptr) throw std::system_error(errno, std::generic_category(), "mkdtemp " + path);
  }
  ~TestFolder() {
    std::error_code ignored;  // The test may have removed the folder itself.
    std::filesystem::remove_all(path, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  /// Returns the path of a file in the folder.
  std::string file(const std::string& name) const { return path + "/" + name; }
  /// Writes the file, and the folders above it; returns its path.
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    const auto full = file(name);
    std::filesystem::create_directories(std::filesystem::path(full).parent_path());
    std::ofstream(full) << text;
    if (::chmod(full.c_str(), mode) != 0) throw std::system_error(errno, std::generic_category(), "chmod " + full);
    return full;
  }

  std::string path;
};

}  // namespace sumac
