#pragma once
// Signals as something to be read, so that nothing is interrupted half-way.
#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac::tools {

/// Blocks what a person or a batch system sends, and SIGCHLD; all of it is read from the descriptor.
Result<UniqueFd> make_signal_fd();

/// The same without SIGCHLD, blocked already by make_signal_fd(). While daemons start, an early SIGCHLD is a daemon's end, which its pipe
/// tells better: only what a person sends counts.
Result<UniqueFd> make_interrupt_fd();

}  // namespace sumac::tools
