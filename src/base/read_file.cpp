#include "base/read_file.hpp"

#include <filesystem>
#include <fstream>

namespace sumac {

namespace {
// ibnetdiscover prints about 5 KiB per switch, so this holds 50,000 switches.
constexpr std::size_t kFileMax = std::size_t{256} << 20;
}  // namespace

Result<std::string> read_file(const std::string& path, std::string_view what) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return fail(Errc::invalid, "{} is a directory: name a {}", path, what);
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail_errno(fmt::format("open {} {}", what, path));
  std::string text;
  char piece[65536];
  while (file.read(piece, sizeof piece) || file.gcount() > 0) {
    text.append(piece, static_cast<std::size_t>(file.gcount()));
    if (text.size() > kFileMax)
      return fail(Errc::invalid, "{} is larger than {} MiB: it is no {}", path, kFileMax >> 20, what);
  }
  if (file.bad()) return fail_errno(fmt::format("read {} {}", what, path));
  return text;
}

}  // namespace sumac
