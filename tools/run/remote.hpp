#pragma once
// A command that a launcher (ssh, or a substitute for it) starts on a host, with pipes to its standard input and
// output.
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac::tools {

inline constexpr char kSsh[] = "ssh -o BatchMode=yes";

/// Returns the command that starts `what` on a host: "{host}" in a word is replaced by the host's name; without it the
/// name follows the launcher's words, as for ssh.
std::vector<std::string> launch_command(const std::string& launcher, const std::string& host,
                                        const std::vector<std::string>& what);

struct Remote {
  pid_t pid = -1;
  UniqueFd in, out;
};

/// Starts the command in a process group of its own; its standard error goes to `error_fd`. It is asked to end when we
/// die.
Result<Remote> start_remote(const std::vector<std::string>& command, int error_fd);

/// Waits for a launcher; returns false if it had not ended in time and was killed, with all it started in its process
/// group.
bool remote_ends_by(pid_t launcher, Time deadline, int& status);

/// Writes a text that fits into the pipe. A launcher that is gone already is noticed by the next read.
void send_to(const Remote& remote, const std::string& text);

}  // namespace sumac::tools
