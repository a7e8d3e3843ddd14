#pragma once
// This header names the caller of a call to the manager. On a unix socket the kernel reports the caller's user; over
// TLS a certificate names the role. The caller's own claim never counts. Clear text over TCP proves nothing, so it
// needs the operator's permission (--allow-insecure) on both sides.
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

/// The users whose processes may be daemons of this fabric: root, the user of this process, and those of option
/// daemon_users.
class DaemonUsers {
 public:
  DaemonUsers() = default;
  /// Parses user names or numbers, separated by commas. Returns Errc::invalid if a user does not exist; the users that
  /// Sumac's units create may be missing.
  static Result<DaemonUsers> parse(std::string_view list);

  bool has(uid_t uid) const noexcept;

 private:
  std::vector<uid_t> more_;
};

struct Caller {
  std::optional<Identity> certificate;  ///< The caller's certificate, if the call came over TLS.
  std::optional<std::uint32_t> uid;     ///< The user who owns the socket, as the kernel reports it.
  /// Over clear text: the reason why the caller may not register as a daemon. Empty if it may.
  std::string no_daemon{};
  /// On a unix socket: the user for whose share the caller counts (base/subordinate_ids.hpp).
  std::optional<std::uint32_t> person{};

  /// True for root, the user who runs the manager, and an administrator's or the manager's own certificate: they may
  /// see everything.
  bool is_operator() const noexcept;
  /// Checks that the caller may act as the daemon that it claims to be.
  Result<> may_be(CertRole role, std::string_view name) const;
  /// Describes the caller for people: "user 65534", "node an-root".
  std::string describe() const;
  /// Callers with equal shares have one set of limits.
  std::string share() const { return person ? fmt::format("user {}", *person) : describe(); }
};

/// Identifies the caller of one gRPC call.
using CallerOf = std::function<Result<Caller>(const grpc::ServerContextBase& context)>;

/// Describes a caller on a unix socket.
Caller local_caller(uid_t uid, const DaemonUsers& users);
/// Describes a caller over TCP in clear text, which the operator has allowed. A caller on another machine may register;
/// for one on this machine the kernel must name the owner of the socket. `peer` and `server` have gRPC's form:
/// "ipv4:127.0.0.1:40000" and "127.0.0.1:6126".
Caller clear_text_caller(std::string_view peer, std::string_view server, const DaemonUsers& users);

/// Returns the owner of the socket that connects `peer` to `server` on this machine, if the kernel proves it: the
/// connection is established and a process has it open.
std::optional<std::uint32_t> uid_of_peer(std::string_view peer, std::string_view server);

/// True if `peer` is an address of this machine.
bool calls_from_here(std::string_view peer);

}  // namespace sumac::control
