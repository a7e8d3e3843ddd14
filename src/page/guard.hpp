#pragma once
// Turns away requests that a browser sends for another site: a Host that is not ours (DNS rebinding), an Origin that is
// not ours. Pure but for the certificate, which names the hosts of a page that other machines reach.
#include <openssl/x509.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/exchange.hpp"

namespace sumac::page {

struct CertificateDelete {
  void operator()(X509* p) const noexcept { X509_free(p); }
};
using Certificate = std::unique_ptr<X509, CertificateDelete>;

class Guard {
 public:
  /// `listen` is the address, with its port. `certificate`: null in clear text. `name` is the page's host in clear text.
  Guard(const std::string& listen, Certificate certificate, std::string name);

  /// Returns the answer to a request that may not go on, or nothing. `has_data`: it asks for more than the page's own
  /// files.
  std::optional<http::Response> refuses(const http::Request& request, bool has_data) const;
  /// The beginning of the page's addresses: "http://NAME:9510"; of a unix socket "unix:PATH".
  const std::string& site() const noexcept { return site_; }
  const std::string& name() const noexcept { return name_; }

 private:
  bool is_ours(std::string_view host) const;

  std::string name_;
  std::string own_;  ///< The host of the address, without its port; with a certificate only.
  Certificate certificate_;
  std::string site_;
};

}  // namespace sumac::page
