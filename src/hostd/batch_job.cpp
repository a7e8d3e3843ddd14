#include "hostd/batch_job.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

namespace sumac::hostd {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr int kAncestorsMax = 64;
constexpr std::size_t kReadMax = 1 << 20;  ///< The user decides how long his environment is.

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  char part[4096];
  while (text.size() < kReadMax && (file.read(part, sizeof part), file.gcount() > 0))
    text.append(part, static_cast<std::size_t>(file.gcount()));
  return text;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 20 && text.find_first_not_of(kDigits) == text.npos;
}

/// Returns " account NAME", or nothing: a name may be of any letters, and a line of ours may not.
std::string account_words(std::string_view name) {
  constexpr std::size_t kNameMax = 64;
  const auto is_plain = [](char c) { return c > ' ' && c < 0x7f; };
  return !name.empty() && name.size() <= kNameMax && std::ranges::all_of(name, is_plain)
             ? fmt::format(" account {}", name)
             : std::string();
}

std::string_view value_in(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const auto variable = environment.substr(0, environment.find('\0'));
    environment.remove_prefix(std::min(environment.size(), variable.size() + 1));
    if (variable.starts_with(name)) return variable.substr(name.size());
  }
  return {};
}

bool is_of(unsigned owner, const std::string& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 && found.st_uid == owner && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// The numbers of /proc/PID/stat behind the process's name, which may have any characters.
std::vector<std::string> stat_of(int pid) {
  const auto text = read(fmt::format("/proc/{}/stat", pid));
  const auto name = text.rfind(')');
  std::istringstream words(name == text.npos ? "" : text.substr(name + 1));
  std::vector<std::string> fields;
  for (std::string word; words >> word;) fields.push_back(word);
  return fields;
}

}  // namespace

std::string batch_job_of(std::string_view cgroups) {
  constexpr std::string_view kJob = "/job_";
  if (cgroups.find("slurm") == cgroups.npos) return {};
  for (auto at = cgroups.find(kJob); at != cgroups.npos; at = cgroups.find(kJob, at + 1)) {
    const auto rest = cgroups.substr(at + kJob.size());
    const auto digits = rest.substr(0, rest.find_first_not_of(kDigits));
    const bool ends = digits.size() == rest.size() || rest[digits.size()] == '/' || rest[digits.size()] == '\n';
    if (is_number(digits) && ends) return fmt::format("slurm job {}", digits);
  }
  return {};
}

std::string claimed_batch_job(std::string_view environment) {
  const auto job = value_in(environment, "SLURM_JOB_ID=");
  if (!is_number(job)) return {};
  return fmt::format("slurm job {}{} (claimed)", job, account_words(value_in(environment, "SLURM_JOB_ACCOUNT=")));
}

std::string batch_job_by_step(int pid, const std::string& folder, unsigned owner) {
  constexpr std::size_t kParent = 1, kStart = 19;
  if (!is_of(owner, folder)) return {};
  for (int i = 0; i < kAncestorsMax && pid > 1; ++i) {
    const auto stat = stat_of(pid);
    if (stat.size() <= kStart) return {};
    const auto path = fmt::format("{}/{}", folder, pid);
    std::istringstream words(is_of(owner, path) ? read(path) : "");
    std::string job, start, uid, account;
    if (words >> job >> start >> uid && is_number(job) && is_number(uid) && start == stat[kStart]) {
      words >> account;
      return fmt::format("slurm job {} of uid {}{}", job, uid, account_words(account));
    }
    pid = std::atoi(stat[kParent].c_str());
  }
  return {};
}

std::string batch_job_of_process(int pid) {
  auto job = batch_job_by_step(pid);
  if (job.empty()) job = batch_job_of(read(fmt::format("/proc/{}/cgroup", pid)));
  return job.empty() ? claimed_batch_job(read(fmt::format("/proc/{}/environ", pid))) : job;
}

}  // namespace sumac::hostd
