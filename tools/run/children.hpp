#pragma once
// The processes of one `sumac run`: daemons with their logs, the program, and a guardian that cleans up if we are
// killed.
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac::tools {

/// The suffix of a run's directory name, for the directory that each of its hosts has.
inline constexpr char kHostsSuffix[] = ".host";

/// A private directory of this run, mode 0700, removed with the object. If this very process is killed (SIGKILL), a
/// guardian process notices it and removes the directory; daemons and program die by their parent-death signal.
class RunDirectory {
 public:
  static Result<RunDirectory> make();
  /// Uses exactly this name; Errc::io if it exists already.
  static Result<RunDirectory> make_at(const std::string& path);
  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory();

  const std::string& path() const noexcept { return path_; }
  void keep() noexcept { keep_ = true; }  ///< For users who want to read the logs; keys are removed all the same.

 private:
  static Result<RunDirectory> guarded(const std::string& path);
  RunDirectory() = default;
  std::string path_;
  UniqueFd guardian_pipe_;
  pid_t guardian_ = -1;
  bool keep_ = false;
};

/// A daemon of this run. The destructor asks it to end (SIGTERM), waits 5 s and then kills it.
class RunDaemon {
 public:
  /// Starts `command` with "--ready-fd N" added and its output in `log`; returns when it is ready, has ended, or has
  /// reported nothing for 20 s.
  static Result<RunDaemon> start(const std::string& name, std::vector<std::string> command, const std::string& log,
                                 int signal_fd);
  RunDaemon(RunDaemon&& other) noexcept;
  RunDaemon& operator=(RunDaemon&&) = delete;
  ~RunDaemon();

  const std::string& name() const noexcept { return name_; }
  pid_t pid() const noexcept { return pid_; }
  /// Returns once, if it has ended, a text about its end: "ended with status 1; its last words: ...".
  std::optional<std::string> obituary();

 private:
  friend Result<pid_t> start_lasting(const std::string&, std::vector<std::string>, const std::string&, int,
                                     const std::function<Result<>(pid_t)>&);
  /// `recorded` is empty for a daemon that dies with us.
  static Result<RunDaemon> launch(const std::string& name, std::vector<std::string> command, const std::string& log,
                                  int signal_fd, const std::function<Result<>(pid_t)>& recorded);
  RunDaemon() = default;
  std::string name_, log_;
  pid_t pid_ = -1;
};

/// Starts a daemon that outlives us, in a session of its own, like RunDaemon::start. `recorded` is called with its pid
/// before it may begin; if we are killed before that, it ends. After an error it has been ended.
Result<pid_t> start_lasting(const std::string& name, std::vector<std::string> command, const std::string& log,
                            int signal_fd, const std::function<Result<>(pid_t)>& recorded);

/// Errc::not_found with the remedy if execvp() would not find it.
Result<> check_program(const std::string& program);

/// Starts the user's program with our standard streams, in our process group; it is asked to end when we die.
Result<pid_t> start_program(const std::vector<std::string>& command, const std::vector<std::string>& environment);

/// A child in our process group that only receives signals sent to the whole group: by a terminal, `timeout`, a batch
/// system. Such a signal has already reached the program; a second one, passed on by us, would make mpirun abandon its
/// cleanup.
class GroupWitness {
 public:
  static Result<GroupWitness> start();
  GroupWitness(GroupWitness&& other) noexcept;
  GroupWitness& operator=(GroupWitness&&) = delete;
  ~GroupWitness();

  /// True if `signal`, which we have just received, has reached the whole group.
  bool heard(int signal);

 private:
  GroupWitness() = default;
  UniqueFd talk_;
  pid_t pid_ = -1;
};

/// Returns "status 3" or "signal 11 (Segmentation fault)".
std::string describe_exit(int wait_status);

}  // namespace sumac::tools
