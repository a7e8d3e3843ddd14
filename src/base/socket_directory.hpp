#pragma once
// Judges which user may serve the unix socket at a path. A path proves nothing by itself: any user who may write its
// directory, or one above it, can put his own socket there. So a daemon demands a directory that no other user can
// write or replace, and a client asks the kernel which user listens.
#include <sys/types.h>

#include <string>

#include "base/result.hpp"

namespace sumac {

/// Returns the socket's path with every symbolic link of its directory resolved, so that the path that was checked is
/// the path that is used. Returns Errc::denied if the directory does not belong to this process's user, if another user
/// may write it, or if another user could replace it from a directory above.
Result<std::string> own_socket_path(const std::string& path);

/// Checks that a client may take the user who listens at `path` for the daemon. Root and the client's own user are
/// accepted anywhere. The directory's owner is accepted if no other user may write the directory and every directory
/// above belongs to root. Errc::denied names the owner.
Result<> check_listener(const std::string& path, uid_t listener);

/// Returns the user at the other end of a unix socket: the one who called listen(), or connect().
Result<uid_t> peer_uid(int fd);

}  // namespace sumac
