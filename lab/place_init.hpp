#pragma once
#include <string>

namespace sumac::lab {

/// The first process of a place, once set up: starts programs as asked over `channel`, reaps, passes signals on, until the
/// lab closes the channel. Then it exits, and the kernel ends whatever still runs in the place.
/// `devices`: the place's own, as UCX wants to be told them.
[[noreturn]] void serve_place(int channel, const std::string& devices);

}  // namespace sumac::lab
