#pragma once
// A `sumac run-host` or `sumac run-manager` ends with its standard input, by a signal, or with its parent where the program
// that started it said so.
#include <vector>

#include "launch/daemon.hpp"
#include "tools/commands.hpp"
#include "tools/run/children.hpp"
#include "tools/run/talk.hpp"

namespace sumac::tools {

/// A command has started these.
struct Served {
  RunDirectory directory;
  std::vector<launch::Daemon> daemons;  ///< They end in the other order.
};

/// Returns when the lifeline is cut: also by any word on the standard input. Says "died NAME AND STATUS" of each daemon
/// that ends before.
void attend(std::vector<launch::Daemon>& daemons, int signal_fd, int parent_fd = -1);

/// Runs such a command: `start` reads what `talk` says behind `settings`, if it must, and starts the daemons. Says "up" or
/// "failed REASON", and returns the exit status when the lifeline is cut.
int serve(const Arguments& arguments, const char* usage,
          Result<Served> (*start)(Talk& talk, Settings settings, int interrupt_fd));

}  // namespace sumac::tools
