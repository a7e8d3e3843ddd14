// Reads the CPU quotas of cgroups, both versions. A quota may stand at any level between the process's group and the
// root, so all levels are read; the least quota counts.
#include <sys/stat.h>

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

bool has_word(std::string_view list, std::string_view word) {
  for (;;) {
    const auto comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

/// Parses the lines of /proc/PID/mountinfo: id parent major:minor root point options [fields] - type source
/// superoptions.
Mounts read_mounts(const std::string& path) {
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
    if (type == "cgroup" && has_word(super, "cpu")) mounts.v1.push_back(mount);
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
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
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

template <class Read>
void walk_up(const Mount& mount, std::string group, Read&& read, Quota& least) {
  for (group = below(mount, std::move(group));; group.erase(group.rfind('/'))) {
    const std::string folder = mount.point + group;
    if (const auto cpus = read(folder); cpus && *cpus < least.cpus) {
      struct stat info {};
      // Device and inode identify the group for all processes, whatever its path is in their namespaces.
      const bool is_there = ::stat(folder.c_str(), &info) == 0;
      least = {*cpus, is_there ? (std::uint64_t{info.st_dev} << 40) ^ info.st_ino : 1};
    }
    if (group.empty()) return;
  }
}

}  // namespace

Quota read_quota(const CgroupRoots& roots) {
  Quota least;
  std::ifstream own(roots.proc_cgroup);
  Mounts mounts;
  bool has_mounts = false;
  for (std::string line; std::getline(own, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    const bool is_v2 = controllers.empty();
    if (!is_v2 && !has_word(controllers, "cpu")) continue;
    if (!has_mounts) mounts = read_mounts(roots.proc_mountinfo);
    has_mounts = true;
    for (const auto& mount : is_v2 ? mounts.v2 : mounts.v1) {
      if (is_v2)
        walk_up(mount, line.substr(second + 1), cpus_v2, least);
      else
        walk_up(mount, line.substr(second + 1), cpus_v1, least);
    }
  }
  return least;
}

}  // namespace sumac::machine
