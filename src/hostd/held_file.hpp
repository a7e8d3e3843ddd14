#pragma once
// The file that a sharpd keeps beside its socket for its successor: its life and the jobs that its clients hold. If
// sharpd dies or is restarted under a job, the job does not notice: the new process has the same life for the manager,
// and renews for every holder that still runs.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "hostd/session.hpp"

namespace sumac::hostd {

/// Identifies a process by its number and its start time, because a later process may get the same number.
struct ProcessMark {
  int pid = 0;
  std::uint64_t started = 0;  ///< The start time in clock ticks since the machine was started.
  bool operator==(const ProcessMark&) const = default;
};

/// Reads the mark from /proc; returns nothing if the process is gone.
std::optional<ProcessMark> mark_of(int pid);

struct HeldJob {
  Ticket ticket = 0;
  JobId job_id{};
  ProcessMark holder;
  std::string daemons{};  ///< A HeldDaemons of control.proto in hexadecimal digits; empty: not known.
  bool operator==(const HeldJob&) const = default;
};

struct Held {
  std::uint64_t life = 0;
  Ticket last_ticket = 0;
  std::vector<HeldJob> jobs;
};

/// Returns nothing if there is no such file, or if it is older than the machine's last start. Returns Errc::invalid if
/// the file is not ours or cannot be parsed.
Result<std::optional<Held>> load_held(const std::string& path);

/// Writes the whole file or nothing. Without jobs it removes the file.
Result<> save_held(const std::string& path, const Held& held);

}  // namespace sumac::hostd
