#pragma once
// Turns signals into data to be read, so that they interrupt nothing half-way.
#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac::tools {

/// Blocks the signals that a user or a batch system sends, and SIGCHLD; the descriptor returns all of them.
Result<UniqueFd> make_signal_fd();

/// The same without SIGCHLD; make_signal_fd() has already blocked the signals. While daemons start, an early SIGCHLD
/// means a daemon's end, which its pipe reports better, so only the user's signals count.
Result<UniqueFd> make_interrupt_fd();

}  // namespace sumac::tools
