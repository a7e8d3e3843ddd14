#pragma once
// The identity that a certificate proves. Role and name are one URI among the subject alternative names, such as
// sumac://node/an-root: gRPC reports that URI unchanged, and no public authority issues such a name.
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace sumac::control {

enum class CertRole {
  manager,  ///< The process sharp_am.
  node,     ///< One sharp_an, under its name in the fabric.
  host,     ///< The sharpd of one host.
  admin,    ///< A person, who may see everything but run no daemon.
};

struct Identity {
  CertRole role = CertRole::admin;
  std::string name;
  bool operator==(const Identity&) const = default;
};

/// A DNS name that only a manager's certificate has. Every client demands it, on whatever machine the manager runs.
inline constexpr const char* kManagerDnsName = "sharp-am.sumac.internal";

std::string_view to_string(CertRole role) noexcept;
Result<CertRole> parse_role(std::string_view text);

/// Returns the DNS name that only the certificate of this daemon has: a client demands it of the daemon that it calls.
std::string dns_name(const Identity& who);

/// True for 1 to 63 letters, digits, '.', '-' or '_': the names that hosts and nodes may have.
bool is_certificate_name(std::string_view name) noexcept;

std::string to_uri(const Identity& who);
Result<Identity> parse_uri(std::string_view uri);

/// Describes an identity for people, as in "node an-root".
std::string describe(const Identity& who);

}  // namespace sumac::control
