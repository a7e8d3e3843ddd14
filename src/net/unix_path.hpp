#pragma once
// Addresses of unix sockets, and starting to listen at a path where a dead server may have left its file.
#include <sys/un.h>

#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac::net {

/// Errc::invalid: the path does not fit (107 bytes).
Result<sockaddr_un> unix_address(const std::string& path);

/// A nonblocking SOCK_SEQPACKET listener at `path` with mode 0666. See HostServer::listen().
Result<UniqueFd> listen_at(const std::string& path);

}  // namespace sumac::net
