#include "page/guard.hpp"

#include <openssl/x509v3.h>

#include "http/host.hpp"

namespace sumac::page {
namespace {

using http::host_of;

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

Guard::Guard(const std::string& listen, Certificate certificate, std::string name)
    : name_(std::move(name)), certificate_(std::move(certificate)) {
  if (listen.starts_with("unix:")) {
    site_ = listen;
    return;
  }
  const auto port = listen.substr(listen.rfind(':'));
  if (!certificate_) {
    site_ = "http://" + name_ + port;
    return;
  }
  own_ = host_of(listen);
  if (own_ == "localhost") own_ = "127.0.0.1";
  const auto named = is_any(own_) ? first_name(certificate_.get()) : std::string();
  site_ = "https://" + (named.empty() ? own_ : named) + port;
}

bool Guard::is_ours(std::string_view text) const {
  const auto host = host_of(text);
  if (host.empty()) return false;
  // The port is not compared, so that an ssh tunnel may have another one. In clear text any user of the machine can
  // serve the same port while the manager is away, and a script that he leaves in a browser stays there; so only the
  // name counts that was drawn at this start, under which nobody served anything before.
  if (!certificate_) return host == name_;
  if (http::is_loopback(host) || (!is_any(own_) && host == own_)) return true;
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
