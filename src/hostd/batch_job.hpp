#pragma once
// The job of the batch system to which a process belongs. Operators have its number in hand, so it is said beside the
// process wherever a job's holder is shown. Slurm puts the processes of a job into a control group with its number, which
// no user can change. Where it uses no control groups, the process's own environment is all there is, and its number is shown as a
// claim.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
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

/// `environment` is the text of /proc/PID/environ. Returns "slurm job 1234 (claimed)", or nothing.
inline std::string claimed_batch_job(std::string_view environment) {
  constexpr std::string_view kName = "SLURM_JOB_ID=", kDigits = "0123456789";
  while (!environment.empty()) {
    const auto variable = environment.substr(0, environment.find('\0'));
    environment.remove_prefix(std::min(environment.size(), variable.size() + 1));
    if (!variable.starts_with(kName)) continue;
    const auto value = variable.substr(kName.size());
    const bool number = !value.empty() && value.size() <= 20 && value.find_first_not_of(kDigits) == value.npos;
    return number ? fmt::format("slurm job {} (claimed)", value) : std::string();
  }
  return {};
}

inline std::string batch_job_of_process(int pid) {
  constexpr std::size_t kReadMax = 1 << 20;  // The user decides how long his environment is.
  const auto read = [&](const char* name) {
    std::ifstream file(fmt::format("/proc/{}/{}", pid, name));
    std::string text(kReadMax, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
  };
  auto job = batch_job_of(read("cgroup"));
  return job.empty() ? claimed_batch_job(read("environ")) : job;
}

}  // namespace sumac::hostd
