#pragma once
// The processes of one `sumac run` besides its daemons: the program, and a guardian that cleans up if we are killed.
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac::tools {

/// The suffix of a run's directory name, for the directory that each of its hosts has.
inline constexpr char kHostsSuffix[] = ".host";

/// The directory that each host of the run in `directory` has for its sockets, under one name. It is in /tmp, which
/// belongs to one host, whereas TMPDIR may be a folder that hosts share.
std::string directory_on_hosts(const std::string& directory);

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
  /// For users who want to read the logs; keys are removed all the same.
  void keep() noexcept;

 private:
  static Result<RunDirectory> guarded(const std::string& path);
  RunDirectory() = default;
  std::string path_;
  UniqueFd lock_;  ///< Held while the run lives: without it another run of this user removes the directory.
  UniqueFd guardian_pipe_;
  pid_t guardian_ = -1;
  bool keep_ = false;
};

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

}  // namespace sumac::tools
