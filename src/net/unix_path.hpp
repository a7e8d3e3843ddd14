#pragma once
// Listens at a path where a dead server may have left its file.
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac::net {

/// Returns a nonblocking SOCK_SEQPACKET listener at `path` with mode 0666. See HostServer::listen().
Result<UniqueFd> listen_at(const std::string& path);

}  // namespace sumac::net
