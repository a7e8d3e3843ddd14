#pragma once
// The processes of one `sumac run`: daemons with their logs, the program, and a guardian that tidies up if we are killed.
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac::tools {

/// Behind the name of a run's directory: the one that each of its hosts has.
inline constexpr char kHostsSuffix[] = ".host";

/// A private directory of this run, mode 0700, gone when the object goes. Should this very process be killed (SIGKILL), a guardian
/// process sees it and removes the directory; daemons and program die by their parent-death signal.
class RunDirectory {
 public:
  static Result<RunDirectory> make();
  /// With this very name; Errc::io if it is there already.
  static Result<RunDirectory> make_at(const std::string& path);
  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory();

  const std::string& path() const noexcept { return path_; }
  void keep() noexcept { keep_ = true; }  ///< For people who want to read the logs; keys go all the same.

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
  /// Starts `command` with "--ready-fd N" added and its output in `log`; returns when it is ready, has ended, or said nothing for 20 s.
  static Result<RunDaemon> start(const std::string& name, std::vector<std::string> command, const std::string& log,
                                 int signal_fd);
  RunDaemon(RunDaemon&& other) noexcept;
  RunDaemon& operator=(RunDaemon&&) = delete;
  ~RunDaemon();

  const std::string& name() const noexcept { return name_; }
  pid_t pid() const noexcept { return pid_; }
  /// Its exit as words, once, if it is over: "ended with status 1; its last words: ...".
  std::optional<std::string> obituary();

 private:
  friend Result<pid_t> start_lasting(const std::string&, std::vector<std::string>, const std::string&, int,
                                     const std::function<Result<>(pid_t)>&);
  /// `recorded`: empty for a daemon that dies with us.
  static Result<RunDaemon> launch(const std::string& name, std::vector<std::string> command, const std::string& log,
                                  int signal_fd, const std::function<Result<>(pid_t)>& recorded);
  RunDaemon() = default;
  std::string name_, log_;
  pid_t pid_ = -1;
};

/// A daemon that outlives us: in a session of its own, started as RunDaemon::start does. `recorded` is called with its pid before it may
/// begin; should we be killed before that, it ends. On an error it has been ended.
Result<pid_t> start_lasting(const std::string& name, std::vector<std::string> command, const std::string& log,
                            int signal_fd, const std::function<Result<>(pid_t)>& recorded);

/// Errc::not_found with the remedy if execvp() would not find it.
Result<> check_program(const std::string& program);

/// Starts the user's program with our standard streams, in our process group; it is asked to end when we die.
Result<pid_t> start_program(const std::vector<std::string>& command, const std::vector<std::string>& environment);

/// A child in our process group that does nothing but receive what is sent to all of the group: by a terminal, `timeout`, a batch system.
/// A signal of that kind has reached the program too, and passed on once more it would make mpirun give up tidying.
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

/// "status 3" or "signal 11 (Segmentation fault)".
std::string describe_exit(int wait_status);

}  // namespace sumac::tools
