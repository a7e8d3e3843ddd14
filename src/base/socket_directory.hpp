#pragma once
// This file judges which user may stand behind the name of a unix socket. A name proves nothing by itself: whoever may write its directory, or one above it, can put a socket of
// his own there. So a daemon demands a directory that nobody else can write or replace, and a client asks the kernel who listens.
#include <sys/types.h>

#include <string>

#include "base/result.hpp"

namespace sumac {

/// The socket's path with every symbolic link of its directory resolved: what was checked is what is used.
/// Errc::denied: the directory is not this process's user's, somebody else may write it, or somebody else could replace it from a directory above.
Result<std::string> own_socket_path(const std::string& path);

/// May a client take whoever listens at `path` for the daemon? Root and its own user it believes anywhere; the directory's owner where nobody
/// else may write it and every directory above is root's alone. Errc::denied names the owner.
Result<> check_listener(const std::string& path, uid_t listener);

/// Returns the user at the other end of a unix socket: the one who called listen(), or connect().
Result<uid_t> peer_uid(int fd);

}  // namespace sumac
