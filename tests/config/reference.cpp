// Writes the pages that are made from the code's own tables into a folder: config.md,
// metrics-list.md, types.md and wire.md.
#include <fmt/core.h>

#include <filesystem>
#include <fstream>

#include "tests/config/document.hpp"
#include "wire/test_docs.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: reference-pages FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::pair<const char*, std::string> pages[] = {{"config.md", sumac::tests::config_markdown()},
                                                       {"metrics-list.md", sumac::tests::metrics_markdown()},
                                                       {"types.md", sumac::tests::types_markdown()},
                                                       {"wire.md", sumac::wire::wire_markdown()}};
  for (const auto& [name, text] : pages) {
    std::ofstream file(folder / name);
    file << text << std::flush;
    if (!file) {
      fmt::print(stderr, "reference-pages: cannot write {}\n", (folder / name).string());
      return 1;
    }
  }
  return 0;
}
