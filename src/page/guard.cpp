#include "page/guard.hpp"

#include <openssl/x509v3.h>

#include <algorithm>

namespace sumac::page {
namespace {

/// Returns the host of "host", "host:port" or "[v6]:port", in small letters; "" if the text is none of these.
std::string host_of(std::string_view text) {
  const bool has_brackets = text.starts_with('[');
  const auto end = has_brackets ? text.find(']') + 1 : std::min(text.find(':'), text.size());
  std::string host(text.substr(0, end));
  std::ranges::transform(host, host.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  const auto legal = has_brackets ? "[]0123456789abcdef:." : "abcdefghijklmnopqrstuvwxyz0123456789-._";
  const auto port = text.substr(host.size());
  const bool is_port = port.empty() || (port.starts_with(':') && port.find_first_not_of("0123456789", 1) == port.npos);
  return host.find_first_not_of(legal) == host.npos && is_port ? host : std::string();
}

std::string without_brackets(const std::string& host) {
  return host.size() > 2 && host.front() == '[' && host.back() == ']' ? host.substr(1, host.size() - 2) : host;
}

bool is_any(const std::string& host) { return host == "0.0.0.0" || host == "[::]"; }

/// Returns the first name of a machine in the certificate, or nothing.
std::string first_name(X509* certificate) {
  auto* names = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  std::string found;
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names) && found.empty(); ++i) {
    const auto* name = sk_GENERAL_NAME_value(names, i);
    if (name->type == GEN_DNS)
      found.assign(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                   static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName)));
  }
  GENERAL_NAMES_free(names);
  return found.starts_with("*") ? std::string() : found;
}

http::Response refusal(int status, std::string words) {
  return {.status = status, .type = "application/json", .body = "{\"error\":\"" + std::move(words) + "\"}\n"};
}

}  // namespace

Guard::Guard(const std::string& listen, Certificate certificate) : certificate_(std::move(certificate)) {
  if (listen.starts_with("unix:")) {
    site_ = listen;
    return;
  }
  own_ = host_of(listen);
  if (own_ == "localhost") own_ = "127.0.0.1";
  const auto port = listen.substr(listen.rfind(':'));
  const auto named = is_any(own_) && certificate_ ? first_name(certificate_.get()) : std::string();
  site_ = (certificate_ ? "https://" : "http://") + (named.empty() ? own_ : named) + port;
}

bool Guard::is_ours(std::string_view text) const {
  const auto host = host_of(text);
  if (host.empty()) return false;
  // A name that leads here from elsewhere is never one of these. The port is not compared, so that an ssh tunnel may
  // have another one.
  if (host == "127.0.0.1" || host == "localhost" || host == "[::1]") return true;
  if (!own_.empty() && !is_any(own_) && host == own_) return true;
  if (!certificate_) return false;
  const auto bare = without_brackets(host);
  return X509_check_host(certificate_.get(), bare.data(), bare.size(), 0, nullptr) == 1 ||
         X509_check_ip_asc(certificate_.get(), bare.c_str(), 0) == 1;
}

std::optional<http::Response> Guard::refuses(const http::Request& request, bool has_data) const {
  const auto host = request.header("Host");
  if (!host || !is_ours(*host))
    return refusal(421, "this page is not served under the name in the Host header: use the address of sumac page");
  if (request.header_count("Origin") != 0 &&
      request.header("Origin") != (certificate_ ? "https://" : "http://") + *host)
    return refusal(403, "the request comes from the page of another site (Origin)");
  const auto fetch_site = request.header("Sec-Fetch-Site");
  if (has_data && fetch_site && fetch_site != "same-origin" && fetch_site != "none")
    return refusal(403, "the request comes from the page of another site (Sec-Fetch-Site)");
  if (request.method != "GET" && request.method != "HEAD") return refusal(405, "there is only GET here");
  return std::nullopt;
}

}  // namespace sumac::page
