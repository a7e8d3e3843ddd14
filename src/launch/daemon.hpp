#pragma once
// A daemon as a child of this process.
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace sumac::launch {

struct Launch {
  std::string name;                  ///< The daemon's name for people, such as "sharp_am".
  std::vector<std::string> command;  ///< The path of its program, and its arguments.
  std::string log;                   ///< The path of the file to which its output is added.
  /// Variables that are set for it, beside our own.
  std::vector<std::pair<std::string, std::string>> environment{};
  /// It gets "--ready-fd 3", and start() waits until it is ready. False for a command that is expected to refuse.
  bool reports_ready = true;
  int interrupt_fd = -1;  ///< start() gives up when this descriptor becomes readable.
};

/// A child that dies with us. It is in a process group of its own, so Ctrl-C at the terminal does not reach it. The
/// destructor asks it to end (SIGTERM), waits 5 s and then kills it.
class Daemon {
 public:
  /// Returns when it is ready. Errc::lost: it ended at once; Errc::timeout: it was not ready within 30 s (and has been
  /// ended); Errc::interrupted.
  static Result<Daemon> start(const Launch& launch);
  Daemon(Daemon&& other) noexcept;
  Daemon& operator=(Daemon&&) = delete;
  ~Daemon();

  const std::string& name() const noexcept { return name_; }
  pid_t pid() const noexcept { return pid_; }  ///< -1 once its end has been noticed.
  void signal(int number) const;
  /// Waits for its end without a limit; returns the status as waitpid() gives it. Call it once.
  int wait();
  /// Returns once, if it has ended, a text about its end: "sharpd ended with status 1; its last words: ...".
  std::optional<std::string> obituary();

 private:
  friend Result<pid_t> start_lasting(const Launch&, const std::function<Result<>(pid_t)>&);
  Daemon(const Launch& launch, pid_t pid) : name_(launch.name), log_(launch.log), pid_(pid) {}
  Result<> await_ready(const Launch& launch, int ready_fd);
  std::string name_, log_;
  pid_t pid_ = -1;
};

/// Starts a daemon that outlives us, in a session of its own, and returns when it is ready, like Daemon::start().
/// `recorded` is called with its pid before it may begin; if we are killed before that, it ends. After an error it has
/// been ended.
Result<pid_t> start_lasting(const Launch& launch, const std::function<Result<>(pid_t)>& recorded);

}  // namespace sumac::launch
