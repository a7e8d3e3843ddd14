#pragma once
// The job of the batch system to which a process belongs. Operators have its number in hand, so it is said beside the
// process wherever a job's holder is shown. Slurm puts the processes of a job into a control group with its number, and
// its plug-in (bindings/slurm) leaves a file for each slurmstepd; no user can change either. Without both, the process's own
// environment is all there is, and what it names is shown as a claim.
#include <string>
#include <string_view>

namespace sumac::hostd {

/// The plug-in's folder. The file PID has "JOB START UID ACCOUNT": START is the start time in /proc/PID/stat, and there is no ACCOUNT
/// where the job has none, or Slurm did not say in time.
inline constexpr const char* kStepFolder = "/run/sumac-slurm";

/// `cgroups` is the text of /proc/PID/cgroup. Returns "slurm job 1234", or nothing.
std::string batch_job_of(std::string_view cgroups);

/// `environment` is the text of /proc/PID/environ. Returns "slurm job 1234 account weather (claimed)", or nothing.
std::string claimed_batch_job(std::string_view environment);

/// Looks for the file of the process or of one that it descends from. Only `owner` may be able to write it. Returns
/// "slurm job 1234 of uid 1000 account weather", or nothing.
std::string batch_job_by_step(int pid, const std::string& folder = kStepFolder, unsigned owner = 0);

std::string batch_job_of_process(int pid);

}  // namespace sumac::hostd
