#pragma once
// Who calls the manager: the kernel names the user behind a unix socket, a certificate names a role. Never the word of the caller himself. Clear text
// over TCP proves nothing, so it needs the operator's leave (--allow-insecure) on both sides.
#include <grpcpp/grpcpp.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/identity.hpp"

namespace sumac::control {

/// Users whose processes may be daemons of this fabric: root, this process's own user, and those of option daemon_users.
class DaemonUsers {
 public:
  DaemonUsers() = default;
  /// Names or numbers with commas between. Errc::invalid: there is no such user; those that Sumac's units make need not be there.
  static Result<DaemonUsers> parse(std::string_view list);

  bool has(uid_t uid) const noexcept;

 private:
  std::vector<uid_t> more_;
};

struct Caller {
  std::optional<Identity> certificate;  ///< TLS.
  std::optional<std::uint32_t> uid;     ///< The user whose socket it is, as the kernel says.
  std::string no_daemon;                ///< Clear text: why it may not register; empty: it may.

  /// root, whoever runs the manager, an administrator's or the manager's own certificate: sees everything.
  bool is_operator() const noexcept;
  /// May be the daemon that it says it is.
  Result<> may_be(CertRole role, std::string_view name) const;
  /// "user 65534", "node an-root", for people; callers of one name share its limits.
  std::string describe() const;
};

/// Finds out who makes a call.
using CallerOf = std::function<Result<Caller>(const grpc::ServerContextBase& context)>;

/// A caller on a unix socket.
Caller local_caller(uid_t uid, const DaemonUsers& users);
/// Over TLS. Errc::denied: no certificate of Sumac's.
Result<Caller> certified_caller(const grpc::ServerContextBase& context);
/// Over TCP in clear text, which the operator has allowed: anybody elsewhere may register; on this machine the kernel must name the owner.
/// `peer` and `server` as gRPC has them, "ipv4:127.0.0.1:40000" and "127.0.0.1:6126".
Caller clear_text_caller(std::string_view peer, std::string_view server, const DaemonUsers& users);

/// Whose socket is connected from `peer` to this machine's `server`, if the kernel proves it: the connection stands and a process has it open.
std::optional<std::uint32_t> uid_of_peer(std::string_view peer, std::string_view server);

/// Is `peer` an address of this machine?
bool calls_from_here(std::string_view peer);

}  // namespace sumac::control
