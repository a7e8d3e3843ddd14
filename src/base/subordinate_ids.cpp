#include "base/subordinate_ids.hpp"

#include <pwd.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/read_file.hpp"

namespace sumac {
namespace {

std::optional<uid_t> number(std::string_view text) {
  uid_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<uid_t> user(const std::string& name) {
  if (auto uid = number(name)) return uid;
  const passwd* entry = ::getpwnam(name.c_str());
  return entry == nullptr ? std::nullopt : std::optional<uid_t>(entry->pw_uid);
}

}  // namespace

void SubordinateIds::read() {
  ranges_.clear();
  const auto text = read_file(path_, "subordinate ids");
  if (!text) return;  // Without the file nobody has further uids.
  for (std::string_view rest = *text; !rest.empty();) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const auto first = line.find(':'), second = line.rfind(':');  // NAME:FIRST:COUNT
    if (first == line.npos || first == second) continue;
    const auto owner = user(std::string(line.substr(0, first)));
    const auto from = number(line.substr(first + 1, second - first - 1)), count = number(line.substr(second + 1));
    if (owner && *owner != 0 && from && count) ranges_.push_back({*owner, *from, *count});
  }
}

uid_t SubordinateIds::owner_of(uid_t uid) {
  struct stat info {};
  const timespec changed = ::stat(path_.c_str(), &info) == 0 ? info.st_mtim : timespec{};
  if (changed.tv_sec != read_at_.tv_sec || changed.tv_nsec != read_at_.tv_nsec) {
    read_at_ = changed;
    read();
  }
  for (const auto& range : ranges_)
    if (uid >= range.first && uid - range.first < range.count) return range.owner;
  return uid;
}

}  // namespace sumac
