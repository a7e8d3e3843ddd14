#pragma once
// The default addresses at which the daemons of one machine find each other.

namespace sumac::control {

/// The socket of sharp_am. Its directory belongs to sharp_am alone; sharpd runs as another user and has /run/sumac.
inline constexpr const char* kManagerDefault = "unix:/run/sumac-am/am.sock";
/// sharp_daemons_setup.sh creates these users for its units.
inline constexpr const char* kDaemonUsersDefault = "sumac-am,sumac-an,sumac-sharpd";

/// sharpd answers `sumac explain` at its socket's path with this behind it.
inline constexpr const char* kInspectSuffix = ".inspect";

/// The prefix of an error that reports a listener which may not be the manager. It is logged even if the manager's
/// absence was logged before.
inline constexpr const char* kNotTheManager = "not the manager at ";

}  // namespace sumac::control
