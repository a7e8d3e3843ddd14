#pragma once
// What a sharpd leaves to the next one: its life and the jobs that its clients hold, beside its socket. A sharpd that dies or is restarted
// under a job costs the job nothing: the new process is the same life to the manager, and renews for every holder that still runs.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "hostd/session.hpp"

namespace sumac::hostd {

/// A process, told from another that gets the same number later by when it started.
struct ProcessMark {
  int pid = 0;
  std::uint64_t started = 0;  ///< Ticks since the machine did.
  bool operator==(const ProcessMark&) const = default;
};

/// As /proc has it; nothing for a process that is gone.
std::optional<ProcessMark> mark_of(int pid);

struct HeldJob {
  Ticket ticket = 0;
  std::uint64_t job_id = 0;
  ProcessMark holder;
  bool operator==(const HeldJob&) const = default;
};

struct Held {
  std::uint64_t life = 0;
  Ticket last_ticket = 0;
  std::vector<HeldJob> jobs;
};

/// Nothing: no such file, or one of the time before the machine started. Errc::invalid: not ours, or not to be understood.
Result<std::optional<Held>> load_held(const std::string& path);

/// Whole or not at all. Without jobs the file goes.
Result<> save_held(const std::string& path, const Held& held);

}  // namespace sumac::hostd
