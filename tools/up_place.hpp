#pragma once
// Where `sumac up` keeps what it started: a directory of the user's own with a record, a log and a socket for each daemon.
//
// A record is the process's number and when it started, so that another process which got the same number since is never taken for it.
// It is written while the new process still waits for leave to begin: nothing runs that is not on record.
#include <sys/types.h>

#include <optional>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac::tools {

/// SUMAC_RUN_DIR; else root's is /run/sumac, another user's in XDG_RUNTIME_DIR, or /tmp/sumac-UID.
std::string up_directory();
/// Where the manager that `sumac up` started listens, if one did.
std::string manager_socket_of_up();

class UpPlace {
 public:
  /// Makes the directory if it is missing. Errc::invalid: it is not ours alone.
  static Result<UpPlace> make();
  /// Errc::not_found: nothing is up.
  static Result<UpPlace> find();

  const std::string& path() const noexcept { return path_; }
  std::string inner(const std::string& file) const { return path_ + "/private/" + file; }
  std::string sharpd_socket() const { return path_ + "/sharpd.sock"; }
  std::string log(const std::string& daemon) const { return path_ + "/" + daemon + ".log"; }

  /// One `sumac up` or `sumac down` at a time; held until the object goes.
  Result<> lock();

  Result<> record(const std::string& daemon, pid_t pid) const;
  struct Process {
    pid_t pid = -1;
    bool alive = false;
  };
  /// Nothing: never started here.
  std::optional<Process> process(const std::string& daemon) const;
  void forget(const std::string& daemon) const;

  /// Removes everything of ours in it, and itself if nothing else is there.
  Result<> remove();

 private:
  std::string path_;
  UniqueFd lock_;
};

/// SIGTERM, 5 s, SIGKILL; returns when the process is gone. Says on stderr if it had to be killed.
void end_process(const std::string& name, pid_t pid);

}  // namespace sumac::tools
