#pragma once
// The job of the batch system to which a process belongs. Operators have its number in hand, so it is said beside the
// process wherever a job's holder is shown. Slurm puts the processes of a job into a control group with its number, and
// every user may read the name of the group.
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace sumac::hostd {

/// `cgroups` is the text of /proc/PID/cgroup. Returns "slurm job 1234", or nothing.
inline std::string batch_job_of(std::string_view cgroups) {
  constexpr std::string_view kJob = "/job_", kDigits = "0123456789";
  if (cgroups.find("slurm") == cgroups.npos) return {};
  for (auto at = cgroups.find(kJob); at != cgroups.npos; at = cgroups.find(kJob, at + 1)) {
    const auto rest = cgroups.substr(at + kJob.size());
    const auto digits = rest.substr(0, rest.find_first_not_of(kDigits));
    const bool ends = digits.size() == rest.size() || rest[digits.size()] == '/' || rest[digits.size()] == '\n';
    if (!digits.empty() && digits.size() <= 20 && ends) return fmt::format("slurm job {}", digits);
  }
  return {};
}

inline std::string cgroups_of(int pid) {
  std::ifstream file(fmt::format("/proc/{}/cgroup", pid));
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace sumac::hostd
