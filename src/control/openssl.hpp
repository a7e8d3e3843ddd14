#pragma once
// Owning pointers for OpenSSL's objects, and its last error as text. This header is internal to the folder.
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

#include "control/identity.hpp"

namespace sumac::control {

struct OpensslDelete {
  void operator()(BIO* p) const noexcept { BIO_free_all(p); }
  void operator()(EVP_PKEY* p) const noexcept { EVP_PKEY_free(p); }
  void operator()(X509* p) const noexcept { X509_free(p); }
  void operator()(X509_REQ* p) const noexcept { X509_REQ_free(p); }
  void operator()(X509_STORE* p) const noexcept { X509_STORE_free(p); }
  void operator()(X509_STORE_CTX* p) const noexcept { X509_STORE_CTX_free(p); }
  void operator()(X509_EXTENSION* p) const noexcept { X509_EXTENSION_free(p); }
  void operator()(GENERAL_NAMES* p) const noexcept { GENERAL_NAMES_free(p); }
  void operator()(BIGNUM* p) const noexcept { BN_clear_free(p); }
};
template <class T>
using Openssl = std::unique_ptr<T, OpensslDelete>;

/// Returns the oldest error in OpenSSL's queue, which is the most exact one, and empties the queue.
inline std::string openssl_words() {
  const auto code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "no reason given";
  const char* reason = ERR_reason_error_string(code);
  return reason == nullptr ? "error " + std::to_string(code) : reason;
}

inline Openssl<BIO> memory_of(std::string_view text) {
  return Openssl<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string date_text(const ASN1_TIME* time);

/// Returns Errc::invalid if the certificate is not one of Sumac's.
Result<Identity> identity_in(X509* certificate);

}  // namespace sumac::control
