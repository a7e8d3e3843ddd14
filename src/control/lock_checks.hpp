#pragma once

namespace sumac::control {

/// Debian builds Abseil without NDEBUG, so each lock of gRPC is looked up in a graph that finds deadlocks, with a stack trace. The graph
/// grows with the connections that come and go, and every lock pays for it. This leaves the search out; call it before the first
/// server or channel.
void leave_lock_checks_out() noexcept;

}  // namespace sumac::control
