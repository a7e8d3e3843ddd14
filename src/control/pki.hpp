#pragma once
// A private certificate authority for the daemons of one cluster, and the certificates it gives out (`sumac pki`). P-256 keys; who a
// certificate is for is what identity.hpp says; only the manager's may serve, only it has the manager's DNS name.
#include <ctime>
#include <string>
#include <string_view>

#include "control/identity.hpp"

namespace sumac::control {

/// PEM texts. The key has no passphrase: daemons start alone.
struct CertAndKey {
  std::string certificate, key;
};

struct Validity {
  std::time_t from = 0, until = 0;
  /// From a little before now: the clocks of a cluster differ.
  static Validity days(int count);
};

/// `name`: of the cluster, for people.
Result<CertAndKey> make_authority(std::string_view name, const Validity& when);

struct CertificateView {
  std::string who;    ///< "node an-root", "authority test".
  std::string until;  ///< A date.
  bool over = false;
};
Result<CertificateView> view_certificate(std::string_view pem);

Result<CertAndKey> issue_certificate(const CertAndKey& authority, const Identity& who, const Validity& when);

}  // namespace sumac::control
