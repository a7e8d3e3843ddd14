#pragma once
// A `sumac run-host` or `sumac run-manager` ends with its standard input, by a signal, or with its parent where the program
// that started it said so.
#include <vector>

#include "base/fd.hpp"
#include "launch/daemon.hpp"
#include "tools/run/talk.hpp"

namespace sumac::tools {

/// Returns a descriptor that becomes readable when the parent ends; an empty one if `settings` has no "parent PID". A
/// child that the program forks later inherits the other end of our standard input, so its end says too little there.
/// Errc::interrupted: the parent has ended already.
Result<UniqueFd> watch_parent(const Settings& settings);

/// Returns when the lifeline is cut: also by any word on the standard input. Says "died NAME AND STATUS" of each daemon that ends before.
void attend(std::vector<launch::Daemon>& daemons, int signal_fd, int parent_fd);

}  // namespace sumac::tools
