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

Result<CertAndKey> issue_certificate(const CertAndKey& authority, const Identity& who, const Validity& when);

}  // namespace sumac::control
