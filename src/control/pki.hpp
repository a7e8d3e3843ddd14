#pragma once
// A private certificate authority for the daemons of one cluster, and the certificates that it issues (`sumac pki`).
// The keys are P-256. identity.hpp describes the identity in a certificate. Only the manager's certificate may serve,
// and only it has the manager's DNS name.
#include <ctime>
#include <string>
#include <string_view>

#include "control/identity.hpp"

namespace sumac::control {

/// Both texts are PEM. The key has no passphrase, because daemons start without a person to type it.
struct CertAndKey {
  std::string certificate, key;
};

struct Validity {
  std::time_t from = 0, until = 0;
  /// Starts an hour before now, because the clocks of a cluster differ.
  static Validity days(int count);
};

/// `name` is the name of the cluster, for people.
Result<CertAndKey> make_authority(std::string_view name, const Validity& when);

struct CertificateView {
  std::string who;    ///< The holder, for example "node an-root" or "authority test".
  std::string until;  ///< The date of expiry.
  bool over = false;
};
Result<CertificateView> view_certificate(std::string_view pem);

/// Returns from when to when a certificate is valid, whoever its holder is. Errc::invalid: it holds no certificate.
Result<Validity> validity_of(std::string_view pem);
/// Errc::denied: the certificate was not signed by the authority. Neither is asked whether it has expired.
Result<> check_issuer(std::string_view pem, std::string_view authority_pem);

Result<CertAndKey> issue_certificate(const CertAndKey& authority, const Identity& who, const Validity& when);

/// A fresh key, and the request (PKCS #10) for a certificate of it: the key stays where it was made. Both are PEM.
struct KeyAndRequest {
  std::string key, request;
};
Result<KeyAndRequest> make_request(const Identity& who);

/// Returns a certificate (PEM) of the request's key for `who`: what the request says of its maker's name does not
/// count. Errc::invalid: it is no request, or its maker does not have the key.
Result<std::string> certify(const CertAndKey& authority, std::string_view request, const Identity& who,
                            const Validity& when);

}  // namespace sumac::control
