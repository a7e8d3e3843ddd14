#include "tools/doctor/driver_version.hpp"

#include <algorithm>
#include <cctype>

namespace sumac::tools::doctor {
namespace {

/// Digits with a dot between, such as 535.54.03 or 550.90.
bool is_version(std::string_view word) {
  return !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) != 0 && word.find('.') != word.npos &&
         std::ranges::all_of(word, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
}

}  // namespace

std::string nvidia_module_version(std::string_view line) {
  // The date behind it has a time with colons, which is no version.
  while (!line.empty()) {
    const auto begin = line.find_first_not_of(" \t");
    if (begin == line.npos) break;
    line.remove_prefix(begin);
    const auto word = line.substr(0, line.find_first_of(" \t"));
    if (is_version(word)) return std::string(word);
    line.remove_prefix(word.size());
  }
  return {};
}

std::string version_of_file(std::string_view path) {
  const auto at = path.rfind(".so.");
  if (at == path.npos || !is_version(path.substr(at + 4))) return {};
  return std::string(path.substr(at + 4));
}

}  // namespace sumac::tools::doctor
