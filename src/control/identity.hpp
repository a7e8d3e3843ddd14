#pragma once
// Who a certificate says its holder is. Role and name are one URI among its subject alternative names, sumac://node/an-root: gRPC
// hands it over as it is, and no public authority gives such a name away.
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace sumac::control {

enum class CertRole {
  manager,  ///< sharp_am.
  node,     ///< One sharp_an, by its name in the fabric.
  host,     ///< The sharpd of one host.
  admin,    ///< A person: sees everything, is no daemon.
};

struct Identity {
  CertRole role = CertRole::admin;
  std::string name;
  bool operator==(const Identity&) const = default;
};

/// A DNS name that only a manager's certificate has: everybody who connects demands it, wherever the manager runs.
inline constexpr const char* kManagerDnsName = "sharp-am.sumac.internal";

std::string_view to_string(CertRole role) noexcept;
Result<CertRole> parse_role(std::string_view text);

/// Letters, digits, '.', '-', '_': 1 to 63 of them, as hosts and nodes are called.
bool is_certificate_name(std::string_view name) noexcept;

std::string to_uri(const Identity& who);
Result<Identity> parse_uri(std::string_view uri);

/// "node an-root", for people.
std::string describe(const Identity& who);

}  // namespace sumac::control
