#pragma once
// Who calls the manager: by his certificate, or, in clear text on this machine, by what the kernel says. Never by what he says.
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "control/identity.hpp"

namespace sumac::control {

struct Caller {
  std::optional<Identity> certificate;  ///< TLS.
  std::optional<std::uint32_t> uid;     ///< A process of this machine, in clear text.

  /// root, whoever runs the manager, an administrator's or the manager's own certificate: sees everything.
  bool is_operator() const noexcept;
  /// May be the daemon that it says it is. In clear text: an operator, or somebody on another machine (--allow-insecure).
  Result<> may_be(CertRole role, std::string_view name) const;
};

/// `server`: the endpoint that was called.
Result<Caller> caller_of(const grpc::ServerContextBase& context, std::string_view server, bool tls);

/// Whose socket it is that is connected from `peer` ("ipv4:127.0.0.1:40000", as gRPC has it) to this machine's `server`. Nothing:
/// no socket of this machine's, or of another network namespace, or a kernel without NETLINK_SOCK_DIAG.
std::optional<std::uint32_t> uid_of_peer(std::string_view peer, std::string_view server);

}  // namespace sumac::control
