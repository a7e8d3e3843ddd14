#pragma once
// Where daemons of one machine find each other unless they are told.

namespace sumac::control {

/// sharp_am's socket. Its directory is sharp_am's alone: sharpd, which runs as another user, has /run/sumac.
inline constexpr const char* kManagerDefault = "unix:/run/sumac-am/am.sock";
/// Users that sharp_daemons_setup.sh makes for its units.
inline constexpr const char* kDaemonUsersDefault = "sumac-am,sumac-an,sumac-sharpd";

/// How the words of an error begin where somebody listens who may not be the manager: worth a line also where its absence was told already.
inline constexpr const char* kNotTheManager = "not the manager at ";

}  // namespace sumac::control
