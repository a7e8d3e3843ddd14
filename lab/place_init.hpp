#pragma once
#include <string>

namespace sumac::lab {

/// Runs as the first process of a namespace, once that is set up: it starts programs as requested over `channel`,
/// reaps, passes signals on, until the lab closes the channel. Then it exits, and the kernel ends all programs that
/// still run in the namespace. `devices` lists the namespace's own, in UCX's notation.
[[noreturn]] void serve_place(int channel, const std::string& devices);

}  // namespace sumac::lab
