#pragma once
// Names in the Host header. A browser sends there the name of the site that it believes to talk to, so a site whose name
// leads here (DNS rebinding) shows itself.
#include <algorithm>
#include <string>
#include <string_view>

namespace sumac::http {

/// Returns the host of "host", "host:port" or "[v6]:port", in small letters; "" if the text is none of these.
inline std::string host_of(std::string_view text) {
  const bool has_brackets = text.starts_with('[');
  const auto end = has_brackets ? text.find(']') + 1 : std::min(text.find(':'), text.size());
  std::string host(text.substr(0, end));
  std::ranges::transform(host, host.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  const auto legal = has_brackets ? "[]0123456789abcdef:." : "abcdefghijklmnopqrstuvwxyz0123456789-._";
  const auto port = text.substr(host.size());
  const bool is_port = port.empty() || (port.starts_with(':') && port.find_first_not_of("0123456789", 1) == port.npos);
  return host.find_first_not_of(legal) == host.npos && is_port ? host : std::string();
}

/// True for an address of this machine that no name server can give to another site.
inline bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos);
}

}  // namespace sumac::http
