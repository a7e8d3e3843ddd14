// Reads the CPU quotas and memory limits of cgroups, both versions. They may stand at any level between the process's
// group and the root, so all levels are read; the least counts.
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "machine/cpu_share.hpp"

namespace sumac::machine {
namespace {

struct Mount {
  std::string root;  ///< The group that is mounted; a container sees its own group at the mount point.
  std::string point;
};
struct Mounts {
  std::vector<Mount> v1, v2;
};
enum class CgroupVersion { v1, v2 };

bool has_word(std::string_view list, std::string_view word) {
  for (;;) {
    const auto comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

/// Parses the lines of /proc/PID/mountinfo: id parent major:minor root point options [fields] - type source
/// superoptions. `v1` has the mounts of this controller.
Mounts read_mounts(const std::string& path, std::string_view controller) {
  Mounts mounts;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string skipped, word, type, source, super;
    Mount mount;
    words >> skipped >> skipped >> skipped >> mount.root >> mount.point;
    while (words >> word && word != "-") {
    }
    words >> type >> source >> super;
    if (type == "cgroup2") mounts.v2.push_back(mount);
    if (type == "cgroup" && has_word(super, controller)) mounts.v1.push_back(mount);
  }
  return mounts;
}

/// Returns the process's group below the mount point, or the mount point itself if the group lies outside the mounted
/// tree.
std::string below(const Mount& mount, std::string group) {
  if (mount.root != "/") {
    if (group.rfind(mount.root, 0) != 0) return "";
    group.erase(0, mount.root.size());
  }
  if (group.find("/..") != std::string::npos) return "";
  while (!group.empty() && group.back() == '/') group.pop_back();
  return group;
}

std::optional<double> number_in(std::string_view text) {
  std::int64_t value = 0;  // The kernel prints whole microseconds.
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return static_cast<double>(value);
}

/// Returns quota / period of one group, or nothing if it has no limit.
std::optional<double> cpus_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota, period;
  if (!(file >> quota >> period)) return std::nullopt;
  const auto q = number_in(quota), p = number_in(period);  // The word "max" is no number and means no limit.
  if (!q || !p || *p <= 0 || *q < 0) return std::nullopt;
  return *q / *p;
}

std::optional<double> cpus_v1(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us"), period_file(folder + "/cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (!(quota_file >> quota) || !(period_file >> period) || period <= 0 || quota < 0) return std::nullopt;
  return quota / period;  // A quota of -1 means no limit.
}

/// Calls `visit(folder, version)` for the group of the process and each group above it, up to the mount point.
template <class Visit>
void walk_up(const Mount& mount, std::string group, CgroupVersion version, Visit&& visit) {
  for (group = below(mount, std::move(group));; group.erase(group.rfind('/'))) {
    visit(mount.point + group, version);
    if (group.empty()) return;
  }
}

template <class Visit>
void visit_groups(const CgroupRoots& roots, std::string_view controller, Visit&& visit) {
  std::ifstream own(roots.proc_cgroup);
  std::optional<Mounts> mounts;
  for (std::string line; std::getline(own, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    const bool is_v2 = controllers.empty();
    if (!is_v2 && !has_word(controllers, controller)) continue;
    if (!mounts) mounts = read_mounts(roots.proc_mountinfo, controller);
    for (const auto& mount : is_v2 ? mounts->v2 : mounts->v1)
      walk_up(mount, line.substr(second + 1), is_v2 ? CgroupVersion::v2 : CgroupVersion::v1, visit);
  }
}

/// Returns the number of bytes in a file of the memory controller, or nothing: no such file, or the word "max".
std::optional<std::uint64_t> bytes_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t bytes = 0;
  if (!(file >> bytes)) return std::nullopt;
  return bytes;
}

}  // namespace

Quota read_quota(const CgroupRoots& roots) {
  Quota least;
  visit_groups(roots, "cpu", [&](const std::string& folder, CgroupVersion version) {
    const auto cpus = version == CgroupVersion::v2 ? cpus_v2(folder) : cpus_v1(folder);
    if (!cpus || *cpus >= least.cpus) return;
    struct stat info {};
    // Device and inode identify the group for all processes, whatever its path is in their namespaces.
    const bool is_there = ::stat(folder.c_str(), &info) == 0;
    least = {*cpus, is_there ? (std::uint64_t{info.st_dev} << 40) ^ info.st_ino : 1};
  });
  return least;
}

std::optional<MemoryLimit> read_memory_limit(const CgroupRoots& roots) {
  std::optional<MemoryLimit> least;
  visit_groups(roots, "memory", [&](const std::string& folder, CgroupVersion version) {
    const bool is_v2 = version == CgroupVersion::v2;
    const auto limit = bytes_in(folder + (is_v2 ? "/memory.max" : "/memory.limit_in_bytes"));
    // Version 1 writes the largest number of pages where there is no limit.
    if (!limit || *limit >= std::uint64_t{1} << 62) return;
    const auto used = bytes_in(folder + (is_v2 ? "/memory.current" : "/memory.usage_in_bytes")).value_or(0);
    if (!least || *limit - std::min(*limit, used) < least->bytes - std::min(least->bytes, least->used_bytes))
      least = {*limit, used};
  });
  return least;
}

}  // namespace sumac::machine
