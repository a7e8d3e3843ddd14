#include "control/identity.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace sumac::control {
namespace {

constexpr std::string_view kScheme = "sumac://";
constexpr std::size_t kNameMax = 63;  // The common name of an X.509 certificate has at most 64 bytes.

struct RoleName {
  CertRole role;
  std::string_view name;
};
constexpr RoleName kRoles[] = {
    {CertRole::manager, "manager"}, {CertRole::node, "node"}, {CertRole::host, "host"}, {CertRole::admin, "admin"}};

}  // namespace

std::string_view to_string(CertRole role) noexcept {
  for (const auto& each : kRoles)
    if (each.role == role) return each.name;
  return "?";
}

Result<CertRole> parse_role(std::string_view text) {
  for (const auto& each : kRoles)
    if (each.name == text) return each.role;
  return fail(Errc::invalid, "'{:.80}' is no role: one of manager, node, host, admin", text);
}

bool is_certificate_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= kNameMax && std::all_of(name.begin(), name.end(), [](char c) {
    return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_';
  });
}

std::string dns_name(const Identity& who) {
  return who.role == CertRole::manager ? kManagerDnsName
                                       : fmt::format("{}-{}.sumac.internal", to_string(who.role), who.name);
}

std::string to_uri(const Identity& who) { return fmt::format("{}{}/{}", kScheme, to_string(who.role), who.name); }

Result<Identity> parse_uri(std::string_view uri) {
  const auto slash = uri.find('/', kScheme.size());
  if (!uri.starts_with(kScheme) || slash == uri.npos)
    return fail(Errc::invalid, "'{:.200}' names no role and name of Sumac's", uri);
  auto role = parse_role(uri.substr(kScheme.size(), slash - kScheme.size()));
  if (!role) return tl::unexpected(role.error());
  const auto name = uri.substr(slash + 1);
  if (!is_certificate_name(name)) return fail(Errc::invalid, "'{:.200}' has no legal name", uri);
  return Identity{*role, std::string(name)};
}

std::string describe(const Identity& who) { return fmt::format("{} {}", to_string(who.role), who.name); }

}  // namespace sumac::control
