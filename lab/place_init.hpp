#pragma once

namespace sumac::lab {

/// The first process of a place, once set up: starts programs as asked over `channel`, reaps, passes signals on, until the
/// lab closes the channel. Then it exits, and the kernel ends whatever still runs in the place.
[[noreturn]] void serve_place(int channel);

}  // namespace sumac::lab
