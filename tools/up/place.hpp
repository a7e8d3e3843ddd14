#pragma once
// The state directory of `sumac up`: a directory of the user's own with a record, a log and a socket for each daemon.
//
// A record is the process's number and its start time, so that another process that later gets the same number is never
// taken for it. It is written while the new process still waits for permission to begin, so every running process is on
// record.
#include <sys/types.h>

#include <optional>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac::tools {

/// Returns SUMAC_RUN_DIR if set; else /run/sumac for root, and for another user a directory in XDG_RUNTIME_DIR, or
/// /tmp/sumac-UID.
std::string up_directory();
/// Returns the socket of the manager that `sumac up` started, if one did.
std::string manager_socket_of_up();

class UpPlace {
 public:
  /// Makes the directory if it is missing. Errc::invalid: other users can write to it.
  static Result<UpPlace> make();
  /// Errc::not_found: nothing is up.
  static Result<UpPlace> find();

  const std::string& path() const noexcept { return path_; }
  std::string inner(const std::string& file) const { return path_ + "/private/" + file; }
  std::string sharpd_socket() const { return path_ + "/sharpd.sock"; }
  std::string log(const std::string& daemon) const { return path_ + "/" + daemon + ".log"; }

  /// Allows one `sumac up` or `sumac down` at a time; held as long as the object lives.
  Result<> lock();

  Result<> record(const std::string& daemon, pid_t pid) const;
  struct Process {
    pid_t pid = -1;
    bool alive = false;
  };
  /// Returns nothing if it was never started here.
  std::optional<Process> process(const std::string& daemon) const;
  void forget(const std::string& daemon) const;

  /// Removes all our files in it, and the directory itself if nothing else is there.
  Result<> remove();

 private:
  std::string path_;
  UniqueFd lock_;
};

/// Sends SIGTERM, waits 5 s, then sends SIGKILL; returns when the process is gone. Reports on stderr if it had to be
/// killed.
void end_process(const std::string& name, pid_t pid);

}  // namespace sumac::tools
